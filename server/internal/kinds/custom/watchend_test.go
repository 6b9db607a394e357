package custom_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/coder/websocket"
)

// widgetVersions is a second version of widgets, for define.
const widgetVersions = `},{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}`

// defineWidgets serves widgets of any content in two versions.
func defineWidgets(h *harness.Server) {
	h.T.Helper()
	h.Define(`{"type":"object","x-kubernetes-preserve-unknown-fields":true}`, widgetVersions)
}

// tale is the sum of the events of a watch until its end.
type tale struct {
	deleted map[string]bool
	strange string // an event that the watch should not have
	err     error  // nil for a proper end
}

// hear adds an event. Names begin with the text.
func (k *tale) hear(line, begins string) {
	const member = `"name":"`
	name := ""
	if i := strings.Index(line, member); i >= 0 {
		name, _, _ = strings.Cut(line[i+len(member):], `"`)
	}
	switch {
	case strings.HasPrefix(line, `{"type":"BOOKMARK"`):
	case strings.HasPrefix(line, `{"type":"ERROR"`), !strings.HasPrefix(name, begins):
		k.strange = line[:min(len(line), 300)]
	case strings.HasPrefix(line, `{"type":"DELETED"`):
		if k.deleted[name] {
			k.strange = "again: " + line[:min(len(line), 300)]
		}
		k.deleted[name] = true
	}
}

// listener is an open watch; hear reads it to its end.
type listener func(begins string) tale

func hearLines(body io.Reader) listener {
	return func(begins string) tale {
		k := tale{deleted: map[string]bool{}}
		r := bufio.NewReaderSize(body, 1<<10)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				k.hear(line, begins)
			}
			if err != nil {
				if err != io.EOF {
					k.err = err
				}
				return k
			}
		}
	}
}

func hearMessages(s *harness.Socket) listener {
	return func(begins string) tale {
		k := tale{deleted: map[string]bool{}}
		for {
			_, text, err := s.Conn.Read(s.Ctx)
			if err != nil {
				if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
					k.err = err
				}
				return k
			}
			k.hear(string(text), begins)
		}
	}
}

// listen opens a watch by the transport of a number: HTTP/1.1, HTTP/2, WebSocket.
func listen(first, second *harness.Server, i int, path string) listener {
	switch i % 3 {
	case 0:
		return hearLines(first.Watch(path).Resp.Body)
	case 1:
		return hearLines(second.Watch(path).Resp.Body)
	}
	return hearMessages(first.Socket(path))
}

func (k *tale) expect(t *testing.T, watch string, deleted int) {
	t.Helper()
	if len(k.deleted) != deleted || k.err != nil || k.strange != "" {
		t.Errorf("%s saw %d of %d deletions and ended with %v %s", watch, len(k.deleted), deleted, k.err, k.strange)
	}
}

// TestWatchesEndWithTheirDefinition: every watch of custom objects sees the deletion of
// each and ends properly, by any transport and with any options, and sees nothing of the
// next definition of the name.
func TestWatchesEndWithTheirDefinition(t *testing.T) {
	const rounds, watches, objects = 4, 200, 50
	h := harness.Start(t, nil)
	first, second := h.Copies()
	for round := range rounds {
		begins := fmt.Sprintf("round%d-", round)
		defineWidgets(h)
		before := h.Get(harness.ShopWidgets).Field(t, "metadata.resourceVersion").(string)
		var all sync.WaitGroup
		harness.Parallel(objects, func(i int) {
			h.Create(harness.ShopWidgets, harness.Widget(fmt.Sprint(begins, i), fmt.Sprintf(`,"spec":{"number":%d,"text":%q}`, i, strings.Repeat("x", 2000))))
		})
		now := h.Get(harness.ShopWidgets).Field(t, "metadata.resourceVersion").(string)
		options := []string{"", "&resourceVersion=" + now, "&allowWatchBookmarks=true&resourceVersion=" + now, "&resourceVersion=" + before,
			"&fieldSelector=metadata.namespace%3Ddefault", "&labelSelector=!none&resourceVersion=" + now,
			"&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"}
		paths := []string{harness.ShopWidgets, strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1), "/apis/shop.example.com/v1/widgets"}
		heard := make([]tale, watches)
		names := make([]string, watches)
		for i := range watches {
			names[i] = paths[i%len(paths)] + "?watch=1" + options[i%len(options)]
			watch := listen(first, second, i/3, names[i])
			all.Go(func() { heard[i] = watch(begins) })
		}
		deleted := time.Now()
		h.Remove(harness.DefinedAs, "").Expect(t, http.StatusOK, "")
		h.AwaitGone(harness.DefinitionsPath, "widgets.shop.example.com")
		all.Wait()
		if took := time.Since(deleted); took > 15*time.Second {
			t.Errorf("round %d: the watches ended after %v", round, took)
		}
		for i := range heard {
			heard[i].expect(t, fmt.Sprintf("round %d: watch %d, %s,", round, i, names[i]), objects)
		}
	}
}

