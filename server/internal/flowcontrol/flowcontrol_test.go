package flowcontrol_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// flowFor makes a flow schema and a level for the user bob, with these limits besides the
// shares.
func flowFor(h *harness.Server, limits string) {
	h.T.Helper()
	h.Create(harness.FlowAPI+"prioritylevelconfigurations", `{"metadata":{"name":"small"},"spec":{"type":"Limited","limited":{"assuredConcurrencyShares":1,`+limits+`}}}`)
	h.Create(harness.FlowAPI+"flowschemas", `{"metadata":{"name":"bobs"},"spec":{"matchingPrecedence":7,"priorityLevelConfiguration":{"name":"small"},"rules":[`+
		`{"subjects":[{"kind":"User","user":{"name":"bob"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["configmaps"],"namespaces":["*"]}]}]}}`)
	h.Await(harness.FlowAPI+"flowschemas", func(all harness.Contents) bool { // the server writes no more
		conditions, _ := all.In("bobs", "status.conditions").([]any)
		return len(conditions) == 1
	})
}

// hold lets a read of bob wait for the next revision, and returns when it has its seat. The
// result waits for its end.
func hold(h *harness.Server) (end func() harness.Reply) {
	h.T.Helper()
	next := fmt.Sprintf("%s?resourceVersion=%d", harness.ConfigMaps, 1+revision(h))
	done := make(chan harness.Reply, 1)
	go func() {
		h := &harness.Server{T: h.T, Running: h.Running, HTTP: h.HTTP}
		done <- h.Send("GET", next, "", nil, harness.AsBob...)
	}()
	awaitFigure(h, `apiserver_flowcontrol_current_executing_requests{flow_schema="bobs",priority_level="small"`, "1")
	return func() harness.Reply { return <-done }
}

func revision(h *harness.Server) (n int) {
	h.T.Helper()
	if _, err := fmt.Sscan(h.Get(harness.ConfigMaps).Field(h.T, "metadata.resourceVersion").(string), &n); err != nil {
		h.T.Fatal(err)
	}
	return n
}

func awaitFigure(h *harness.Server, name, value string) {
	h.T.Helper()
	for deadline := time.Now().Add(10 * time.Second); h.Figures()[name] != value; {
		if time.Now().After(deadline) {
			h.T.Fatalf("%s is %q, not %s", name, h.Figures()[name], value)
		}
	}
}

// flowServer has one seat for bob's config maps.
func flowServer(t *testing.T) *harness.Server {
	h := harness.Start(t, func(c *server.Config) {
		harness.EverybodyMay(c)
		c.DisablePriorityAndFairness = false
		c.MaxRequestsInflight, c.MaxMutatingRequestsInflight = 8, 8
		harness.Shorten(c, func(d *seams.Durations) { d.Future = 20 * time.Second })
	})
	return h
}

// TestFlowSchemasByPrecedence: tables show flow schemas in the order in which they are
// tried, other lists in that of their names.
func TestFlowSchemasByPrecedence(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.DisablePriorityAndFairness = false })
	names := func(version, query string, header ...string) (all []string) {
		t.Helper()
		got := h.Send("GET", "/apis/flowcontrol.apiserver.k8s.io/"+version+"/flowschemas"+query, "", nil, header...)
		got.Expect(t, http.StatusOK, "")
		var list struct {
			Rows  []struct{ Cells []any }
			Items []struct{ Metadata struct{ Name string } }
		}
		if err := json.Unmarshal(got.Body, &list); err != nil {
			t.Fatal(err)
		}
		for _, row := range list.Rows {
			all = append(all, row.Cells[0].(string))
		}
		for _, item := range list.Items {
			all = append(all, item.Metadata.Name)
		}
		return all
	}
	table := []string{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}
	for _, version := range []string{"v1beta2", "v1beta1"} {
		got := names(version, "", table...)
		if last := len(got) - 1; last < 5 || got[0] != "exempt" || got[1] != "probes" || got[last] != "catch-all" || got[last-1] != "global-default" {
			t.Errorf("a table of %s: %v", version, got)
		}
		equal := slices.IndexFunc(got, func(name string) bool { return name == "kube-controller-manager" })
		if equal < 0 || got[equal+1] != "kube-scheduler" {
			t.Errorf("equal numbers: %v", got)
		}
	}
	if got := names("v1beta2", ""); got[0] != "catch-all" || !slices.IsSorted(got) {
		t.Errorf("a list: %v", got)
	}
	if got := names("v1beta2", "?labelSelector=none", table...); len(got) != 0 {
		t.Errorf("nothing: %v", got)
	}
}

