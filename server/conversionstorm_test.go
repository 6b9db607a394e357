package server_test

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
)

func deadKind(i int, version string) string {
	return fmt.Sprintf("/apis/dead.example.com/%s/namespaces/default/k%d", version, i)
}

func deadObject(i int, version, name string) string {
	return fmt.Sprintf(`{"apiVersion":"dead.example.com/%s","kind":"K%d","metadata":{"name":%q}}`, version, i, name)
}

func deadDefinition(i int) string { return fmt.Sprintf("%s/k%d.dead.example.com", definitionsPath, i) }

// deadWebhooks are client configs of conversion webhooks that do no work: one refuses
// connections, one never answers, one answers about another review.
func deadWebhooks(t *testing.T) (configs []string) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	hangs, lies := newConversionHook(t), newConversionHook(t)
	hangs.do(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		return true
	})
	lies.alter(func(review map[string]any) { review["response"].(map[string]any)["uid"] = "another" })
	configs = append(configs, fmt.Sprintf(`{"url":"https://%s/convert"}`, gone.Addr()))
	for _, hook := range []*conversionHook{hangs, lies} {
		configs = append(configs, fmt.Sprintf(`{"url":"%s/convert","caBundle":%q}`, hook.URL, hook.caBundle()))
	}
	return configs
}

// latency is the median and the longest time of reads of a built-in and a custom object,
// until stop is closed and at least some.
func (h *harness) latency(t *testing.T, least int, stop <-chan struct{}) (middle, longest time.Duration) {
	var took []time.Duration
	for ended := false; !ended || len(took) < least; {
		select {
		case <-stop:
			ended = true
		default:
		}
		begun := time.Now()
		for _, path := range []string{configMaps + "/a", shopWidgets + "/w"} {
			if got := h.get(path); got.code != http.StatusOK {
				t.Errorf("%s is answered with %d %s", path, got.code, got.body)
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
	h := startServer(t, nil)
	configs := deadWebhooks(t)
	h.define(`{"type":"object"}`, "")
	h.create(shopWidgets, widget("w", ""))
	h.create(configMaps, configMap("a", "{}"))
	closed := make(chan struct{})
	close(closed)
	alone, _ := h.latency(t, 100, closed)
	before := runtime.NumGoroutine()

	stop := make(chan struct{})
	var others sync.WaitGroup
	var middle, longest time.Duration
	others.Go(func() { middle, longest = h.latency(t, 100, stop) })
	parallel(kinds, func(i int) {
		const schema = `"schema":{"openAPIV3Schema":{"type":"object"}}`
		h.create(definitionsPath, fmt.Sprintf(`{"metadata":{"name":"k%[1]d.dead.example.com"},"spec":{"group":"dead.example.com","scope":"Namespaced","names":{"plural":"k%[1]d","kind":"K%[1]d"},
			"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":%[2]s}},
			"versions":[{"name":"v1","served":true,"storage":true,%[3]s},{"name":"v2","served":true,"storage":false,%[3]s}]}}`, i, configs[i%3], schema))
		h.awaitCode(deadKind(i, "v2"), http.StatusOK)
	})
	var users sync.WaitGroup
	for i := range kinds {
		users.Go(func() { h.useDead(t, i) })
	}
	users.Wait()
	begun := time.Now()
	parallel(kinds, func(i int) { h.remove(deadDefinition(i), "").expect(t, http.StatusOK, "") })
	h.await(definitionsPath, func(o contents) bool { return len(o) == 1 })
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
		h.client.CloseIdleConnections()
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
func (h *harness) useDead(t *testing.T, i int) {
	const most = 15 * time.Second // of the second that is asked for, on a busy machine
	h.create(deadKind(i, "v1"), deadObject(i, "v1", "a"))
	all := h.watch(deadKind(i, "v1") + "?watch=1")
	defer all.resp.Body.Close()
	all.expect("ADDED a")
	lost := h.watch(deadKind(i, "v2") + "?watch=1&timeoutSeconds=1&resourceVersion=" + h.get(deadKind(i, "v1")).field(t, "metadata.resourceVersion").(string))
	for _, c := range []step{
		{"read", "GET", deadKind(i, "v2") + "/a?timeout=1s", "", "", 0, ""},
		{"list", "GET", deadKind(i, "v2") + "?timeout=1s", "", "", 0, ""},
		{"create", "POST", deadKind(i, "v2") + "?timeout=1s", "", deadObject(i, "v2", "b"), 0, ""},
		{"patch", "PATCH", deadKind(i, "v2") + "/a?timeout=1s", mergeType, `{"metadata":{"labels":{"a":"b"}}}`, 0, ""},
	} {
		begun := time.Now()
		got := h.send(c.method, c.path, c.media, []byte(c.body))
		if took := time.Since(begun); got.code < 500 || took > most {
			t.Errorf("kind %d: %s is answered with %d after %v: %s", i, c.name, got.code, took, got.body)
		}
	}
	h.create(deadKind(i, "v1"), deadObject(i, "v1", "c"))
	all.expect("ADDED c")
	h.mergePatch(deadDefinition(i), `{"spec":{"names":{"shortNames":["s`+fmt.Sprint(i)+`"]}}}`)
	defer lost.resp.Body.Close()
	begun := time.Now()
	for events := json.NewDecoder(lost.resp.Body); ; {
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
	h := startServer(t, func(c *server.Config) { c.RequestTimeout = time.Minute })
	hook := newConversionHook(t)
	asked := make(chan struct{}, 100)
	hook.do(func(_ http.ResponseWriter, r *http.Request) bool {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	})
	h.gaugesBy(hook)
	h.create(gaugesV1, gauge("v1", "a", ""))
	var all sync.WaitGroup
	for _, path := range []string{gaugesBeta, gaugesBeta + "/a", gaugesV2, gaugesBeta + "?watch=1"} {
		all.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, h.server.URL()+path, nil)
			req.Header.Set("Authorization", "Bearer "+adminToken)
			if resp, err := h.client.Transport.RoundTrip(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
		<-asked
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begun := time.Now()
	if err := h.server.Shutdown(ctx); err != nil && !strings.Contains(err.Error(), context.DeadlineExceeded.Error()) {
		t.Error(err)
	}
	all.Wait()
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("the server stopped after %v", took)
	}
}
