package promise

import (
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/internal/storm/record"
)

// Binding is the beginning of the names of bindings; the name of their user follows.
const Binding = "reads-"

// bindings are the calls that made or deleted the binding of a user, or perhaps did.
func bindings(r *record.Record, user, verb string) (all []*record.Call) {
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Resource == "rolebindings" && c.Name == Binding+user && c.Verb == verb && (c.Done() || c.Code == 0) {
			all = append(all, c)
		}
	}
	return all
}

func revoked(r *record.Record) []string {
	return decided(r, "delete", "create", func(code int) bool { return code == http.StatusOK || code == http.StatusNotFound })
}

func granted(r *record.Record) []string {
	return decided(r, "create", "delete", func(code int) bool { return code == http.StatusForbidden })
}

// decided looks for answers that contradict the last change of a binding: one that was
// acknowledged before the request began, and that no opposite change can follow before
// the answer.
func decided(r *record.Record, last, opposite string, contradicts func(code int) bool) (wrong []string) {
	changes := make(map[string][2][]*record.Call)
	for i := range r.Calls {
		ask := &r.Calls[i]
		if ask.User == "" || !contradicts(ask.Code) {
			continue
		}
		of, known := changes[ask.User]
		if !known {
			of = [2][]*record.Call{bindings(r, ask.User, last), bindings(r, ask.User, opposite)}
			changes[ask.User] = of
		}
		for _, change := range of[0] {
			if !change.Done() || change.Ended >= ask.Began {
				continue
			}
			undone := false
			for _, c := range of[1] {
				undone = undone || (c.Ended > change.Began || c.Code == 0) && c.Began < ask.Ended
			}
			if !undone {
				wrong = append(wrong, fmt.Sprintf("the %s of %s's binding was acknowledged at %s, a request at %s was answered with %d", last,
					ask.User, change.Ended, ask.Began, ask.Code))
				break
			}
		}
	}
	return wrong
}