// TestSlowWatchesEndWithTheirDefinition: a client that reads only when its definition has
// gone, and the name has another one, still sees all deletions, from the log, and nothing
// of the other.
func TestSlowWatchesEndWithTheirDefinition(t *testing.T) {
	const objects = 50
	h := harness.Start(t, nil)
	first, second := h.Copies()
	text := strings.Repeat("x", 200<<10) // more than the buffers of connections and rings
	fill := func(begins string) {
		defineWidgets(h)
		harness.Parallel(objects, func(i int) {
			h.Create(harness.ShopWidgets, harness.Widget(fmt.Sprint(begins, i), fmt.Sprintf(`,"spec":{"text":%q}`, text)))
		})
	}
	fill("old-")
	now := h.Get(harness.ShopWidgets+"?limit=1").Field(t, "metadata.resourceVersion").(string)
	var watches []listener
	var names []string
	for i := range 6 {
		path := []string{harness.ShopWidgets, strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1)}[i/3] + "?watch=1&allowWatchBookmarks=true&resourceVersion=" + now
		watches, names = append(watches, listen(first, second, i, path)), append(names, fmt.Sprint("watch ", i, " ", path))
	}
	h.Remove(harness.DefinedAs, "").Expect(t, http.StatusOK, "")
	h.AwaitGone(harness.DefinitionsPath, "widgets.shop.example.com")
	fill("new-")
	for i, watch := range watches {
		heard := watch("old-")
		heard.expect(t, names[i], objects)
	}
}

// TestWatchesEndWithTheirVersion: watches of a version that is not served any more see all
// that was written before, and end.
func TestWatchesEndWithTheirVersion(t *testing.T) {
	const watches, objects = 60, 40
	h := harness.Start(t, nil)
	first, second := h.Copies()
	defineWidgets(h)
	now := h.Get(harness.ShopWidgets).Field(t, "metadata.resourceVersion").(string)
	beta := strings.Replace(harness.ShopWidgets, "/v1/", "/v1beta1/", 1)
	var all sync.WaitGroup
	heard := make([]tale, watches)
	for i := range watches {
		watch := listen(first, second, i, beta+"?watch=1&resourceVersion="+now)
		all.Go(func() { heard[i] = watch("") })
	}
	harness.Parallel(objects, func(i int) {
		name := fmt.Sprint("a", i)
		h.Create(harness.ShopWidgets, harness.Widget(name, ""))
		h.Delete(harness.ShopWidgets + "/" + name)
	})
	h.Send(http.MethodPatch, harness.DefinedAs, "application/json-patch+json", []byte(`[{"op":"replace","path":"/spec/versions/1/served","value":false}]`)).Expect(t, http.StatusOK, "")
	all.Wait()
	for i := range heard {
		heard[i].expect(t, fmt.Sprint("watch ", i), objects)
	}
}

// TestWatchesBesideTheEnd: a watch that is opened while its definition goes ends too, or is
// refused; it does not go on with the next definition of the name.
func TestWatchesBesideTheEnd(t *testing.T) {
	h := harness.Start(t, nil)
	first, second := h.Copies()
	for round := range 10 {
		defineWidgets(h)
		ctx, gone := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for _, c := range []*harness.Server{first, second} {
			for range 4 {
				all.Go(func() {
					for ctx.Err() == nil {
						short(c, t, harness.ShopWidgets+"?watch=1&resourceVersion=1")
					}
				})
			}
		}
		h.Remove(harness.DefinedAs, "").Expect(t, http.StatusOK, "")
		h.AwaitGone(harness.DefinitionsPath, "widgets.shop.example.com")
		gone()
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(15 * time.Second):
			t.Fatalf("round %d: a watch goes on without its definition", round)
		}
	}
}

// short opens a watch, or is refused since there is no such resource, and reads to the end.
func short(h *harness.Server, t *testing.T, path string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Running.URL()+path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	resp, err := h.HTTP.Transport.RoundTrip(req)
	if err != nil {
		t.Error(err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("a watch ended with %v", err)
	}
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotFound {
		t.Errorf("a watch was answered with %d", resp.StatusCode)
	}
}
