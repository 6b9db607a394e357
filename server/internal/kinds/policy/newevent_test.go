package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestNewerEvents: a wrong event of the group events has the causes of core/v1 and those of its own rules, also where both are about one
// field, and its generateName has to be the beginning of a name.
func TestNewerEvents(t *testing.T) {
	const events = "/apis/events.k8s.io/v1/namespaces/default/events"
	h := harness.Start(t, nil)
	event := func(name string) string {
		return `{"metadata":{` + name + `},"eventTime":"2020-01-01T00:00:00.000000Z","regarding":{"namespace":"default"},"type":"Normal",
			"action":"a","reason":"r","reportingController":"example.com/c","reportingInstance":"i"}`
	}
	h.Create(events, event(`"name":"e"`))
	h.Create(events, event(`"generateName":"e-"`))
	for _, c := range []struct {
		sent harness.Reply
		want string
	}{
		{h.Merge(events+"/e", `{"reportingController":null}`), "reportingController: Required value; reportingController: Invalid value: \"\": name part must be non-empty; " +
			"reportingController: Invalid value: \"\": name part must consist of; reportingController: Invalid value: \"\": field is immutable"},
		{h.Merge(events+"/e", `{"action":null}`), `action: Required value; action: Invalid value: "": field is immutable`},
		{h.Post(events, event(`"generateName":"Ev-"`)), `metadata.generateName: Invalid value: "Ev-": a lowercase RFC 1123 subdomain must consist of`},
	} {
		var status struct {
			Details struct {
				Causes []struct{ Field, Message string }
			}
		}
		if err := json.Unmarshal(c.sent.Body, &status); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, cause := range status.Details.Causes {
			message, _, _ := strings.Cut(cause.Message, " alphanumeric")
			message, _, _ = strings.Cut(message, " lower case")
			got = append(got, cause.Field+": "+message)
		}
		if c.sent.Code != 422 || strings.Join(got, "; ") != c.want {
			t.Errorf("%d\ngot  %s\nwant %s", c.sent.Code, strings.Join(got, "; "), c.want)
		}
	}
}
