package scale

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// webhookBound is the most CPU time of the server that a call of a webhook may cost.
const webhookBound = 150 * time.Microsecond

// A call of a webhook that allows everything, on the same machine, costs the server at most
// 150 us of CPU: a create with it less one without, by eight clients at once and by one, whose
// calls find sleeping threads. The webhook is in the process of the
// test, so its own time does not count.
func TestWebhookCalls(t *testing.T) {
	s := start(t)
	var calls atomic.Int64
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		var review struct{ Request struct{ UID string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":%q,"allowed":true}}`, review.Request.UID)
	}))
	hook.EnableHTTP2 = true
	hook.StartTLS()
	defer hook.Close()
	const count, rounds = 500, 9
	create := operation{"create", count, func(k *kind, i, round int) (method, path, contentType, accept, body string) {
		return http.MethodPost, k.collection, "application/json", "", fmt.Sprintf(`{"metadata":{"name":"o-%d-%d","labels":{"app":"web"}},%s`, round, i, k.member)
	}}
	round, worst := 0, time.Duration(0)
	for _, k := range []*kind{
		{collection: collection, name: "configmaps", member: `"data":{"a":"b"}}`},
		{collection: "/api/v1/namespaces/default/pods", name: "pods", member: `"spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i","resources":{"limits":{"cpu":"1"}}}]}}`},
	} {
		for _, plural := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
			path := "/apis/admissionregistration.k8s.io/v1/" + plural
			configuration, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": "bench"}, "webhooks": []any{map[string]any{"name": "bench.example.com",
				"clientConfig": map[string]any{"url": hook.URL, "caBundle": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})},
				"sideEffects":  "None", "admissionReviewVersions": []string{"v1"},
				"rules": []any{map[string]any{"operations": []string{"CREATE"}, "apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{k.name}}}}}})
			if err != nil {
				t.Fatal(err)
			}
			for _, clients := range []int{8, 1} {
				var costs []time.Duration
				for range rounds {
					without := s.round(t, k, create, round, clients)
					s.send(http.MethodPost, path, "application/json", string(configuration))
					before := calls.Load()
					with := s.round(t, k, create, round+1, clients)
					if n := calls.Load() - before; n != count {
						t.Fatalf("%d calls for %d writes", n, count)
					}
					s.send(http.MethodDelete, path+"/bench", "", "")
					costs = append(costs, with-without)
					round += 2
				}
				cost := median(costs)
				t.Logf("%-10s %s, %d clients: %.1f us of the server's CPU for a call, %.1f at least", k.name, plural, clients, us(cost), us(slices.Min(costs)))
				worst = max(worst, cost)
			}
		}
	}
	if worst > webhookBound {
		t.Errorf("a call costs %v, the bound is %v", worst, webhookBound)
	}
}
