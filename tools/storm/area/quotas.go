package area

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// quotas is the area of resource quotas that are made, shrink, grow and vanish while many
// clients create and delete what they count.
func quotas() Area {
	return Area{Name: "quotas", Weight: 6, Prepare: prepareQuotas, Do: doQuotas, Rest: restQuotas, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"create", 40}, weighted{"delete", 30}, weighted{"sweep", 1}, weighted{"limit", 4}, weighted{"make", 2}, weighted{"drop", 1})
	}}
}

// quotaSpaces are the namespaces with quotas.
var quotaSpaces = []string{"q-0", "q-1"}

func prepareQuotas(c *stage.Client) error {
	for _, name := range quotaSpaces {
		if call := c.Do(stage.Request{Verb: "create", Kind: stage.KindOf("namespaces"), Body: object{"metadata": object{"name": name}}}); !call.Done() {
			return fmt.Errorf("namespace %s: %s", name, call.Message)
		}
		c.Do(stage.Request{Verb: "create", Kind: stage.KindOf("resourcequotas"), Namespace: name, Body: quota("limit-0", 0)})
	}
	return nil
}

// quota is one whose bounds come from a number.
func quota(name string, n int) object {
	return object{"metadata": object{"name": name}, "spec": object{"hard": bounds(n)}}
}

func bounds(n int) object {
	return object{"count/configmaps": fmt.Sprint(3 + n%5), "count/podtemplates": fmt.Sprint(2 + n%4), "services": fmt.Sprint(1 + n%3)}
}

func doQuotas(_ context.Context, c *stage.Client, s program.Step) {
	space := quotaSpaces[s.A%len(quotaSpaces)]
	q := stage.Request{Kind: stage.KindOf(of(s.B, "configmaps", "podtemplates", "services")), Namespace: space, Name: fmt.Sprintf("x-%d", s.C%12),
		Mark: c.Mark()}
	of := stage.Request{Kind: stage.KindOf("resourcequotas"), Namespace: space, Name: fmt.Sprintf("limit-%d", s.B%2)}
	switch s.Op {
	case "create":
		q.Verb, q.Body = "create", filled(q)
		c.Do(q)
	case "delete":
		q.Verb, q.Mark = "delete", ""
		c.Do(q)
	case "sweep":
		q.Verb, q.Mark, q.Name, q.Kind = "deletecollection", "", "", stage.KindOf("podtemplates")
		c.Do(q)
	case "limit":
		of.Verb, of.ContentType, of.Body = "patch", "application/merge-patch+json", object{"spec": object{"hard": bounds(s.C)}}
		c.Do(of)
	case "make":
		of.Verb, of.Body = "create", quota(of.Name, s.C)
		c.Do(of)
	case "drop":
		of.Verb = "delete"
		c.Do(of)
	}
}

// restQuotas waits until the quotas say how many objects there are.
func restQuotas(_ context.Context, c *stage.Client) {
	var wrong []string
	if eventually(func() bool {
		rest := make(map[string][]*record.Object)
		for _, resource := range []string{"resourcequotas", "configmaps", "podtemplates", "services"} {
			_, rest[resource] = c.List(stage.Watching{Kind: stage.KindOf(resource), Into: new(history.Recorder)}, 0)
		}
		wrong = promise.Untrue(rest)
		return len(wrong) == 0
	}) {
		return
	}
	for _, text := range wrong {
		c.Probe("charged", "%s, %s after the last write", text, goneLimit)
	}
}
