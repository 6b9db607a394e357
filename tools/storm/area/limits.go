package area

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// limitSpaces are the namespaces with limit ranges.
var limitSpaces = []string{"lr-0", "lr-1"}

// limits is the area of limit ranges that are made, changed and deleted while pods come.
func limits() Area {
	return Area{Name: "limits", Weight: 4, Prepare: prepareLimits, Do: doLimits, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"range", 8}, weighted{"drop", 3}, weighted{"create", 40}, weighted{"delete", 30})
	}}
}

func prepareLimits(c *stage.Client) error {
	for _, name := range limitSpaces {
		if call := c.Do(stage.Request{Verb: "create", Kind: stage.KindOf("namespaces"), Body: object{"metadata": object{"name": name}}}); !call.Done() {
			return fmt.Errorf("namespace %s: %s", name, call.Message)
		}
	}
	return nil
}

func doLimits(_ context.Context, c *stage.Client, s program.Step) {
	space := limitSpaces[s.A%len(limitSpaces)]
	q := stage.Request{Verb: s.Op, Kind: stage.KindOf("pods"), Namespace: space, Name: fmt.Sprint(promise.Limited, s.B%6)}
	switch s.Op {
	case "range":
		set(c, stage.KindOf("limitranges"), object{"metadata": object{"name": promise.LimitRange, "namespace": space}, "spec": object{"limits": []object{
			{"type": "Container", "default": object{"cpu": of(s.C, "100m", "150m")}, "defaultRequest": object{"cpu": "50m"},
				"max": object{"cpu": of(s.C/2, "200m", "400m")}}}}})
		return
	case "drop":
		q.Verb, q.Kind, q.Name = "delete", stage.KindOf("limitranges"), promise.LimitRange
	case "create":
		q.Mark, q.Variant = c.Mark(), of(s.C, "", "", "75m", "300m", "500m")
		q.Body = filled(q)
		if q.Variant != "" {
			q.Body.(object)["spec"] = object{"containers": []object{{"name": "c", "image": "i", "resources": object{"limits": object{"cpu": q.Variant}}}}}
		}
	case "delete":
		q.Body = object{"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
	}
	c.Do(q)
}