// TestFlowHeaders: answers name the flow schema and the level of their request, whatever
// they are.
func TestFlowHeaders(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.AuthorizationModes, c.DisablePriorityAndFairness = []string{"RBAC"}, false })
	uid := func(kind, name string) string {
		got := h.Get(harness.FlowAPI + kind + "/" + name)
		got.Expect(t, http.StatusOK, "")
		return got.Field(t, "metadata.uid").(string)
	}
	for _, c := range []struct {
		path, schema, level string
		code                int
		as                  []string
	}{
		{"/api/v1/pods", "exempt", "exempt", 200, nil},
		{"/api/v1/namespaces/default/configmaps/none", "exempt", "exempt", 404, nil},
		{"/api/v1/pods?watch=true&timeoutSeconds=1", "exempt", "exempt", 200, nil},
		{"/nowhere", "exempt", "exempt", 404, nil},
		{"/api/v1/secrets", "global-default", "global-default", 403, harness.AsBob},
		{"/livez", "probes", "exempt", 200, harness.AsBob},
		{"/livez/ping", "probes", "exempt", 403, harness.AsBob},
		{"/version", "global-default", "global-default", 200, harness.AsBob},
		{"/apis/coordination.k8s.io/v1/namespaces/x/leases/y", "system-leader-election", "leader-election", 403, []string{"Impersonate-User", "system:kube-scheduler"}},
		{"/api/v1/namespaces/x/secrets", "service-accounts", "workload-low", 403, []string{"Impersonate-User", "system:serviceaccount:x:y"}},
		{"/api/v1/namespaces/x/secrets", "kube-system-service-accounts", "workload-high", 403, []string{"Impersonate-User", "system:serviceaccount:kube-system:y"}},
		{"/api/v1/nodes/n", "system-node-high", "node-high", 403, []string{"Impersonate-User", "system:node:n", "Impersonate-Group", "system:nodes"}},
	} {
		got := h.Send("GET", c.path, "", nil, c.as...)
		schema, level := got.Header.Get("X-Kubernetes-Pf-Flowschema-Uid"), got.Header.Get("X-Kubernetes-Pf-Prioritylevel-Uid")
		if got.Code != c.code || schema != uid("flowschemas", c.schema) || level != uid("prioritylevelconfigurations", c.level) {
			t.Errorf("%s %v: %d, schema %s, level %s, want %d of %s at %s", c.path, c.as, got.Code, schema, level, c.code, c.schema, c.level)
		}
	}
	if got := h.Send("GET", "/api/v1/pods", "", nil, "Authorization", "Bearer wrong"); got.Code != 401 || got.Header.Get("X-Kubernetes-Pf-Flowschema-Uid") != "" {
		t.Errorf("an unknown user: %d %v", got.Code, got.Header)
	}
}

// TestFlowRefused: a level without queues refuses what it has no seat for. Other levels,
// administrators and watches that have begun do not count; a changed schema does at once.
func TestFlowRefused(t *testing.T) {
	h := flowServer(t)
	flowFor(h, `"limitResponse":{"type":"Reject"}`)
	for range 3 {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", h.Running.URL()+harness.ConfigMaps+"?watch=true", nil)
		req.Header.Set("Authorization", "Bearer bob-token")
		resp, err := h.HTTP.Transport.RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(err, resp)
		}
		defer resp.Body.Close()
		awaitFigure(h, `apiserver_flowcontrol_current_executing_requests{flow_schema="bobs",priority_level="small"`, "0")
	}
	end := hold(h)
	refused := h.Send("GET", harness.ConfigMaps, "", nil, harness.AsBob...)
	refused.Expect(t, http.StatusTooManyRequests, "")
	if refused.Header.Get("Retry-After") != "1" || string(refused.Body) != "Too many requests, please try again later.\n" {
		t.Errorf("refused with %v %s", refused.Header, refused.Body)
	}
	h.Send("GET", "/api/v1/secrets", "", nil, harness.AsBob...).Expect(t, http.StatusOK, "")
	h.Send("GET", harness.ConfigMaps, "", nil, harness.AsCarol...).Expect(t, http.StatusOK, "")
	h.MergePatch(harness.FlowAPI+"flowschemas/bobs", `{"spec":{"matchingPrecedence":9999}}`).Expect(t, http.StatusOK, "")
	h.Send("GET", harness.ConfigMaps, "", nil, harness.AsBob...).Expect(t, http.StatusOK, "")
	if got := end(); got.Code != 200 {
		t.Errorf("the request with the seat: %d %s", got.Code, got.Body)
	}
	if n := h.Figures()[`apiserver_flowcontrol_rejected_requests_total{flow_schema="bobs",priority_level="small",reason="concurrency-limit"`]; n != "1" {
		t.Errorf("%s rejected", n)
	}
}

