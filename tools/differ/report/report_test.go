package report

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// needs is a pair of servers that differ when a scenario creates x with field bad below spec, and then gets it.
func needs(_ context.Context, s *scenario.Scenario) ([]compare.Diff, error) {
	made := false
	for i, st := range s.Steps {
		if _, ok := scenario.Get(st.Body, "spec.list[0].bad"); ok && st.Method == "POST" {
			made = true
		}
		if st.Method == "GET" && made && strings.Contains(st.Path, "mode=odd") {
			return []compare.Diff{{Step: i, Signature: "GET things | ok ~.spec", Class: "body"}}, nil
		}
	}
	return nil, nil
}

func TestShrink(t *testing.T) {
	body := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "x", "labels": map[string]any{"a": "b"}},
		"spec": map[string]any{"list": []any{map[string]any{"bad": 1.0, "good": 2.0}, map[string]any{"other": 1.0}}, "more": "text"}}
	b := &Bucket{Diff: compare.Diff{Step: 3, Signature: "GET things | ok ~.spec", Class: "body"}, Example: &scenario.Scenario{Steps: []*scenario.Step{
		{Method: "GET", Path: "/api/v1/nodes"},
		{Method: "POST", Path: "/api/v1/things", Body: body},
		{Method: "DELETE", Path: "/api/v1/nodes/a"},
		{Method: "GET", Path: "/api/v1/things/x?pretty=true&mode=odd&limit=3", Headers: map[string]string{"Accept": "a/b"}},
	}}}
	Shrink(context.Background(), needs, b, 200)
	if !b.Stable || len(b.Example.Steps) != 2 {
		t.Fatalf("stable %v, %d steps", b.Stable, len(b.Example.Steps))
	}
	if got, want := string(b.Example.Steps[0].Payload(nil)), `{"apiVersion":"v1","kind":"Thing","spec":{"list":[{"bad":1}]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := b.Example.Steps[1]; got.Path != "/api/v1/things/x?mode=odd" || len(got.Headers) != 0 {
		t.Errorf("got %s %v", got.Path, got.Headers)
	}
}

func TestDryRunsStayDry(t *testing.T) {
	always := func(_ context.Context, s *scenario.Scenario) ([]compare.Diff, error) {
		return []compare.Diff{{Signature: "x", Step: len(s.Steps) - 1}}, nil
	}
	b := &Bucket{Diff: compare.Diff{Signature: "x"}, Example: &scenario.Scenario{Steps: []*scenario.Step{
		{Method: "DELETE", Path: "/x?pretty=1&dryRun=All", Body: map[string]any{"dryRun": []any{"All"}, "gracePeriodSeconds": 1.0}}}}}
	Shrink(context.Background(), always, b, 100)
	if st := b.Example.Steps[0]; st.Path != "/x?dryRun=All" || string(st.Payload(nil)) != `{"dryRun":["All"]}` {
		t.Errorf("got %s %s", st.Path, st.Payload(nil))
	}
}

func TestShrinkLeavesWhatDoesNotComeBack(t *testing.T) {
	b := &Bucket{Diff: compare.Diff{Signature: "x"}, Example: &scenario.Scenario{Steps: []*scenario.Step{{Method: "GET", Path: "/"}}}}
	Shrink(context.Background(), needs, b, 50)
	if b.Stable || !b.Flaky || len(b.Example.Steps) != 1 {
		t.Errorf("%+v", b)
	}
}

func TestSameStatusWithFewerCauses(t *testing.T) {
	d := func(what string, causes ...string) compare.Diff {
		return compare.Diff{Class: "status", Request: "POST pods", Signature: "POST pods | status " + what, Causes: causes}
	}
	a := d("422, got success: a/R, b/R", "a/R", "b/R")
	if !same(a, d("422, got success: a/R", "a/R")) {
		t.Error("fewer causes are another difference")
	}
	for _, z := range []compare.Diff{d("422, got success: c/R", "c/R"), d("422, got 400: a/R", "a/R"), d("422, got success")} {
		if same(a, z) {
			t.Errorf("%s is the same", z.Signature)
		}
	}
}

func TestReprosReadBack(t *testing.T) {
	dir := t.TempDir()
	b := &Bucket{Signature: "GET a | ok binary", Diff: compare.Diff{Want: "k8s\x00\x01\nx", Got: "a\x7fb"}, Example: &scenario.Scenario{Steps: []*scenario.Step{{Name: "s", Method: "GET", Path: "/a"}}}}
	if err := WriteFiles(dir, &Summary{Buckets: []*Bucket{b}}); err != nil {
		t.Fatal(err)
	}
	if _, err := scenario.Load(filepath.Join(dir, b.File)); err != nil {
		t.Error(err)
	}
}

func TestFold(t *testing.T) {
	var in []*Bucket
	for _, sig := range []string{"GET a | 406 x", "GET b | 406 x", "GET c | 406 x", "POST a | 406 x", "POST b | 406 x", "POST d | 422 y"} {
		verb, res, _ := split(sig)
		in = append(in, &Bucket{Signature: sig, Count: 2, Scenarios: 1, Example: &scenario.Scenario{}, Diff: compare.Diff{Signature: sig, Request: verb + " " + res}})
	}
	got := map[string]int{}
	for _, b := range Fold(in) {
		got[b.Signature] = b.Count
	}
	if got["GET * | 406 x"] != 6 || got["POST a | 406 x"] != 2 || got["POST d | 422 y"] != 2 || len(got) != 4 {
		t.Errorf("got %v", got)
	}
}

func TestAccepted(t *testing.T) {
	f := filepath.Join(t.TempDir(), "accepted.yaml")
	rules := "rules:\n- {match: '^PUT .* status 404', got: '^201', path: '/nodes/', reason: r1}\n- {match: nothing, reason: r2}\n"
	if err := os.WriteFile(f, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := LoadAccepted(f)
	if err != nil {
		t.Fatal(err)
	}
	d := compare.Diff{Signature: "PUT nodes | status 404, got success", Got: "201 Node"}
	if r := a.Reason(d, &scenario.Step{Path: "/api/v1/nodes/a"}); r != "r1" {
		t.Errorf("got %q", r)
	}
	if r := a.Reason(d, &scenario.Step{Path: "/api/v1/pods/a"}); r != "" {
		t.Errorf("got %q", r)
	}
	if u := a.Unused(); len(u) != 1 || u[0] != "nothing" {
		t.Errorf("unused %v", u)
	}
	if err := os.WriteFile(f, []byte("rules:\n- {match: x}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadAccepted(f); err == nil {
		t.Error("a rule without a reason was taken")
	}
}

func TestRulesThatDiverge(t *testing.T) {
	f := filepath.Join(t.TempDir(), "accepted.yaml")
	rules := `rules:
