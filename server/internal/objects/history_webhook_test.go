package objects_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// slowedBy makes webhooks that review objects with the label app=web, and answer after random
// times; one of them changes the objects.
func (s *site) slowedBy(longest time.Duration) *harness.Reviewer {
	s.t.Helper()
	hook := harness.NewReviewer(s.t, func(path string, _, response map[string]any) {
		time.Sleep(rand.N(longest))
		if path == "/changes" {
			response["patchType"], response["patch"] = "JSONPatch", []byte(`[{"op":"add","path":"/metadata/labels/seen","value":"yes"}]`)
		}
	})
	for resource, name := range map[string]string{"validatingwebhookconfigurations": "checks", "mutatingwebhookconfigurations": "changes"} {
		operations := map[string]string{"checks": `"*"`, "changes": `"CREATE","UPDATE"`}[name]
		body := fmt.Sprintf(`{"metadata":{"name":%q},"webhooks":[{"name":"%s.example.com","clientConfig":{"url":"%s/%s","caBundle":%q},
			"objectSelector":{"matchLabels":{"app":"web"}},"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[%s,%s]}]}`, name, name, hook.URL, name, hook.CABundle(),
			harness.ReviewRule(operations, "", "v1", "configmaps"), harness.ReviewRule(operations, "", "v1", "podtemplates"))
		if code, text, err := s.send(s.t.Context(), 2, http.MethodPost, "/apis/admissionregistration.k8s.io/v1/"+resource, nil, "application/json", []byte(body)); code != 201 {
			s.t.Fatal(code, err, string(text))
		}
	}
	return hook
}

// TestLinearizableWithWebhooks is TestLinearizable with webhooks that answer writes after
// random times.
func TestLinearizableWithWebhooks(t *testing.T) {
	longest, each := 4*time.Millisecond, 30
	if stress() {
		longest, each = 200*time.Millisecond, 60
	}
	run := &linearRun{site: openSite(t), began: time.Now(), contended: true}
	hook := run.slowedBy(longest)
	run.accesses(seed(t), 16, each)
	run.check()
	if hook.Calls.Load() == 0 {
		t.Error("no webhook was asked")
	}
}

// TestNeighbourOfSlowWebhooks: 16 writers of one object wait for webhooks, up to 200 ms each
// time. Their writes have an order, writes of another object in the namespace take as long
// as those while nobody else writes, and the namespace can be deleted meanwhile.
func TestNeighbourOfSlowWebhooks(t *testing.T) {
	longest, each, batches := 20*time.Millisecond, 12, 4
	if stress() {
		longest, each, batches = 200*time.Millisecond, 40, 20
	}
	run := &linearRun{site: openSite(t, func(c *server.Config) { c.Controllers = []string{"namespace"} }), began: time.Now(), contended: true, only: object{"configmaps", "busy", "slow"}}
	run.must(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"busy"}}`)
	run.slowedBy(longest)
	var pause sync.RWMutex // held for writing while the neighbour is alone
	var writing sync.WaitGroup
	seed := seed(t)
	for c := range 16 {
		writing.Go(func() {
			r, known := rand.New(rand.NewPCG(seed, uint64(c))), map[object]uint64{}
			for range each {
				pause.RLock()
				run.access(c, r, known)
				pause.RUnlock()
			}
		})
	}
	var alone, crowded []time.Duration
	for range batches {
		pause.Lock()
		alone = run.neighbour(alone)
		pause.Unlock()
		crowded = run.neighbour(crowded)
	}
	writing.Wait()
	run.check()
	for _, took := range [][]time.Duration{alone, crowded} {
		slices.Sort(took)
		t.Logf("the neighbour's writes: half took at most %v, of 100 99 at most %v", took[len(took)/2], took[len(took)*99/100])
	}
	// A write behind one of the others would take 100 ms in the middle.
	if a, c := alone[len(alone)*99/100], crowded[len(crowded)*99/100]; stress() && c > 2*a+20*time.Millisecond {
		t.Errorf("the slowest writes of a neighbour took %v, and %v alone", c, a)
	}
	run.deleteBusy()
}

// neighbour adds the times of some writes of another object in the namespace.
func (run *linearRun) neighbour(took []time.Duration) []time.Duration {
	o := object{"configmaps", "busy", "neighbour"}
	for range 50 {
		began := time.Now()
		run.must(http.MethodPut, o.path(), string(o.body(run.mark("n"), "db", "", false, 0)))
		took = append(took, time.Since(began))
	}
	return took
}

// deleteBusy deletes the namespace while 16 writers write in it, until it is gone.
func (run *linearRun) deleteBusy() {
	run.must(http.MethodPut, run.only.path(), string(run.only.body(run.mark("l"), "web", "", false, 0)))
	began, gone := make(chan struct{}, 16), make(chan struct{})
	var writing sync.WaitGroup
	for c := range 16 {
		writing.Go(func() {
			began <- struct{}{}
			for {
				code, text, err := run.send(run.t.Context(), 1+c%2, http.MethodPut, run.only.path(), nil, "application/json", run.only.body(run.mark("l"), "web", "", false, 0))
				if err != nil || code >= 500 {
					run.t.Errorf("a write in a namespace that ends: %d %v %s", code, err, text)
				}
				select {
				case <-gone:
					return
				default:
				}
			}
		})
	}
	for range 16 {
		<-began
	}
	run.must(http.MethodDelete, "/api/v1/namespaces/busy", "")
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		code, text, _ := run.send(run.t.Context(), 2, http.MethodGet, "/api/v1/namespaces/busy", nil, "", nil)
		if code == http.StatusNotFound {
			break
		}
		if time.Now().After(end) {
			run.t.Errorf("the namespace does not end: %s", text)
			break
		}
	}
	close(gone)
	writing.Wait()
	harness.AwaitQuiet(run.t, "internal/admission/webhooks.")
}

// must sends a request that succeeds.
func (s *site) must(method, path, body string) {
	s.t.Helper()
	code, text, err := s.send(s.t.Context(), 2, method, path, nil, "application/json", []byte(body))
	if err != nil || code >= 300 {
		s.t.Errorf("%s %s: %d %v %s", method, path, code, err, strings.TrimSpace(string(text)))
	}
}