// TestFlowQueue: requests wait in a queue until they have a seat, are late, or the queue is
// full. The dumps show them.
func TestFlowQueue(t *testing.T) {
	h := flowServer(t)
	flowFor(h, `"limitResponse":{"type":"Queue","queuing":{"queues":1,"handSize":1,"queueLengthLimit":2}}`)
	end := hold(h)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	wait := func(number string) {
		waiting.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, "GET", h.Running.URL()+harness.ConfigMaps+"/x-"+number, nil)
			req.Header.Set("Authorization", "Bearer bob-token")
			if resp, err := h.HTTP.Transport.RoundTrip(req); err == nil {
				_ = resp.Body.Close()
				if resp.StatusCode != 404 {
					t.Errorf("request %s: %s", number, resp.Status)
				}
			}
		})
		awaitFigure(h, `apiserver_flowcontrol_current_inqueue_requests{flow_schema="bobs",priority_level="small"`, number)
	}
	wait("1")
	wait("2")
	h.Send("GET", harness.ConfigMaps, "", nil, harness.AsBob...).Expect(t, http.StatusTooManyRequests, "")
	for path, want := range map[string][]string{
		"dump_priority_levels":                  {"PriorityLevelName,", "exempt,            <none>,       <none>, <none>,      <none>,          <none>\n", "small,             1,            false,  false,       2,               1\n"},
		"dump_queues":                           {"PriorityLevelName, Index,  PendingRequests,", "small,             0,      2,               1,                 1,          "},
		"dump_requests":                         {"small,             bobs,           0,          0,                   ,                2"},
		"dump_requests?includeRequestDetails=1": {"bob,      get,    /api/v1/namespaces/default/configmaps/x-2, default,   x-2,    v1,         configmaps,"},
	} {
		got := h.Get("/debug/api_priority_and_fairness/" + path)
		for _, text := range want {
			if got.Code != 200 || !strings.Contains(string(got.Body), text) {
				t.Errorf("%s: %d, no %q in\n%s", path, got.Code, text, got.Body)
			}
		}
	}
	h.Get("/debug/api_priority_and_fairness/others").Expect(t, http.StatusNotFound, "")
	h.Create(harness.ConfigMaps, harness.ConfigMap("next", "{}")) // ends the wait for the revision
	if got := end(); got.Code != 200 {
		t.Errorf("the request with the seat: %d %s", got.Code, got.Body)
	}
	waiting.Wait()
	awaitFigure(h, `apiserver_flowcontrol_dispatched_requests_total{flow_schema="bobs",priority_level="small"`, "3")
}

// TestFlowLimits: the seats of levels follow their shares, and what they lend and borrow is
// in the metrics and the object.
func TestFlowLimits(t *testing.T) {
	h := flowServer(t) // 16 seats, 245 shares of others
	h.Create(harness.FlowAPI+"prioritylevelconfigurations", `{"metadata":{"name":"lender"},"spec":{"type":"Limited","limited":{"assuredConcurrencyShares":245,"lendablePercent":50,"borrowingLimitPercent":0,"limitResponse":{"type":"Reject"}}}}`)
	h.Get(harness.FlowAPI+"prioritylevelconfigurations/lender").Has(t, `"lendablePercent":50,"borrowingLimitPercent":0}`)
	figures := h.Figures()
	for name, want := range map[string]string{"nominal_limit_seats": "8", "lower_limit_seats": "4", "upper_limit_seats": "8", "current_limit_seats": "8", "request_concurrency_limit": "8"} {
		if got := figures["apiserver_flowcontrol_"+name+`{priority_level="lender"`]; got != want {
			t.Errorf("%s is %q, not %s", name, got, want)
		}
	}
	h.Post(harness.FlowAPI+"prioritylevelconfigurations", `{"metadata":{"name":"x"},"spec":{"type":"Limited","limited":{"lendablePercent":101,"borrowingLimitPercent":-1,"limitResponse":{"type":"Reject"}}}}`).
		Has(t, "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive")
}

