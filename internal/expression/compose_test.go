package expression

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

// TestCompose evaluates named expressions when they are used, and once.
func TestCompose(t *testing.T) {
	checks := 0
	rights := AuthorizerOf(func(c Check) Decision {
		checks++
		return Decision{Allowed: c == Check{Namespace: "ns", Account: "acc", Group: "apps", Resource: "deployments", Subresource: "scale", In: "in", Name: "n", Fields: "a=b", Labels: "c=d", Verb: "get"}, Reason: "so"}
	})
	s, err := NewScope(&Types{Changes: true}, Variable{Name: "object"}, Variable{Name: "authorizer", Type: AuthorizerType}, Composed())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]string{{"n", "object.n"}, {"wrong", "object.none"}, {"sum", "variables.n + 1"}, {"list", "[1, 2]"},
		{"may", `authorizer.serviceAccount('ns', 'acc').group('apps').resource('deployments').subresource('scale').namespace('in').name('n').fieldSelector('a=b').labelSelector('c=d').check('get').allowed()`}} {
		if err := s.Compose(v[0], v[1]); err != nil {
			t.Fatalf("%s: %v", v[0], err)
		}
	}
	doc, err := document.DecodeAny([]byte(`{"n":2,"m":{"a/b":[1,"x",null]}}`), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Release()
	b := s.Bind()
	b.Set(0, doc.Root())
	b.SetValue(1, rights)
	for _, c := range []struct{ text, want string }{
		{"variables.sum + variables.n", "5"},
		{"variables.may && variables.may", "true"},
		{"true || variables.wrong == 1", "true"},
		{"variables.wrong == 1", `error: composited variable "wrong" fails to evaluate: no such key: none`},
		{"variables.none == 1", "undefined field 'none'"},
		{"variables.list[0] == 'x'", "no matching overload"},
		{"authorizer.path('') == authorizer.path('x')", "error: path must not be empty"},
		{"Object{spec: Object.spec{a: object.m, __namespace__: ['x'], t: timestamp('2024-01-02T00:00:00Z')}, b: {'k': 1.5}}", `{"b":{"k":1.5},"spec":{"namespace":["x"],"a":{"a/b":[1,"x",null]},"t":"2024-01-02T00:00:00Z"}}`},
		{"Object{spec: [Object.other{}]}", `error: type mismatch: unexpected type name "Object.other", expected "Object.spec"`},
		{"Object{a: {1: 2}}", "error: map key 1 is of type int, not string"},
		{"JSONPatch{other: 1}", "undefined field 'other'"},
	} {
		p, err := s.Compile(c.text, Anything)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			budget := Budget(1_000_000)
			v, err := p.Spend(context.Background(), b, &budget)
			var text []byte
			if err == nil {
				text, err = AppendJSON(nil, v, 1<<20)
			}
			if got = string(text); err != nil {
				got = "error: " + err.Error()
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
	if checks != 1 {
		t.Errorf("%d checks of rights, want 1", checks)
	}
	p, err := s.Compile("object.m.all(k, object.m[k].size() == 3)", Condition)
	if err != nil {
		t.Fatal(err)
	}
	budget := Budget(3)
	if _, err := p.Spend(context.Background(), b, &budget); !errors.Is(err, ErrBudget) || budget != 0 {
		t.Errorf("beyond the budget: %v, %d left", err, budget)
	}
	large, err := s.Compile("Object{a: [object.m, object.m]}", Configuration)
	if err != nil {
		t.Fatal(err)
	}
	v, err := large.Eval(context.Background(), b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := AppendJSON(nil, v, 10); !errors.Is(err, ErrLarge) {
		t.Errorf("a large value: %v", err)
	}
}
