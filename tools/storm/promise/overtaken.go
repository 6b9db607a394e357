package promise

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

// WebhookLimit is the time that an admission webhook of a storm has. An attempt of a write
// asks two mutating ones after each other, then all validating ones at once.
const (
	WebhookLimit  = time.Second
	attemptLimit  = 3*WebhookLimit + 2*time.Second
	webhooksChild = "webhookconfigurations" // the end of the names of their resources
)

// overtaken names the mistake in an answer that a write had no time left, "" when it has
// none: webhooks review a write again after each change of the object by somebody else. So
// the write has had its whole time, and in each part of it that is as long as an attempt
// the object may have changed.
func overtaken(r *record.Record, c *record.Call) string {
	reviewed := slices.ContainsFunc(r.Calls, func(h record.Call) bool { return (h.Done() || h.Code == 0) && hookResource(h.Resource) })
	switch {
	case !reviewed || c.Sub != "" || c.Verb != "put" && c.Verb != "patch" && c.Verb != "apply" || c.Resource != "configmaps" && c.Resource != "services":
		return "no webhook reviews it"
	case c.Ended-c.Began < r.Limit:
		return fmt.Sprintf("a request has %s", r.Limit)
	}
	var others []*record.Call
	for i := range r.Calls {
		o := &r.Calls[i]
		about := o.Key() == c.Key() || o.Verb == "deletecollection" && o.Resource == c.Resource && o.Namespace == c.Namespace
		if o != c && about && o.Verb != "get" && (o.Done() || o.Code == 0 || o.Code >= 500) && o.Began < c.Ended && o.Ended > c.Began {
			others = append(others, o)
		}
	}
	slices.SortFunc(others, func(a, b *record.Call) int { return cmp.Compare(a.Began, b.Began) })
	still := c.Began // since when nobody changes the object
	for _, o := range others {
		if o.Began-still > attemptLimit+r.Stood {
			break
		}
		still = max(still, o.Ended)
	}
	if quiet := c.Ended - still; quiet > attemptLimit+r.Stood || still == c.Began {
		return fmt.Sprintf("nobody changed it from %s on for as long as an attempt may take", still)
	}
	return ""
}

func hookResource(name string) bool {
	return name == "validating"+webhooksChild || name == "mutating"+webhooksChild
}