- {request: '^DELETE', path: 'dryRun=All', sent: '.', notSent: 'dryRun', diverges: true, reason: r1}
- {match: 'resourceVersion$', diverges: true, reason: r2}
- {match: 'status 406', accept: '\*', reason: r3}
- {request: '^POST nodes', sent: 'Bogus', refused: true, reason: r4}
`
	if err := os.WriteFile(f, []byte(rules), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := LoadAccepted(f)
	if err != nil {
		t.Fatal(err)
	}
	step := func(method, path string, body any) *scenario.Step {
		return &scenario.Step{Method: method, Path: "/api/v1/nodes/" + path, Body: body, Headers: map[string]string{"Accept": "text/*"}}
	}
	options := map[string]any{"gracePeriodSeconds": 0.0}
	for _, x := range []struct {
		st       *scenario.Step
		sig      string
		diverges bool
		reason   string
	}{
		{step("DELETE", "a?dryRun=All", options), "DELETE nodes | ok -.x", true, ""},
		{step("DELETE", "a?dryRun=All", nil), "", false, ""},
		{step("DELETE", "a?dryRun=All", map[string]any{"dryRun": []any{"All"}}), "", false, ""},
		{step("DELETE", "a", options), "", false, ""},
		{step("POST", "a?dryRun=All", options), "", false, ""},
		{step("PUT", "a", options), "PUT nodes | ok ~.metadata.resourceVersion", true, "r2"},
		{step("PUT", "a", options), "PUT nodes | ok ~.metadata.labels", false, ""},
		{step("GET", "a", nil), "GET nodes | status 406, got success", false, "r3"},
	} {
		d := compare.Diff{Signature: x.sig}
		if got := a.Diverges(x.st, []compare.Diff{d}); got != x.diverges {
			t.Errorf("%s %s %q: diverges %v", x.st.Method, x.st.Path, x.sig, got)
		}
		if r := a.Reason(d, x.st); r != x.reason {
			t.Errorf("%s %s %q: reason %q, want %q", x.st.Method, x.st.Path, x.sig, r, x.reason)
		}
	}
	for _, x := range []struct {
		st      *scenario.Step
		refused bool
	}{{step("POST", "", map[string]any{"a": "Bogus"}), true}, {step("POST", "", options), false}, {step("DELETE", "a?dryRun=All", options), false}} {
		if got := a.RefusedDiverges(x.st); got != x.refused {
			t.Errorf("%s %s, refused by both: diverges %v", x.st.Method, x.st.Path, got)
		}
	}
	for _, bad := range []string{"{request: x, reason: r}", "{match: x, request: x, diverges: true, reason: r}", "{reason: r}"} {
		if err := os.WriteFile(f, []byte("rules:\n- "+bad+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadAccepted(f); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