// TestFlowHostile: no object of an administrator makes the server useless: schemas that
// match everything, absurd numbers, a level without shares, a delete of the mandatory
// ones.
func TestFlowHostile(t *testing.T) {
	h := flowServer(t)
	h.Create(harness.FlowAPI+"prioritylevelconfigurations", `{"metadata":{"name":"huge"},"spec":{"type":"Limited","limited":{"assuredConcurrencyShares":2147483647,`+
		`"limitResponse":{"type":"Queue","queuing":{"queues":10000000,"handSize":2,"queueLengthLimit":2147483647}}}}}`)
	h.Create(harness.FlowAPI+"flowschemas", `{"metadata":{"name":"everything"},"spec":{"matchingPrecedence":2,"priorityLevelConfiguration":{"name":"huge"},"rules":[`+
		`{"subjects":[{"kind":"Group","group":{"name":"*"}}],"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}`)
	h.Send("GET", harness.ConfigMaps, "", nil, harness.AsBob...).Expect(t, http.StatusOK, "")
	h.Send("GET", "/livez", "", nil, harness.AsBob...).Expect(t, http.StatusOK, "")
	h.Get("/debug/api_priority_and_fairness/dump_queues").Expect(t, http.StatusOK, "")
	for _, name := range []string{"exempt", "catch-all"} {
		h.Remove(harness.FlowAPI+"flowschemas/"+name, "")
		h.Remove(harness.FlowAPI+"prioritylevelconfigurations/"+name, "")
	}
	got := h.Get(harness.ConfigMaps)
	got.Expect(t, http.StatusOK, "")
	if uid, ok := got.Header["X-Kubernetes-Pf-Flowschema-Uid"]; !ok || uid[0] != "" {
		t.Errorf("an administrator is of the schema %q, not of the one that is always there", uid)
	}
	h.Remove(harness.FlowAPI+"prioritylevelconfigurations/huge", "")
	h.Send("GET", harness.ConfigMaps, "", nil, harness.AsBob...).Expect(t, http.StatusOK, "")
}

// slowReads is a store in which a read of a config map takes so long that seats, and not
// processors, are scarce.
type slowReads struct{ store.Store }

func (s slowReads) Get(ctx context.Context, key string) (store.Entry, error) {
	if strings.Contains(key, "configmaps/") {
		time.Sleep(100 * time.Millisecond)
	}
	return s.Store.Get(ctx, key)
}

// TestNoisyClient: a client sends 50 times the requests of four others together, more than
// there are seats for. The p99 of the others at most doubles; without priority and
// fairness they would wait behind it, or be refused.
func TestNoisyClient(t *testing.T) {
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("make stress runs this, on a machine with time; TestNoisyFlow of package fairness counts the time instead")
	}
	users := []string{"bob", "carol", "dave", "erin", "frank"}
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	text := harness.AdminToken + ",admin,1,system:masters\n"
	for i, name := range users {
		text += fmt.Sprintf("%s-token,%s,%d\n", name, name, i+2)
	}
	if err := os.WriteFile(tokens, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := harness.Start(t, func(c *server.Config) {
		harness.EverybodyMay(c)
		c.DisablePriorityAndFairness, c.TokenAuthFile = false, tokens
		c.MaxRequestsInflight, c.MaxMutatingRequestsInflight = 100, 50 // 13 of them for these users
		c.Seams.WrapStore = func(s store.Store) store.Store { return slowReads{s} }
	})
	read := func(ctx context.Context, user string) (int, time.Duration) {
		begin := time.Now()
		req, _ := http.NewRequestWithContext(ctx, "GET", h.Running.URL()+harness.ConfigMaps+"/none", nil)
		req.Header.Set("Authorization", "Bearer "+user+"-token")
		resp, err := h.HTTP.Transport.RoundTrip(req)
		if err != nil {
			return 0, 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode, time.Since(begin)
	}
	h.HTTP.Transport.(*http.Transport).MaxIdleConnsPerHost = 1000
	quiet := func() (p99 time.Duration) {
		var all sync.WaitGroup
		var mu sync.Mutex
		var took []time.Duration
		for _, user := range users[1:] {
			all.Go(func() {
				for range 80 {
					code, d := read(t.Context(), user)
					if code != http.StatusNotFound {
						t.Errorf("%s: %d", user, code)
					}
					mu.Lock()
					took = append(took, d)
					mu.Unlock()
					time.Sleep(100 * time.Millisecond)
				}
			})
		}
		all.Wait()
		slices.Sort(took)
		t.Log("half of the requests took at most", took[len(took)/2])
		return took[len(took)*99/100]
	}
	alone := quiet()
	ctx, stop := context.WithCancel(t.Context())
	var noise sync.WaitGroup
	var answered, refused atomic.Int64
	for range 200 { // 50 for each request of the others
		noise.Go(func() {
			for ctx.Err() == nil {
				if code, _ := read(ctx, "bob"); code == http.StatusTooManyRequests {
					refused.Add(1)
					time.Sleep(100 * time.Millisecond)
				} else {
					answered.Add(1)
				}
			}
		})
	}
	for answered.Load()+refused.Load() < 400 { // all have connected
		time.Sleep(10 * time.Millisecond)
	}
	noisy := quiet()
	stop()
	noise.Wait()
	t.Logf("p99 of the others: %v alone, %v with a client of which %d requests were answered and %d refused", alone, noisy, answered.Load(), refused.Load())
	if noisy > 2*alone {
		t.Errorf("the p99 of the others went from %v to %v", alone, noisy)
	}
}
