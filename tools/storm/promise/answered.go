package promise

import (
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

// answered looks for answers that blame the server. While the server goes away and
// comes back, answers may be missing.
func answered(r *record.Record) (wrong []string) {
	for i := range r.Calls {
		switch c := &r.Calls[i]; {
		case c.Code == 0 && !r.Restarted:
			wrong = append(wrong, fmt.Sprintf("%s of %s at %s had no answer after %s: %s", c.Verb, c.Key(), c.Began, c.Ended-c.Began, c.Message))
		case c.Resource == Things: // another server's
		case c.Code == http.StatusGatewayTimeout && r.Hung(c): // the member has got the write, or not
		case c.Code == http.StatusGatewayTimeout:
			if what := overtaken(r, c); what != "" {
				wrong = append(wrong, fmt.Sprintf("%s of %s at %s had no end after %s: %s", c.Verb, c.Key(), c.Began, c.Ended-c.Began, what))
			}
		case c.Code >= 500 && !(r.Restarted && c.Code == 503):
			wrong = append(wrong, fmt.Sprintf("%s of %s at %s: %d after %s: %s", c.Verb, c.Key(), c.Began, c.Code, c.Ended-c.Began, c.Message))
		case c.Done() && c.Object == nil && c.Message != "":
			wrong = append(wrong, fmt.Sprintf("%s of %s: the answer is not an object: %s", c.Verb, c.Key(), c.Message))
		}
	}
	return wrong
}
