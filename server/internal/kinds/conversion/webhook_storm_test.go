package conversion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

func deadKind(i int, version string) string {
	return fmt.Sprintf("/apis/dead.example.com/%s/namespaces/default/k%d", version, i)
}

func deadObject(i int, version, name string) string {
	return fmt.Sprintf(`{"apiVersion":"dead.example.com/%s","kind":"K%d","metadata":{"name":%q}}`, version, i, name)
}

func deadDefinition(i int) string {
	return fmt.Sprintf("%s/k%d.dead.example.com", harness.DefinitionsPath, i)
}

// deadWebhooks are client configs of conversion webhooks that do no work: one refuses
// connections, one never answers, one answers about another review.
func deadWebhooks(t *testing.T) (configs []string) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	hangs, lies := harness.NewConversionHook(t), harness.NewConversionHook(t)
	hangs.Do(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	})
	lies.Alter(func(review map[string]any) { review["response"].(map[string]any)["uid"] = "another" })
	configs = append(configs, fmt.Sprintf(`{"url":"https://%s/convert"}`, gone.Addr()))
	for _, hook := range []*harness.ConversionHook{hangs, lies} {
		configs = append(configs, fmt.Sprintf(`{"url":"%s/convert","caBundle":%q}`, hook.URL, hook.CABundle()))
	}
	return configs
}

// latency is the median and the longest time of reads of a built-in and a custom object,
// until stop is closed and at least some.
func latency(h *harness.Server, t *testing.T, least int, stop <-chan struct{}) (middle, longest time.Duration) {
	var took []time.Duration
	for ended := false; !ended || len(took) < least; {
		select {
		case <-stop:
			ended = true
		default:
		}
		begun := time.Now()
		for _, path := range []string{harness.ConfigMaps + "/a", harness.ShopWidgets + "/w"} {
			if got := h.Get(path); got.Code != http.StatusOK {
				t.Errorf("%s is answered with %d %s", path, got.Code, got.Body)
			}
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)-1]
}

// TestDefinitionStormWithDeadWebhooks: requests that need a conversion by a dead webhook are
// refused or end in time. All others go on: in other versions, of other kinds, changes of
// the definitions, and their end with all objects.
func TestDefinitionStormWithDeadWebhooks(t *testing.T) {
	const kinds = 51
	h := harness.Start(t, nil)
	configs := deadWebhooks(t)
	h.Define(`{"type":"object"}`, "")
	h.Create(harness.ShopWidgets, harness.Widget("w", ""))
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	closed := make(chan struct{})
	close(closed)
	alone, _ := latency(h, t, 100, closed)
	before := runtime.NumGoroutine()

	stop := make(chan struct{})
	var others sync.WaitGroup
	var middle, longest time.Duration
	others.Go(func() { middle, longest = latency(h, t, 100, stop) })
	harness.Parallel(kinds, func(i int) {
		const schema = `"schema":{"openAPIV3Schema":{"type":"object"}}`
		h.Create(harness.DefinitionsPath, fmt.Sprintf(`{"metadata":{"name":"k%[1]d.dead.example.com"},"spec":{"group":"dead.example.com","scope":"Namespaced","names":{"plural":"k%[1]d","kind":"K%[1]d"},
			"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":%[2]s}},
			"versions":[{"name":"v1","served":true,"storage":true,%[3]s},{"name":"v2","served":true,"storage":false,%[3]s}]}}`, i, configs[i%3], schema))
		h.AwaitCode(deadKind(i, "v2"), http.StatusOK)
	})
	var users sync.WaitGroup
	for i := range kinds {
		users.Go(func() { useDead(h, t, i) })
	}
	users.Wait()
	begun := time.Now()
	harness.Parallel(kinds, func(i int) { h.Remove(deadDefinition(i), "").Expect(t, http.StatusOK, "") })
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return len(o) == 1 })
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("the definitions have gone after %v", took)
	}
	close(stop)
	others.Wait()
	t.Logf("reads of other kinds took %v alone, %v and at most %v during the storm", alone, middle, longest)
	if middle > max(20*alone, 50*time.Millisecond) || longest > 10*time.Second {
		t.Errorf("reads of other kinds took %v alone, %v and at most %v during the storm", alone, middle, longest)
	}
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		h.HTTP.CloseIdleConnections()
		now := runtime.NumGoroutine()
		if now <= before+20 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d goroutines before the storm, %d after it", before, now)
		}
	}
}

// useDead uses a kind whose webhook is dead. Each request that needs it ends in time.
func useDead(h *harness.Server, t *testing.T, i int) {
	const most = 15 * time.Second // of the second that is asked for, on a busy machine
	h.Create(deadKind(i, "v1"), deadObject(i, "v1", "a"))
	all := h.Watch(deadKind(i, "v1") + "?watch=1")
	defer all.Resp.Body.Close()
	all.Expect("ADDED a")
	lost := h.Watch(deadKind(i, "v2") + "?watch=1&timeoutSeconds=1&resourceVersion=" + h.Get(deadKind(i, "v1")).Field(t, "metadata.resourceVersion").(string))
	for _, c := range []harness.Step{
		{"read", "GET", deadKind(i, "v2") + "/a?timeout=1s", "", "", 0, ""},
		{"list", "GET", deadKind(i, "v2") + "?timeout=1s", "", "", 0, ""},
		{"create", "POST", deadKind(i, "v2") + "?timeout=1s", "", deadObject(i, "v2", "b"), 0, ""},
		{"patch", "PATCH", deadKind(i, "v2") + "/a?timeout=1s", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 0, ""},
	} {
		begun := time.Now()
		got := h.Send(c.Method, c.Path, c.Media, []byte(c.Body))
		if took := time.Since(begun); got.Code < 500 || took > most {
			t.Errorf("kind %d: %s is answered with %d after %v: %s", i, c.Name, got.Code, took, got.Body)
		}
	}
	h.Create(deadKind(i, "v1"), deadObject(i, "v1", "c"))
	all.Expect("ADDED c")
	h.MergePatch(deadDefinition(i), `{"spec":{"names":{"shortNames":["s`+fmt.Sprint(i)+`"]}}}`)
	defer lost.Resp.Body.Close()
	begun := time.Now()
	for events := json.NewDecoder(lost.Resp.Body); ; {
		var e struct{ Type string }
		if err := events.Decode(&e); err != nil {
			break
		}
		if e.Type != "ERROR" {
			t.Errorf("kind %d: a watch that needs the webhook gets %s", i, e.Type)
		}
	}
	if took := time.Since(begun); took > most {
		t.Errorf("kind %d: a watch that needs the webhook ended after %v", i, took)
	}
}

// A server stops in time though requests wait for a conversion that never comes.
func TestStopBesideDeadWebhook(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.RequestTimeout = time.Minute })
	hook := harness.NewConversionHook(t)
	asked := make(chan struct{}, 100)
	hook.Do(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	})
	h.GaugesBy(hook)
	h.Create(harness.GaugesV1, harness.Gauge("v1", "a", ""))
	var all sync.WaitGroup
	for _, path := range []string{harness.GaugesBeta, harness.GaugesBeta + "/a", harness.GaugesV2, harness.GaugesBeta + "?watch=1"} {
		all.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, h.Running.URL()+path, nil)
			req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
			if resp, err := h.HTTP.Transport.RoundTrip(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
		<-asked
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begun := time.Now()
	if err := h.Running.Shutdown(ctx); err != nil && !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Error(err)
	}
	all.Wait()
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("the server stopped after %v", took)
	}
}
