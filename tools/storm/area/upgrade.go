package area

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// upgraded is the number of definitions that change together.
const upgraded = 100

// upgrade is the area of a hundred definitions that all clients change at once, as an
// operator's upgrade does, while their kinds are used.
func upgrade() Area {
	return Area{Name: "upgrade", Weight: 8, Prepare: makeUpgraded, Do: doUpgrade, Rest: restUpgrade, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"change", 10}, weighted{"create", 2}, weighted{"patch", 1}, weighted{"drop", 1}, weighted{"make", 1})
	}}
}

// makeUpgraded makes the definitions, sixteen at a time.
func makeUpgraded(admin *stage.Client) error {
	var group sync.WaitGroup
	var failed atomic.Int64
	for n := range 16 {
		group.Go(func() {
			c := admin.Client(4000 + n)
			c.Quiet = true
			for i := n; i < upgraded; i += 16 {
				kind := custom("u", i, "v1")
				if !c.Do(stage.Request{Verb: "create", Kind: stage.KindOf("customresourcedefinitions"), Body: definition(kind, i%16)}).Done() {
					failed.Add(1)
				}
			}
		})
	}
	group.Wait()
	if n := failed.Load(); n > 0 {
		return fmt.Errorf("%d definitions could not be made", n)
	}
	return nil
}

func doUpgrade(_ context.Context, c *stage.Client, s program.Step) {
	kind := custom("u", s.A%upgraded, "v1")
	def := stage.Request{Kind: stage.KindOf("customresourcedefinitions"), Name: definitionName(kind)}
	switch s.Op {
	case "change":
		change(c, def, kind, s.C%16)
	case "drop":
		def.Verb = "delete"
		c.Do(def)
	case "make":
		def.Verb, def.Body = "create", definition(kind, s.C%16)
		c.Do(def)
	default:
		useCustom(c, kind, s)
	}
}

// restUpgrade writes to every kind that is there.
func restUpgrade(ctx context.Context, c *stage.Client) {
	c.Quiet = true
	stuck := 0
	for i := range upgraded {
		kind := custom("u", i, "v1")
		def := c.Do(stage.Request{Verb: "get", Kind: stage.KindOf("customresourcedefinitions"), Name: definitionName(kind)})
		if def.Object == nil || def.Object.Meta.DeletionTimestamp != "" {
			continue
		}
		if !writable(ctx, c, kind) {
			if stuck++; stuck == 2 {
				return // enough is known, and each takes its time
			}
		}
	}
}
