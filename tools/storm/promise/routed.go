package promise

import (
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Things is the resource that extension servers serve, in groups that end with
// ExtensionGroup.
const (
	Things         = "things"
	ExtensionGroup = ".extension.test"
)

// routed compares the answers for objects of extension servers with the registrations that
// were there meanwhile. The namespace of such a call is the begin of the group.
func routed(r *record.Record) (wrong []string) {
	o := newOrder(r)
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Resource != Things || c.Code == 0 {
			continue
		}
		states := o.answered(c, history.Key("apiservices", "", "v1."+c.Variant+ExtensionGroup))
		say := func(what string) {
			wrong = append(wrong, fmt.Sprintf("get of %s %s at %s: %d %s, %s", c.Variant+ExtensionGroup, c.Name, c.Began, c.Code, c.Message, what))
		}
		switch there := func(s []*record.Object) bool { return s[0] != nil }; {
		case c.Code == http.StatusNotFound && every(states, there):
			say("its extension server was registered all the time")
		case c.Code != http.StatusNotFound && !(r.Restarted && c.Code == http.StatusServiceUnavailable) && !some(states, there):
			say("no extension server was registered")
		case c.Done() && (c.Object == nil || c.Object.Meta.Name != c.Name):
			say("this is the answer to another request")
		}
	}
	return wrong
}
