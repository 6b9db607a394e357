package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type widget struct {
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Metadata   struct {
		Name            string `json:"name,omitempty"`
		Namespace       string `json:"namespace,omitempty"`
		ResourceVersion string `json:"resourceVersion,omitempty"`
	} `json:"metadata"`
	Size int `json:"size,omitempty"`
}

func (w *widget) GetName() string            { return w.Metadata.Name }
func (w *widget) GetNamespace() string       { return w.Metadata.Namespace }
func (w *widget) GetResourceVersion() string { return w.Metadata.ResourceVersion }
func (w *widget) SetKind()                   { w.Kind, w.APIVersion = "Widget", "example.com/v1" }

type widgets = *Resource[*widget]

var row = Row{Prefix: "/apis/example.com/v1", Plural: "widgets", Namespaced: true}

// exchange is one request that the test's server received.
type exchange struct{ line, contentType, body string }

// serve answers every request with the same code and body, and returns the request.
func serve(t *testing.T, code int, body string) (*REST, *exchange) {
	t.Helper()
	seen := &exchange{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("Authorization %q", got)
		}
		*seen = exchange{r.Method + " " + r.RequestURI, r.Header.Get("Content-Type"), string(data)}
		w.WriteHeader(code)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	rest, err := NewREST(Config{Host: s.URL + "/", BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	return rest, seen
}

func TestRequests(t *testing.T) {
	ctx := context.Background()
	grace := int64(0)
	obj := func() *widget { w := &widget{Size: 3}; w.Metadata.Name = "a"; return w }
	const base, sent = "/apis/example.com/v1/namespaces/ns/widgets", `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"a"},"size":3}`
	for _, c := range []struct {
		name string
		do   func(widgets) error
		want exchange
	}{
		{"get", func(r widgets) error { _, err := r.Get(ctx, "a b", GetOptions{ResourceVersion: "0"}); return err },
			exchange{line: "GET " + base + "/a%20b?resourceVersion=0"}},
		{"list", func(r widgets) error {
			_, err := r.List(ctx, ListOptions{LabelSelector: "a=b", FieldSelector: "c=d", Limit: 2, Continue: "x", ResourceVersion: "5", ResourceVersionMatch: "Exact"})
			return err
		}, exchange{line: "GET " + base + "?continue=x&fieldSelector=c%3Dd&labelSelector=a%3Db&limit=2&resourceVersion=5&resourceVersionMatch=Exact"}},
		{"create", func(r widgets) error {
			_, err := r.Create(ctx, obj(), WriteOptions{DryRun: true, FieldManager: "m", FieldValidation: "Strict"})
			return err
		}, exchange{"POST " + base + "?dryRun=All&fieldManager=m&fieldValidation=Strict", "application/json", sent}},
		{"update", func(r widgets) error { _, err := r.Update(ctx, obj(), WriteOptions{}); return err },
			exchange{"PUT " + base + "/a", "application/json", sent}},
		{"update status", func(r widgets) error { _, err := r.UpdateStatus(ctx, obj(), WriteOptions{}); return err },
			exchange{"PUT " + base + "/a/status", "application/json", sent}},
		{"apply", func(r widgets) error {
			_, err := r.Patch(ctx, "a", RawPatch("application/apply-patch+yaml", []byte("size: 1")), WriteOptions{FieldManager: "m", Force: true}, "status")
			return err
		}, exchange{"PATCH " + base + "/a/status?fieldManager=m&force=true", "application/apply-patch+yaml", "size: 1"}},
		{"delete", func(r widgets) error {
			return r.Delete(ctx, "a", DeleteOptions{GracePeriodSeconds: &grace, PropagationPolicy: "Orphan", Preconditions: &Preconditions{UID: "u"}})
		}, exchange{"DELETE " + base + "/a", "application/json",
			`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0,"propagationPolicy":"Orphan","preconditions":{"uid":"u"}}`}},
		{"delete collection", func(r widgets) error {
			return r.DeleteCollection(ctx, DeleteOptions{DryRun: []string{"All"}}, ListOptions{LabelSelector: "a"})
		}, exchange{"DELETE " + base + "?labelSelector=a", "application/json", `{"kind":"DeleteOptions","apiVersion":"v1","dryRun":["All"]}`}},
		{"subresource get", func(r widgets) error {
			_, err := NewSubresource[*widget](r.at.rest, row, "ns", "scale").Get(ctx, "a", GetOptions{})
			return err
		}, exchange{line: "GET " + base + "/a/scale"}},
		{"subresource create", func(r widgets) error {
			_, err := NewSubresource[*widget](r.at.rest, row, "ns", "eviction").Create(ctx, "b", obj(), WriteOptions{})
			return err
		}, exchange{"POST " + base + "/b/eviction", "application/json", sent}},
		{"subresource update", func(r widgets) error {
			_, err := NewSubresource[*widget](r.at.rest, row, "ns", "scale").Update(ctx, "b", obj(), WriteOptions{})
			return err
		}, exchange{"PUT " + base + "/b/scale", "application/json", sent}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rest, seen := serve(t, 200, `{"metadata":{"name":"answer"}}`)
			if err := c.do(NewResource[*widget](rest, row, "ns")); err != nil {
				t.Fatal(err)
			}
			if *seen != c.want {
				t.Errorf("got  %+v\nwant %+v", *seen, c.want)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	rest, _ := serve(t, 201, `{"metadata":{"name":"a"},"size":9}`)
	got, err := NewResource[*widget](rest, row, "ns").Create(context.Background(), &widget{}, WriteOptions{})
	if err != nil || got.Size != 9 || got.Metadata.Name != "a" {
		t.Errorf("create: %+v, %v", got, err)
	}
	rest, _ = serve(t, 200, `{"items":[{"size":1},{"size":2}]}`)
	list, err := NewResource[*widget](rest, row, "").List(context.Background(), ListOptions{})
	if err != nil || len(list.Items) != 2 || list.Items[1].Size != 2 {
		t.Errorf("list: %+v, %v", list, err)
	}
	rest, _ = serve(t, 200, `{"items":[{"size":1},null]}`)
	if list, err := NewResource[*widget](rest, row, "").List(context.Background(), ListOptions{}); err == nil || !strings.Contains(err.Error(), "items[1] is null") {
		t.Errorf("list with null: %+v, %v", list, err)
	}
	for w, err := range NewResource[*widget](rest, row, "").All(context.Background(), ListOptions{}) {
		if w != nil || err == nil {
			t.Errorf("all with null: %+v, %v", w, err)
		}
	}
	rest, _ = serve(t, 200, `null`)
	if w, err := NewResource[*widget](rest, row, "ns").Get(context.Background(), "a", GetOptions{}); w == nil || err != nil {
		t.Errorf("get of null: %+v, %v", w, err)
	}
	rest, _ = serve(t, 200, `[]`)
	if _, err := NewResource[*widget](rest, row, "ns").Get(context.Background(), "a", GetOptions{}); err == nil || !strings.Contains(err.Error(), "not the expected object") {
		t.Errorf("get of a list: %v", err)
	}
}

// byValue is an object that is not a pointer.
type byValue struct{}

func (byValue) GetName() string            { return "a" }
func (byValue) GetNamespace() string       { return "" }
func (byValue) GetResourceVersion() string { return "" }
func (byValue) SetKind()                   {}

// TestStream: the body of an answer comes as it is, in the media type that was asked for, and a refusal
// is an error.
func TestStream(t *testing.T) {
	code := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, r.RequestURI, " ", r.Header.Get("Accept"))
	}))
	defer s.Close()
	rest, err := NewREST(Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	for accept, want := range map[string]string{"": "/api?limit=2 application/json", "text/plain": "/api?limit=2 text/plain"} {
		body, err := rest.Stream(t.Context(), "/api?limit=2", accept)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(body); err != nil || string(text) != want {
			t.Errorf("%q %v, expected %q", text, err, want)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	code = http.StatusGone
	if _, err := rest.Stream(t.Context(), "/api", ""); !IsExpired(err) {
		t.Errorf("a refusal gives %v", err)
	}
}

func TestTypesThatAreNoPointers(t *testing.T) {
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "write *client.byValue") {
			t.Errorf("got %s", p)
		}
	}()
	NewResource[byValue](nil, row, "")
}

func TestCopy(t *testing.T) {
	one := &widget{Size: 1}
	two, err := Copy(one)
	if err != nil || two == one || *two != *one {
		t.Errorf("got %+v, %v", two, err)
	}
	if _, err := Copy(func() {}); err == nil {
		t.Error("a function was copied")
	}
}

func TestErrors(t *testing.T) {
	status := func(code int, reason string) string {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no %s","reason":%q,"code":%d,"details":{"causes":[{"field":"spec.x"}]}}`, reason, reason, code)
	}
	for _, c := range []struct {
		code    int
		body    string
		is      func(error) bool
		message string
	}{
		{404, status(404, "NotFound"), IsNotFound, "no NotFound"},
		{409, status(409, "AlreadyExists"), IsAlreadyExists, "no AlreadyExists"},
		{409, status(409, "Conflict"), IsConflict, "no Conflict"},
		{422, status(422, "Invalid"), IsInvalid, "no Invalid"},
		{403, status(403, "Forbidden"), IsForbidden, "no Forbidden"},
		{410, status(410, "Expired"), IsExpired, "no Expired"},
		{404, "404 page not found", IsNotFound, "the server answered 404 Not Found: 404 page not found"},
		{500, `{"status":"Failure"}`, func(error) bool { return true }, "the server answered 500 Internal Server Error"},
	} {
		rest, _ := serve(t, c.code, c.body)
		_, err := NewResource[*widget](rest, row, "ns").Get(context.Background(), "a", GetOptions{})
		if err == nil || err.Error() != c.message || !c.is(err) {
			t.Errorf("%d %s: got %v", c.code, c.body, err)
			continue
		}
		all := []func(error) bool{IsNotFound, IsAlreadyExists, IsConflict, IsInvalid, IsForbidden, IsExpired}
		n := 0
		for _, is := range all {
			if is(fmt.Errorf("wrapped: %w", err)) {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%v is %d things", err, n)
		}
	}
}

func TestRefusedBeforeSending(t *testing.T) {
	rest, seen := serve(t, 200, `{}`)
	ctx, all := context.Background(), NewResource[*widget](rest, row, "")
	one := NewResource[*widget](rest, row, "ns")
	for name, do := range map[string]func() error{
		"get without namespace":    func() error { _, err := all.Get(ctx, "a", GetOptions{}); return err },
		"create without namespace": func() error { _, err := all.Create(ctx, &widget{}, WriteOptions{}); return err },
		"delete all everywhere":    func() error { return all.DeleteCollection(ctx, DeleteOptions{}, ListOptions{}) },
		"delete without name":      func() error { return one.Delete(ctx, "", DeleteOptions{}) },
		"update without name":      func() error { _, err := one.Update(ctx, &widget{}, WriteOptions{}); return err },
		"get of dots":              func() error { _, err := one.Get(ctx, "..", GetOptions{}); return err },
	} {
		if err := do(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if seen.line != "" {
		t.Errorf("sent %s", seen.line)
	}
}

func TestWatch(t *testing.T) {
	const events = `{"type":"ADDED","object":{"size":1}}
{"type":"MODIFIED","object":{"size":2}}
{"type":"DELETED","object":{"size":3}}
{"type":"BOOKMARK","object":{"size":4}}
`
	for _, c := range []struct {
		name, tail string
		end        func(error) bool
	}{
		{"server ends", "", func(err error) bool { return err == io.EOF }},
		{"expired", `{"type":"ERROR","object":{"status":"Failure","code":410,"reason":"Expired","message":"too old"}}`, IsExpired},
		{"cut off", `{"type":"AD`, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"unknown type", `{"type":"NEWS","object":{}}`, func(err error) bool { return strings.Contains(err.Error(), `"NEWS"`) }},
		{"wrong object", `{"type":"ADDED","object":[]}`, func(err error) bool { return strings.Contains(err.Error(), "expected object") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rest, seen := serve(t, 200, events+c.tail)
			w, err := NewResource[*widget](rest, row, "").Watch(context.Background(), ListOptions{ResourceVersion: "7", AllowWatchBookmarks: true, TimeoutSeconds: 5})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if want := "GET /apis/example.com/v1/widgets?allowWatchBookmarks=true&resourceVersion=7&timeoutSeconds=5&watch=true"; seen.line != want {
				t.Errorf("got %s, want %s", seen.line, want)
			}
			for i, want := range []EventType{Added, Modified, Deleted, Bookmark} {
				e, err := w.Next()
				if err != nil || e.Type != want || e.Object.Size != i+1 {
					t.Fatalf("event %d: %+v, %v", i, e, err)
				}
			}
			if _, err := w.Next(); err == nil || !c.end(err) {
				t.Errorf("end: %v", err)
			}
		})
	}
}

func TestWatchEndsWithItsContext(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	rest, err := NewREST(Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w, err := NewResource[*widget](rest, row, "").Watch(ctx, ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want a cancelled context", err)
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		config Config
		ok     bool
	}{
		{Config{Host: "https://127.0.0.1:6443"}, true},
		{Config{Host: "https://example.com/prefix", BearerToken: "x"}, true},
		{Config{Host: "http://localhost:8080", BearerToken: "x"}, true},
		{Config{Host: "http://example.com", BearerToken: "x"}, false},
		{Config{Host: ""}, false},
		{Config{Host: "127.0.0.1:6443"}, false},
		{Config{Host: "ftp://example.com"}, false},
		{Config{Host: "https://example.com?x=1"}, false},
	} {
		if _, err := NewREST(c.config); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}

// FuzzWatch: on any bytes from a server, Next returns events or an error and ends.
func FuzzWatch(f *testing.F) {
	f.Add(`{"type":"ADDED","object":{"size":1}}`)
	f.Add(`{"type":"ERROR","object":{"code":410}}{"type":`)
	f.Add(`{"type":"BOOKMARK","object":null}`)
	f.Fuzz(func(t *testing.T, stream string) {
		w := &Watcher[*widget]{newStream(io.NopCloser(strings.NewReader(stream)), func() {})}
		for range len(stream) + 1 {
			e, err := w.Next()
			if err != nil {
				return
			}
			if _, err := json.Marshal(e.Object); err != nil {
				t.Fatal(err)
			}
		}
		t.Fatal("more events than bytes")
	})
}
