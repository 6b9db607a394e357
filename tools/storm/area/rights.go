package area

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/site"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// rights is the area of a role and its bindings that are made, changed and deleted while their users
// ask.
func rights() Area {
	return Area{Name: "rights", Weight: 5, Prepare: prepareRights, Do: doRights, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"give", 15}, weighted{"take", 15}, weighted{"role", 4}, weighted{"end", 1}, weighted{"ask", 50})
	}}
}

func prepareRights(c *stage.Client) error {
	call := c.Do(stage.Request{Verb: "create", Kind: stage.KindOf("roles"), Namespace: promise.RightSpace, Body: role("configmaps")})
	if !call.Done() {
		return fmt.Errorf("role: %s", call.Message)
	}
	return nil
}

// role lets its users get objects of a resource.
func role(resource string) object {
	return object{"metadata": object{"name": promise.Reader, "namespace": promise.RightSpace}, "rules": []object{{"apiGroups": []string{""},
		"resources": []string{resource}, "verbs": []string{"get"}}}}
}

func doRights(_ context.Context, c *stage.Client, s program.Step) {
	user := site.Users[s.A%len(site.Users)]
	binding := stage.Request{Kind: stage.KindOf("rolebindings"), Namespace: promise.RightSpace, Name: promise.Binding + user}
	switch s.Op {
	case "give":
		binding.Verb, binding.Body = "create", object{"metadata": object{"name": binding.Name},
			"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": promise.Reader},
			"subjects": []object{{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}}}
		c.Do(binding)
	case "take":
		binding.Verb = "delete"
		c.Do(binding)
	case "role":
		set(c, stage.KindOf("roles"), role(of(s.C, "configmaps", "secrets", "configmaps")))
	case "end":
		c.Do(stage.Request{Verb: "delete", Kind: stage.KindOf("roles"), Namespace: promise.RightSpace, Name: promise.Reader})
	case "ask":
		as := *c
		as.User = user
		as.Do(stage.Request{Verb: "get", Kind: stage.KindOf("configmaps"), Namespace: promise.RightSpace, Name: "any"})
	}
}
