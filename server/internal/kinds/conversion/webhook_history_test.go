package conversion_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestConversionHistory lets writers in all versions count in one object, half by
// replacing what they read and half by patches, while the webhook answers after random
// times and the storage version changes: every acknowledged write is in the result, a
// watch sees every count, and writers of another object do not wait.
func TestConversionHistory(t *testing.T) {
	h := harness.Start(t, nil)
	hook := harness.NewConversionHook(t)
	h.GaugesBy(hook)
	hook.Do(func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(rand.N(10 * time.Millisecond))
		return false
	})
	const writers, rounds = 8, 6
	paths := []string{harness.GaugesV1, harness.GaugesBeta, harness.GaugesV2}
	h.Create(harness.GaugesV1, harness.Gauge("v1", "n", `,"spec":{"host":"h","port":"0"}`))
	h.Create(harness.GaugesV1, harness.Gauge("v1", "other", `,"spec":{"host":"h","port":"0"}`))
	watch := h.Watch(harness.GaugesBeta + "?watch=true&fieldSelector=metadata.name%3Dn")
	watch.Expect("ADDED n")
	var counted, labelled atomic.Int64
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range rounds {
				path := paths[(w+i)%len(paths)] + "/n"
				if w%2 == 0 {
					countOne(h, path)
					counted.Add(1)
					continue
				}
				for {
					got := h.Merge(path, fmt.Sprintf(`{"metadata":{"labels":{"w%d-%d":"x"}}}`, w, i))
					if got.Code == http.StatusOK {
						labelled.Add(1)
						break
					}
					if got.Code != http.StatusConflict {
						t.Errorf("patch: %d %s", got.Code, got.Body)
						return
					}
				}
			}
		})
	}
	h.MergePatch(harness.GaugesAs, `{"spec":{"versions":`+harness.GaugeVersions("v2")+`}}`)
	h.Merge(harness.GaugesV1+"/other", `{"metadata":{"labels":{"a":"b"}}}`).Expect(t, http.StatusOK, "")
	running.Wait()
	end := h.Get(harness.GaugesV1 + "/n")
	if got := end.Field(t, "spec.port"); got != fmt.Sprint(counted.Load()) {
		t.Errorf("counted to %v, want %d", got, counted.Load())
	}
	if labels := end.Field(t, "metadata.labels").(map[string]any); int64(len(labels)) != labelled.Load() {
		t.Errorf("%d labels, want %d", len(labels), labelled.Load())
	}
	for seen := 0; seen < writers*rounds; seen++ {
		watch.Expect("MODIFIED n")
	}
}

// countOne counts in a gauge by replacing it, until no other write comes between.
func countOne(h *harness.Server, path string) {
	for {
		got := h.Get(path)
		var obj struct {
			Spec map[string]any `json:"spec"`
		}
		var all map[string]any
		if got.Code != http.StatusOK || json.Unmarshal(got.Body, &obj) != nil || json.Unmarshal(got.Body, &all) != nil {
			h.T.Errorf("read: %d %s", got.Code, got.Body)
			return
		}
		for _, name := range []string{"port", "number", "address"} {
			text, ok := obj.Spec[name].(string)
			if !ok {
				continue
			}
			n, err := strconv.Atoi(strings.TrimPrefix(text, "h:"))
			if err != nil {
				h.T.Error(err)
			}
			if obj.Spec[name] = strconv.Itoa(n + 1); name == "address" {
				obj.Spec[name] = "h:" + strconv.Itoa(n+1)
			}
		}
		all["spec"] = obj.Spec
		text, _ := json.Marshal(all)
		switch got := h.Send("PUT", path, "application/json", text); got.Code {
		case http.StatusOK:
			return
		case http.StatusConflict:
		default:
			h.T.Errorf("replace: %d %s", got.Code, got.Body)
			return
		}
	}
}
