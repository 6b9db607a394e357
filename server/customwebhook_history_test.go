package server_test

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
)

// TestConversionHistory lets writers in all versions count in one object, half by
// replacing what they read and half by patches, while the webhook answers after random
// times and the storage version changes: every acknowledged write is in the result, a
// watch sees every count, and writers of another object do not wait.
func TestConversionHistory(t *testing.T) {
	h := startServer(t, nil)
	hook := newConversionHook(t)
	h.gaugesBy(hook)
	hook.do(func(http.ResponseWriter, *http.Request) bool {
		time.Sleep(rand.N(10 * time.Millisecond))
		return false
	})
	const writers, rounds = 8, 6
	paths := []string{gaugesV1, gaugesBeta, gaugesV2}
	h.create(gaugesV1, gauge("v1", "n", `,"spec":{"host":"h","port":"0"}`))
	h.create(gaugesV1, gauge("v1", "other", `,"spec":{"host":"h","port":"0"}`))
	watch := h.watch(gaugesBeta + "?watch=true&fieldSelector=metadata.name%3Dn")
	watch.expect("ADDED n")
	var counted, labelled atomic.Int64
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for i := range rounds {
				path := paths[(w+i)%len(paths)] + "/n"
				if w%2 == 0 {
					h.countOne(path)
					counted.Add(1)
					continue
				}
				for {
					got := h.merge(path, fmt.Sprintf(`{"metadata":{"labels":{"w%d-%d":"x"}}}`, w, i))
					if got.code == http.StatusOK {
						labelled.Add(1)
						break
					}
					if got.code != http.StatusConflict {
						t.Errorf("patch: %d %s", got.code, got.body)
						return
					}
				}
			}
		})
	}
	h.mergePatch(gaugesAs, `{"spec":{"versions":`+gaugeVersions("v2")+`}}`)
	h.merge(gaugesV1+"/other", `{"metadata":{"labels":{"a":"b"}}}`).expect(t, http.StatusOK, "")
	running.Wait()
	end := h.get(gaugesV1 + "/n")
	if got := end.field(t, "spec.port"); got != fmt.Sprint(counted.Load()) {
		t.Errorf("counted to %v, want %d", got, counted.Load())
	}
	if labels := end.field(t, "metadata.labels").(map[string]any); int64(len(labels)) != labelled.Load() {
		t.Errorf("%d labels, want %d", len(labels), labelled.Load())
	}
	for seen := 0; seen < writers*rounds; seen++ {
		watch.expect("MODIFIED n")
	}
}

// countOne counts in a gauge by replacing it, until no other write comes between.
func (h *harness) countOne(path string) {
	for {
		got := h.get(path)
		var obj struct {
			Spec map[string]any `json:"spec"`
		}
		var all map[string]any
		if got.code != http.StatusOK || json.Unmarshal(got.body, &obj) != nil || json.Unmarshal(got.body, &all) != nil {
			h.t.Errorf("read: %d %s", got.code, got.body)
			return
		}
		for _, name := range []string{"port", "number", "address"} {
			text, ok := obj.Spec[name].(string)
			if !ok {
				continue
			}
			n, err := strconv.Atoi(strings.TrimPrefix(text, "h:"))
			if err != nil {
				h.t.Error(err)
			}
			if obj.Spec[name] = strconv.Itoa(n + 1); name == "address" {
				obj.Spec[name] = "h:" + strconv.Itoa(n+1)
			}
		}
		all["spec"] = obj.Spec
		text, _ := json.Marshal(all)
		switch got := h.send("PUT", path, "application/json", text); got.code {
		case http.StatusOK:
			return
		case http.StatusConflict:
		default:
			h.t.Errorf("replace: %d %s", got.code, got.body)
			return
		}
	}
}
