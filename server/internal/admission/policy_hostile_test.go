package admission_test

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// doubling is variables each of which is twice the one before. The text of the last has
// 10 × 2^(n-1) bytes, the list as many elements.
func doubling(n int, first string) string {
	all := []string{`{"name":"v0","expression":"` + first + `"}`}
	for i := 1; i < n; i++ {
		all = append(all, fmt.Sprintf(`{"name":"v%d","expression":"variables.v%d + variables.v%d"}`, i, i-1, i-1))
	}
	return `"variables":[` + strings.Join(all, ",") + "]"
}

// nested is variables each of which has the one before eight times.
func nested(n int) string {
	all := []string{`{"name":"v0","expression":"[1]"}`}
	for i := 1; i < n; i++ {
		all = append(all, fmt.Sprintf(`{"name":"v%[1]d","expression":"[%[2]s]"}`, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("variables.v%d,", i-1), 8), ",")))
	}
	return `"variables":[` + strings.Join(all, ",") + "]"
}

const (
	tripled = `object.data.a.replace('a', object.data.a).replace('a', object.data.a).replace('a', object.data.a)`
	looped  = `object.data.a.split('').all(a, object.data.a.split('').all(b, object.data.a.split('').all(c, a == b && b == c)))`
	fine    = `"validations":[{"expression":"true"}]`
)

// hostilePolicies are policies whose expressions have no end that a client would see.
var hostilePolicies = []struct{ name, spec, says string }{
	{"texts that double", doubling(40, "'aaaaaaaaaa'") + `,"validations":[{"expression":"variables.v39 == ''"}]`, "cost limit exceeded"},
	{"each text is used", doubling(40, "'aaaaaaaaaa'") + `,"validations":[` + eachVariable(40) + `]`, "cost limit exceeded"},
	{"lists that double", doubling(40, "[1, 2, 3, 4, 5]") + `,"validations":[{"expression":"variables.v39 == []"}]`, "cost limit exceeded"},
	{"lists in lists", nested(30) + `,"validations":[{"expression":"dyn(variables.v29) == dyn(variables.v28)"}]`, "cost limit exceeded"},
	{"lists in lists that are compared", nested(12) + `,"validations":[{"expression":"variables.v11.map(x, x) == variables.v11"}]`, "cost limit exceeded"},
	{"many variables", following(2000) + `,"validations":[{"expression":"variables.v1999 == 1"}]`, "need each other"},
	{"a long replacement", `"validations":[{"expression":"` + tripled + ` == ''"}]`, "cost limit exceeded"},
	{"a condition", `"matchConditions":[{"name":"c","expression":"` + tripled + ` == ''"}],` + fine, "cost limit exceeded"},
	{"a message", `"validations":[{"expression":"false","messageExpression":"` + tripled + `"}]`, "failed expression: false"},
	{"an annotation", `"auditAnnotations":[{"key":"k","valueExpression":"` + tripled + `"}],` + fine, "cost limit exceeded"},
	{"many annotations", `"auditAnnotations":[` + harness.Entries(3, `{"key":"k%d","valueExpression":"`+looped+` ? 'a' : 'b'"}`, "") + `],` + fine, "cost limit exceeded"},
	{"nested loops", `"validations":[{"expression":"` + looped + `"}]`, "cost limit exceeded"},
	{"many nested loops", `"validations":[` + harness.Entries(60, `{"expression":"`+looped+`"}`, "") + `]`, ""},
	{"loops over a large object", `"validations":[{"expression":"object.data.all(a, object.data.all(b, object.data.all(c, a + b != c)))"}]`, ""},
	{"rights", `"validations":[{"expression":"object.data.a.split('').all(a, authorizer.group('').resource('pods').name(a).check('get').allowed())"}]`, "cost"},
}

