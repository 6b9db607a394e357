package exec

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// toy is a server that stores posted objects, with its own uids and versions, and spoils
// an answer on request.
type toy struct {
	mu      sync.Mutex
	start   int
	objects map[string]map[string]any
	spoil   bool
}

func (s *toy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Query().Get("watch") != "" {
		fmt.Fprint(w, `{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"a"}}}`+"\n"+`{"type":"BOOKMARK","object":{}}`+"\n")
		return
	}
	switch r.Method {
	case "POST":
		var o map[string]any
		b, _ := io.ReadAll(r.Body)
		if json.Unmarshal(b, &o) != nil {
			w.WriteHeader(400)
			return
		}
		md := o["metadata"].(map[string]any)
		s.start++
		md["uid"] = fmt.Sprintf("%08d-aaaa-bbbb-cccc-%012d", s.start, s.start)
		md["resourceVersion"] = fmt.Sprint(s.start)
		s.objects[r.URL.Path+"/"+md["name"].(string)] = o
		w.WriteHeader(201)
		_ = json.NewEncoder(w).Encode(o)
	case "GET":
		o, ok := s.objects[r.URL.Path]
		if !ok {
			w.WriteHeader(404)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","reason":"NotFound","code":404}`)
			return
		}
		if want := r.URL.Query().Get("uid"); want != "" && want != o["metadata"].(map[string]any)["uid"] {
			w.WriteHeader(409)
			return
		}
		if s.spoil {
			o["data"] = strings.TrimPrefix(r.URL.Path, "/api/v1/nodes/")
		}
		_ = json.NewEncoder(w).Encode(o)
	case "DELETE":
		delete(s.objects, r.URL.Path)
	}
}

func pair(t *testing.T, spoil bool) (*Runner, [2]*toy) {
	t.Helper()
	toys := [2]*toy{{start: 100, objects: map[string]map[string]any{}}, {start: 7000, objects: map[string]map[string]any{}, spoil: spoil}}
	var sides [2]*Side
	for i, h := range toys {
		srv := httptest.NewTLSServer(h)
		t.Cleanup(srv.Close)
		var err error
		if sides[i], err = NewSide(srv.URL, "t", 5*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	return NewRunner(sides[0], sides[1], compare.Options{}), toys
}

func twoSteps() *scenario.Scenario {
	return &scenario.Scenario{Steps: []*scenario.Step{
		{Name: "create", Method: "POST", Path: "/api/v1/nodes", Body: map[string]any{"kind": "Node", "metadata": map[string]any{"name": "${NS}-a"}}, Save: map[string]string{"UID1": "metadata.uid"}},
		{Name: "get", Method: "GET", Path: "/api/v1/nodes/${NS}-a?uid=${UID1}"},
		{Name: "watch", Method: "GET", Path: "/api/v1/nodes?watch=1", Watch: &scenario.Watch{TimeoutSeconds: 1}},
	}}
}

func TestEachSideGetsItsOwnVariables(t *testing.T) {
	r, toys := pair(t, false)
	out, err := r.Run(context.Background(), twoSteps())
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Diffs) != 0 || out.Want[1].Status != 200 || out.Got[1].Status != 200 {
		t.Errorf("%d %d %v", out.Want[1].Status, out.Got[1].Status, out.Diffs)
	}
	if n := len(out.Want[2].Events); n != 1 {
		t.Errorf("%d events, bookmarks apart", n)
	}
	for _, s := range toys {
		for p := range s.objects {
			if strings.HasPrefix(p, "/api/v1/nodes/") {
				t.Errorf("%s was left behind", p)
			}
		}
	}
}

func TestDifferencesAreFound(t *testing.T) {
	r, _ := pair(t, true)
	out, err := r.Run(context.Background(), twoSteps())
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Diffs) != 1 || out.Diffs[0].Signature != "GET nodes | ok +.data" {
		t.Errorf("got %v", out.Diffs)
	}
}

func TestAValueOfOneSideIsNotUsedAgainstTheOther(t *testing.T) {
	r, _ := pair(t, true)
	sc := twoSteps()
	sc.Steps[1].Save = map[string]string{"EXTRA": "data"} // only the spoiled side has it
	sc.Steps[2] = &scenario.Step{Name: "get", Method: "GET", Path: "/api/v1/nodes/${EXTRA}"}
	out, err := r.Run(context.Background(), sc)
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Diffs) != 1 || out.Diffs[0].Step != 1 {
		t.Errorf("got %v", out.Diffs)
	}
}

func TestOnlyLoopback(t *testing.T) {
	for _, u := range []string{"https://192.0.2.1:6443", "https://example.com", "https://0.0.0.0:1"} {
		if _, err := NewSide(u, "", time.Second); err == nil {
			t.Errorf("%s was taken", u)
		}
	}
	for _, u := range []string{"https://127.0.0.1:1", "https://localhost:1", "https://[::1]:1"} {
		if _, err := NewSide(u, "", time.Second); err != nil {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestARunEndsWithItsContext(t *testing.T) {
	r, _ := pair(t, false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.Run(ctx, twoSteps()); err == nil {
		t.Error("no error")
	}
}
