// Package area holds what clients do in a storm, by subject. An area draws steps and
// does them; the promises judge what came of them.
package area

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// Area is a subject.
type Area struct {
	Name string
	// Weight is the share of the steps.
	Weight int
	// Prepare makes what the steps need; nil for nothing.
	Prepare func(c *stage.Client) error
	// Draw draws a step.
	Draw func(r *rand.Rand) program.Step
	Do   func(ctx context.Context, c *stage.Client, s program.Step)
	// Rest asks questions when no client is at work any more; nil for none.
	Rest func(ctx context.Context, c *stage.Client)
}

// All are all areas.
func All() []Area {
	// Namespaces end only when all extension servers answer, which is so after the rest of theirs.
	return []Area{extensions(), maps(), definitions(), upgrade(), namespaces(), quotas(), services(), owners(), rights(), pods(), hooks(), policies(), limits(),
		operate(), faults()}
}

// Named are the areas with these names.
func Named(names []string) (all []Area) {
	for _, a := range All() {
		if slices.Contains(names, a.Name) {
			all = append(all, a)
		}
	}
	return all
}

// Size bounds a program.
type Size struct{ Clients, Steps int }

// Draw draws a program: some of the areas, or those that are named, and the steps of each
// client. Servers that share an etcd have no store whose operator does something.
func Draw(seed uint64, size Size, names []string, shared bool) program.Program {
	r := rand.New(rand.NewPCG(seed, 1))
	p := program.Program{Seed: seed, Memory: r.IntN(2) == 0}
	p.Memory = p.Memory && !shared
	notHere := func(a Area) bool { return shared && a.Name == "operate" }
	areas := slices.DeleteFunc(Named(names), notHere)
	for len(names) == 0 && len(areas) == 0 {
		areas = slices.DeleteFunc(some(r), notHere)
	}
	total := 0
	for _, a := range areas {
		p.Areas, total = append(p.Areas, a.Name), total+a.Weight
	}
	for range size.Clients {
		var steps []program.Step
		for range size.Steps {
			n := r.IntN(total)
			i := slices.IndexFunc(areas, func(a Area) bool { n -= a.Weight; return n < 0 })
			s := areas[i].Draw(r)
			s.Area = areas[i].Name
			steps = append(steps, s)
		}
		p.Clients = append(p.Clients, steps)
	}
	return p
}

// some draws areas: few of them in use meet each other more often than all.
func some(r *rand.Rand) []Area {
	all := All()
	if r.IntN(4) == 0 {
		return all
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), 1+r.IntN(4))]
}

// pick draws one of some steps, each as often as its weight says.
func pick(r *rand.Rand, ops ...weighted) program.Step {
	total := 0
	for _, o := range ops {
		total += o.weight
	}
	n := r.IntN(total)
	i := slices.IndexFunc(ops, func(o weighted) bool { n -= o.weight; return n < 0 })
	return program.Step{Op: ops[i].op, A: r.IntN(1000), B: r.IntN(1000), C: r.IntN(1000)}
}

type weighted struct {
	op     string
	weight int
}

// object is a map in JSON.
type object = map[string]any

// of picks one of some texts by a number of a step.
func of(n int, all ...string) string { return all[n%len(all)] }
