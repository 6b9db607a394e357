package house

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/drawing"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Bounds of the objects that are tried for the rules of a type: how many, their bytes together, and the least number that says anything.
const (
	mostTried  = 400
	mostBytes  = 512 << 10
	leastTried = 100
	leastSeen  = 10   // of these, how many meet the conditions of a rule, and have each of its members
	mostText   = 2000 // the longest text that is tried
)

// outcome counts the answers of the rules of a type about objects that were tried.
type outcome struct {
	tried     int        // objects that keep everything but the rules
	asked     []int      // how many meet the conditions of each rule
	set       [][]int    // of those, how many have each member that the rule reads
	broke     []int      // how many broke each rule
	prefix    []int      // how many kept each rule and those before it that are plain
	wordless  []bool     // rules that found a mistake and did not say which
	elsewhere [][]string // paths of mistakes that lead to no member
}

// try draws objects of a type, and finds rules that refuse all of them, or none.
func (c *checker) try(t *model.Type, all []ruled, finder *expression.Finder) {
	o := tryAll(t, all, finder)
	refused := false
	for i := range all {
		r := &all[i]
		switch {
		case o.wordless[i]:
			c.add(r.pos, "rule-message", false, "give each mistake a text, in why", "has a rule that finds mistakes and does not say what is wrong")
		case r.Changes() || o.tried < leastTried || !r.plain():
		case o.broke[i] == 0 && o.seen(i):
			c.add(r.pos, "rule-idle", true, "drop it, or look for a condition that never holds", "has a rule that refused none of %d objects tried", o.tried)
		case o.broke[i] == o.tried:
			c.add(r.pos, "rule-contradiction", true, "ask for less", "has a rule that refused all of %d objects tried", o.tried)
			refused = true
		case !refused && o.prefix[i] == 0:
			c.add(r.pos, "rule-contradiction", true, "make them one rule that can be kept",
				"has a rule that no object of %d tried keeps together with the rules before it", o.tried)
			refused = true
		}
		for _, at := range o.elsewhere[i] {
			c.misplaced(r, at)
		}
	}
}

// plain reports whether a rule asks for what drawn objects often have and often lack.
func (r *ruled) plain() bool {
	return r.asked.Plain && !slices.ContainsFunc(slices.Concat(r.If, r.Then), func(t schema.Test) bool {
		return t.Is == schema.Formed || t.Is == schema.Short && t.Most >= mostText
	})
}

// reads are the members that a rule of an object asks; those of the elements of lists are not followed.
func (r *ruled) reads() (paths [][]string) {
	if r.Each != nil {
		return nil
	}
	for _, t := range slices.Concat(r.If, r.Then) {
		if t.Is != schema.Unset && t.Is != schema.Empty || !slices.ContainsFunc(r.If, func(o schema.Test) bool { return slices.Equal(o.Path, t.Path) }) {
			paths = append(paths, t.Path)
		}
	}
	for _, path := range r.asked.Reads {
		if path[0] == "self" {
			paths = append(paths, path[1:])
		}
	}
	return paths
}

// meets reports whether an object meets the conditions of a rule.
func meets(v document.Value, r *ruled, hooks *document.Hooks) bool {
	never := []schema.Demand{{If: r.If, Then: []schema.Test{{Is: schema.In}}}}
	return r.Each != nil || len(hooks.Broken(v, document.Value{}, never)) > 0
}

// seen reports whether enough objects were tried that the rule could have refused.
func (o *outcome) seen(i int) bool {
	return o.asked[i] >= leastSeen && !slices.ContainsFunc(o.set[i], func(n int) bool { return n < leastSeen })
}

// tryAll draws objects, keeps those that the rest of the schema allows, and asks the rules.
func tryAll(t *model.Type, all []ruled, finder *expression.Finder) outcome {
	n := len(all)
	o := outcome{asked: make([]int, n), set: make([][]int, n), broke: make([]int, n), prefix: make([]int, n), wordless: make([]bool, n),
		elsewhere: make([][]string, n)}
	of, hooks := all[0].of, &document.Hooks{Finds: finder.Find}
	asking := &document.Hooks{Finds: func(d *schema.Demand, v, of, old document.Value) []document.Finding {
		found := finder.Find(d, v, of, old)
		o.note(all, d, found)
		return found
	}}
	bare := *t.GV.Table // without the rules
	bare.Types = slices.Clone(bare.Types)
	bare.Types[of].Demands = nil
	d := drawing.New(t.GV.Table, 1)
	for i := range all {
		o.set[i] = make([]int, len(all[i].reads()))
		d.Texts = append(d.Texts, all[i].texts()...)
		for _, n := range all[i].asked.Numbers {
			d.Numbers = append(d.Numbers, n-1, n, n+1)
		}
		for _, test := range slices.Concat(all[i].If, all[i].Then) {
			d.Numbers = append(d.Numbers, float64(test.Most), float64(test.Most)+1)
			if test.Is == schema.Short && test.Most < mostText {
				d.Texts = append(d.Texts, strings.Repeat("x", test.Most+1))
			}
		}
	}
	decoder := document.Decoder{Table: &bare, Defaults: noDefaults(&bare)}
	for drawn, size := 0, 0; drawn < mostTried && size < mostBytes; drawn++ {
		text := d.Value(of)
		size += len(text)
		doc, _, err := decoder.Decode(of, text)
		if err != nil {
			continue
		}
		if len(document.Validate(doc.Root(), hooks)) == 0 {
			o.ask(doc.Root(), all, t.Schema.Rules, asking)
		}
		doc.Release()
	}
	return o
}

// ask takes the answers of all rules about an object.
func (o *outcome) ask(v document.Value, all []ruled, rules []schema.Demand, hooks *document.Hooks) {
	o.tried++
	kept := true
	for i := range all {
		r := &all[i]
		if r.Changes() {
			continue
		}
		if meets(v, r, hooks) {
			o.asked[i]++
			for j, path := range r.reads() {
				if m := v.At(path...); m.Exists() && !m.IsNull() {
					o.set[i][j]++
				}
			}
		}
		if len(hooks.Broken(v, document.Value{}, rules[i:i+1])) > 0 {
			o.broke[i]++
			kept = kept && !r.plain()
		}
		if kept {
			o.prefix[i]++
		}
	}
}

// note takes mistakes without words, and those of members that there are not.
func (o *outcome) note(all []ruled, d *schema.Demand, found []document.Finding) {
	i := slices.IndexFunc(all, func(r ruled) bool { return r.Demand == d })
	for _, f := range found {
		if cause := cmp.Or(f.Cause, d.Cause, schema.CauseInvalid); f.Why == "" && (cause == schema.CauseInvalid || cause == schema.CauseForbidden) {
			o.wordless[i] = true
		}
		if f.At != "" && !slices.Contains(o.elsewhere[i], f.At) && !slices.Contains(all[i].asked.At, f.At) && !all[i].leads(all[i].self, schema.Steps(f.At)) {
			o.elsewhere[i] = append(o.elsewhere[i], f.At)
		}
	}
}

// texts are the constants of a rule.
func (r *ruled) texts() (all []string) {
	all = append(all, r.asked.Texts...)
	for _, t := range slices.Concat(r.If, r.Then) {
		all = append(all, t.Values...)
	}
	return all
}

// noDefaults stand for the default hooks of a table, which are not there.
func noDefaults(t *schema.Table) (hooks []func(document.Value)) {
	for i := range t.Types {
		if t.Types[i].Hook > 0 {
			hooks = append(hooks, func(document.Value) {})
		}
	}
	return hooks
}
