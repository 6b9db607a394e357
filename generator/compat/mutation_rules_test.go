package compat

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/cel-go/cel"
)

// condition draws one in CEL about the members of an object.
func condition(r *rand.Rand, depth int) string {
	if depth > 0 && r.IntN(2) == 0 {
		a, b := condition(r, depth-1), condition(r, depth-1)
		switch r.IntN(4) {
		case 0:
			return "!(" + a + ")"
		case 1:
			return "(" + a + " && " + b + ")"
		case 2:
			return "(" + a + " || " + b + ")"
		}
		return "(" + a + " ? " + b + " : true)"
	}
	sign := pick(r, "<", "<=", ">", ">=", "==", "!=")
	switch r.IntN(5) {
	case 0:
		return "has(self." + pick(r, "a", "b", "s") + ")"
	case 1:
		return "self.a " + sign + " self.b"
	case 2:
		return fmt.Sprintf("%d %s self.%s", r.IntN(3), sign, pick(r, "a", "b"))
	case 3:
		return pick(r, `self.s in ["x", "y"]`, `self.s == "x"`, `self.s != "y"`, `self.s == "z"`)
	}
	return fmt.Sprintf("self.%s %s %d", pick(r, "a", "b"), sign, r.IntN(3))
}

// TestRuleMutations compares random rules with others, which are evaluated for all objects of
// a few values.
func TestRuleMutations(t *testing.T) {
	env, err := cel.NewEnv(cel.Variable("self", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	takes := func(rule string) (all []bool) {
		tree, issues := env.Compile(rule)
		if issues.Err() != nil {
			t.Fatal(rule, issues.Err())
		}
		program, err := env.Program(tree)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 * 6 * 5 {
			self := map[string]any{}
			for _, m := range []struct {
				name string
				at   int
			}{{"a", i % 6}, {"b", i / 6 % 6}} {
				if m.at > 0 {
					self[m.name] = m.at - 2
				}
			}
			if s := i / 36; s > 0 {
				self["s"] = string("wxyz"[s-1])
			}
			out, _, err := program.Eval(map[string]any{"self": self})
			all = append(all, err == nil && out.Value() == true)
		}
		return all
	}
	kept, proved := 0, 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 4))
		a, b := condition(r, 2), condition(r, 2)
		old := []string{canonical(a), canonical(b)}
		now := pick(r, condition(r, 2), "("+a+") || "+condition(r, 1), "!(!("+b+") || !("+a+"))", "("+a+") && ("+b+")")
		x, y, z, broken := takes(a), takes(b), takes(now), false
		for i := range z {
			broken = broken || x[i] && y[i] && !z[i]
		}
		switch safe := ruled(old, canonical(now), nil); {
		case safe && broken:
			t.Errorf("seed %d: a miss: %s and %s, then %s", seed, a, b, now)
		case safe:
			kept, proved = kept+1, proved+1
		case !broken:
			kept++
			if testing.Verbose() {
				t.Logf("seed %d: not proved: %s and %s, then %s", seed, a, b, now)
			}
		}
	}
	t.Logf("%d of %d rules that refuse nothing more are proved", proved, kept)
	if proved*10 < kept*8 {
		t.Errorf("%d of %d rules that refuse nothing more are proved; want eight of ten", proved, kept)
	}
}
