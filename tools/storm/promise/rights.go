package promise

import (
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Binding is the begin of the names of bindings to the role Reader; the name of their user
// follows. They are in the namespace RightSpace.
const (
	Binding    = "reads-"
	Reader     = "reader"
	RightSpace = "red"
)

// allows reports whether a binding and its role give their right: the role has the
// resource in its only rule.
func allows(right []*record.Object) bool {
	binding, role := right[0], right[1]
	if binding == nil || role == nil {
		return false
	}
	resources, _ := item(role, []string{"rules"}, "resources").([]any)
	return len(resources) == 1 && resources[0] == "configmaps"
}

// revoked looks for answers to users who had no right at any time while they asked.
func revoked(r *record.Record) []string {
	return decided(r, func(c *record.Call, states [][]*record.Object) bool {
		return (c.Done() || c.Code == http.StatusNotFound) && !some(states, allows)
	})
}

// granted looks for refusals of users who had a right all the time while they asked.
func granted(r *record.Record) []string {
	return decided(r, func(c *record.Call, states [][]*record.Object) bool {
		return c.Code == http.StatusForbidden && every(states, allows)
	})
}

func decided(r *record.Record, contradicts func(*record.Call, [][]*record.Object) bool) (wrong []string) {
	o := newOrder(r)
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.User == "" || c.Resource != "configmaps" || c.Namespace != RightSpace {
			continue
		}
		binding, role := history.Key("rolebindings", RightSpace, Binding+c.User), history.Key("roles", RightSpace, Reader)
		if contradicts(c, o.answered(c, binding, role)) {
			wrong = append(wrong, fmt.Sprintf("%s asked from %s to %s and was answered %d, its binding and role were otherwise between revisions %d and %d",
				c.User, c.Began, c.Ended, c.Code, o.before(c.Began), o.after(c.Ended)))
		}
	}
	return wrong
}
