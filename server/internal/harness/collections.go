package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// WithControllers starts a server that runs a selection of controllers.
func WithControllers(t *testing.T, selection ...string) *Server {
	t.Helper()
	return Start(t, func(c *server.Config) { c.Controllers = selection })
}

// Contents is a collection by name.
type Contents map[string]map[string]any

// In finds a value in one object: "metadata.uid".
func (o Contents) In(name, path string) any {
	var v any = o[name]
	for _, step := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[step]
	}
	return v
}

// Await lists a collection and follows its changes until it has the wanted state.
func (h *Server) Await(path string, wanted func(Contents) bool) Contents {
	h.T.Helper()
	list := h.Get(path)
	list.Expect(h.T, http.StatusOK, "")
	var all struct {
		Metadata struct{ ResourceVersion string }
		Items    []map[string]any
	}
	if err := json.Unmarshal(list.Body, &all); err != nil {
		h.T.Fatal(err)
	}
	have := Contents{}
	for _, item := range all.Items {
		have[nameOf(item)] = item
	}
	ctx, cancel := context.WithTimeout(h.T.Context(), 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Running.URL()+path+"?watch=1&resourceVersion="+all.Metadata.ResourceVersion, nil)
	if err != nil {
		h.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+AdminToken)
	resp, err := h.HTTP.Do(req)
	if err != nil {
		h.T.Fatal(err)
	}
	defer resp.Body.Close()
	events := json.NewDecoder(bufio.NewReader(resp.Body))
	for !wanted(have) {
		var event struct {
			Type   string
			Object map[string]any
		}
		if err := events.Decode(&event); err != nil {
			h.T.Fatalf("%s is not as wanted: %v\n%s", path, err, Describe(have))
		}
		if event.Type == "DELETED" {
			delete(have, nameOf(event.Object))
		} else {
			have[nameOf(event.Object)] = event.Object
		}
	}
	return have
}

func nameOf(obj map[string]any) string {
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}

// Describe is the begin of a collection as JSON, for messages.
func Describe(have Contents) string {
	text, _ := json.MarshalIndent(have, "", "  ")
	return string(text[:min(len(text), 4000)])
}

// AwaitGone waits until none of the names is in a collection.
func (h *Server) AwaitGone(path string, names ...string) {
	h.T.Helper()
	h.Await(path, func(o Contents) bool {
		for _, name := range names {
			if o[name] != nil {
				return false
			}
		}
		return true
	})
}

// AwaitCode waits until the catalog follows a change of a definition, which the watches of
// definitions may show earlier.
func (h *Server) AwaitCode(path string, code int) {
	h.T.Helper()
	for end := time.Now().Add(15 * time.Second); h.Get(path).Code != code; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.Get(path).Expect(h.T, code, "")
			return
		}
	}
}

// AwaitText waits until an answer has a text, as AwaitCode does for its code.
func (h *Server) AwaitText(path, text string) {
	h.T.Helper()
	for end := time.Now().Add(15 * time.Second); !strings.Contains(string(h.Get(path).Body), text); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			h.T.Fatalf("%s has no %s: %s", path, text, h.Get(path).Body)
		}
	}
}

// AwaitQuiet waits until no goroutine runs in a package.
func AwaitQuiet(t *testing.T, in string) {
	t.Helper()
	stacks := make([]byte, 4<<20)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		all := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(all, in) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("goroutines are left: %s", all)
		}
	}
}

// Names are the namespaces and names of the items of a list, in their order.
func (r Reply) Names(t *testing.T) string {
	t.Helper()
	var names []string
	items, _ := r.Field(t, "items").([]any)
	for _, item := range items {
		meta := item.(map[string]any)["metadata"].(map[string]any)
		names = append(names, fmt.Sprint(meta["namespace"], "/", meta["name"]))
	}
	return strings.Join(names, " ")
}