// eachVariable are validations that use each of the variables.
func eachVariable(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"expression":"variables.v%d != ''"}`, i))
	}
	return strings.Join(all, ",")
}

// following is variables each of which needs the one before.
func following(n int) string {
	all := []string{`{"name":"v0","expression":"1"}`}
	for i := 1; i < n; i++ {
		all = append(all, fmt.Sprintf(`{"name":"v%d","expression":"variables.v%d"}`, i, i-1))
	}
	return `"variables":[` + strings.Join(all, ",") + "]"
}

// largeMap is a config map with three hundred times the letter a, and many members.
func largeMap(name string) string {
	return harness.ConfigMap(name, `{"a":"`+strings.Repeat("a", 300)+`",`+harness.Entries(2000, `"k%d":""`, "")+`}`)
}

// mostOfPolicy bounds what a request may take whose policies are hostile: ten times what
// its expressions may make, since a part is garbage at once.
const (
	mostOfPolicy = 10 * 64 << 20
	mostTime     = 40 * time.Second
)

// TestHostilePolicies: a write that meets a hostile policy is answered soon, and takes no
// memory to speak of.
func TestHostilePolicies(t *testing.T) {
	harness.Measures(t)
	for _, c := range hostilePolicies {
		t.Run(c.name, func(t *testing.T) {
			h := harness.Start(t, harness.EvaluatedOnce)
			h.HTTP.Timeout = 2 * mostTime
			policyFor(h, "hostile.example.com", c.spec, `"validationActions":["Deny"]`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begun := time.Now()
			got := h.Send(http.MethodPost, harness.ConfigMaps, "application/json", []byte(largeMap("m")))
			took := time.Since(begun)
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; took > mostTime || made > mostOfPolicy {
				t.Errorf("%d after %s and %d MiB: %.300s", got.Code, took, made>>20, got.Body)
			}
			if got.Code != http.StatusUnprocessableEntity || !strings.Contains(string(got.Body), c.says) {
				t.Errorf("%d %.300s, want 422 with %q", got.Code, got.Body, c.says)
			}
		})
	}
}

// TestHostilePolicyEnds: what computes ends with its request: when its time is over, when
// the client has left, and when the server stops; and a policy that is gone does no more.
func TestHostilePolicyEnds(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { harness.EvaluatedOnce(c); harness.EverybodyMay(c) })
	const policies = 8
	for i := range policies {
		policyFor(h, fmt.Sprintf("slow%d.example.com", i), `"validations":[`+harness.Entries(60, `{"expression":"`+looped+`"}`, "")+`]`, `"validationActions":["Warn"]`)
	}
	body := largeMap("m")
	begun := time.Now()
	ends := func(what string, most time.Duration) {
		t.Helper()
		if took := time.Since(begun); took > harness.Slowed(most) {
			t.Errorf("%s ends after %s", what, took)
		}
		begun = time.Now()
	}
	h.Post(harness.ConfigMaps+"?timeout=1s", body).Expect(t, http.StatusGatewayTimeout, "Timeout")
	ends("a request with a limit of a second", 5*time.Second)

	const writing = `apiserver_current_inflight_requests{request_kind="mutating"`
	await := func(n string) {
		t.Helper()
		for waited := time.Now(); h.Figures()[writing] != n; {
			if time.Since(waited) > harness.Slowed(mostTime) {
				t.Fatalf("%s are not %s", writing, n)
			}
		}
	}
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	left := h.Begin(ctx, "POST", harness.ConfigMaps, strings.NewReader(body))
	await("1")
	leave()
	<-left
	begun = time.Now()
	await("0")
	ends("a request whose client has left", 8*time.Second)

	last := h.Begin(context.Background(), "POST", harness.ConfigMaps, strings.NewReader(body))
	await("1")
	for i := range policies {
		h.Delete(fmt.Sprintf("%s/slow%d.example.com", bindingPath, i))
	}
	<-last
	ends("a request whose policies are gone", mostTime)
	h.Post(harness.ConfigMaps, largeMap("n")).Expect(t, http.StatusCreated, "")
	ends("a request without policies", 8*time.Second)

	policyFor(h, "again.example.com", `"validations":[`+harness.Entries(60, `{"expression":"`+looped+`"}`, "")+`]`, `"validationActions":["Warn"]`)
	broken := h.Begin(context.Background(), "POST", harness.ConfigMaps, strings.NewReader(largeMap("o")))
	await("1")
	stop, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	begun = time.Now()
	if err := h.Running.Shutdown(stop); err != nil {
		t.Error(err)
	}
	ends("a server that stops", 6*time.Second)
	<-broken
}
