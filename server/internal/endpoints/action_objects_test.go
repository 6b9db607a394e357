package endpoints_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/action"
	rbacv1 "github.com/capstan-dev/capstan/gen/rbac.authorization/v1"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/object"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// ownRole is a role of the module, whose kind has another version than the built-in one.
type ownRole rbacv1.Role

// SetKind implements action.Kind.
func (r *ownRole) SetKind() { r.APIVersion, r.Kind = "tools.example.com/v1", "Role" }

const operations = "/apis/tools.example.com/v1/namespaces/default/"

// assigned makes, changes and deletes roles as the annotations of the body ask.
func assigned(ctx context.Context, call *action.Command, body *rbacv1.ClusterRole) (*rbacv1.Role, error) {
	roles, asks := action.Of[ownRole](call, call.Namespace()), body.Metadata.Annotations
	call.Warn("by " + call.User().Name)
	switch {
	case asks["make"] != "":
		role := &ownRole{Rules: body.Rules}
		role.Metadata.Name = asks["make"]
		made, err := roles.Create(ctx, role)
		return (*rbacv1.Role)(made), err
	case asks["label"] != "":
		role, err := roles.Update(ctx, asks["label"], func(role *ownRole) error {
			role.Metadata.Labels = map[string]string{"by": "it"}
			return nil
		})
		return (*rbacv1.Role)(role), err
	case asks["drop"] != "":
		return &rbacv1.Role{}, roles.Delete(ctx, asks["drop"])
	case asks["stray"] != "":
		_, err := action.Of[ownRole](call, asks["stray"]).Get(ctx, "a")
		return nil, err
	}
	return nil, action.Invalid(object.Required("metadata.annotations", "say what to do"))
}

// counted answers with a role that has a label for each role of the namespace.
func counted(ctx context.Context, call *action.Query, _ *rbacv1.ClusterRole) (*rbacv1.Role, error) {
	out := &rbacv1.Role{}
	out.Metadata.Labels = map[string]string{}
	for role, err := range action.Of[ownRole](call, call.Namespace()).All(ctx) {
		if err != nil {
			return nil, err
		}
		out.Metadata.Labels[role.Metadata.Name] = ""
	}
	return out, nil
}

func startAssigning(t *testing.T, change func(*server.Config)) *harness.Server {
	return startOperations(t, change, nil, map[string]*api.Action{"assignments": action.Writes(assigned), "counts": action.Reads(counted)})
}

func asks(what, name string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`, what, name)
}

// TestOperations: an action that is not of an object is a resource that is only created; it reads and writes the objects
// of its namespace by the rules of all writes.
func TestOperations(t *testing.T) {
	h := startAssigning(t, nil)
	path := operations + "assignments"
	dry := h.Post(path+"?dryRun=All", asks("make", "b"))
	dry.Expect(t, 201, "")
	h.Get(ownRoles+"/b").Expect(t, 404, "NotFound")
	made := h.Post(path+"?fieldManager=me", asks("make", "b"))
	made.Expect(t, 201, "")
	if got := made.Header.Get("Warning"); !strings.Contains(got, "by admin") {
		t.Errorf("the warning %q", got)
	}
	stored := h.Get(ownRoles + "/b")
	if fields := fmt.Sprint(stored.Field(t, "metadata.managedFields")); !strings.Contains(fields, "manager:me") || stored.Field(t, "rules.0.verbs.0") != "get" {
		t.Errorf("stored is %s", stored.Body)
	}
	again := h.Post(path, asks("make", "b"))
	again.Expect(t, 409, "AlreadyExists")
	if again.Field(t, "details.kind") != "roles" || again.Field(t, "details.name") != "b" {
		t.Errorf("refused with %s", again.Body)
	}
	h.Post(path, asks("make", "a/b")).Expect(t, 422, "Invalid")
	h.Post(path, asks("label", "b")).Expect(t, 201, "")
	if h.Get(ownRoles+"/b").Field(t, "metadata.labels.by") != "it" {
		t.Error("the label is not stored")
	}
	h.Post(path, asks("label", "nosuch")).Expect(t, 404, "NotFound")
	count := h.Post(operations+"counts", `{}`)
	if count.Expect(t, 201, ""); count.Field(t, "metadata.labels.a") == nil || count.Field(t, "metadata.labels.b") == nil {
		t.Errorf("counted %s", count.Body)
	}
	h.Post(path, asks("drop", "b")).Expect(t, 201, "")
	h.Get(ownRoles+"/b").Expect(t, 404, "NotFound")
	h.Post(path, asks("drop", "b")).Expect(t, 404, "NotFound")
	h.Run(t, []harness.Step{
		{"another namespace", "POST", path, "", asks("stray", "kube-system"), 500, "InternalError"},
		{"nothing asked", "POST", path, "", ``, 422, "say what to do"},
		{"another kind", "POST", path, "", `{"kind":"Pod"}`, 400, "BadRequest"},
		{"the namespace of the body", "POST", path, "", `{"metadata":{"namespace":"kube-system"}}`, 400, "BadRequest"},
		{"no body of JSON", "POST", path, "", `{`, 400, "BadRequest"},
		{"a missing namespace", "POST", strings.Replace(path, "default", "nosuch", 1), "", asks("make", "b"), 404, `"kind":"namespaces"`},
		{"reads in a missing namespace", "POST", strings.Replace(operations, "default", "nosuch", 1) + "counts", "", ``, 404, `"kind":"namespaces"`},
		{"one object", "GET", path + "/a", "", "", 404, ""},
		{"a list", "GET", path, "", "", 405, "MethodNotAllowed"},
		{"all namespaces", "POST", "/apis/tools.example.com/v1/assignments", "", `{}`, 404, ""},
		{"discovery", "GET", "/apis/tools.example.com/v1", "", "", 200, `{"name":"assignments","singularName":"","namespaced":true,"kind":"ClusterRole","verbs":["create"]}`},
	})
	large := h.Send("POST", path, "application/json", []byte(`{"metadata":{"annotations":{"make":"`+strings.Repeat("x", 4<<20)+`"}}}`))
	large.Expect(t, 413, "RequestEntityTooLarge")
}

// TestOperationRights: the right to an action is create of its resource, and enough for what its code writes. A
// namespace that ends takes no action that writes.
func TestOperationRights(t *testing.T) {
	h := startAssigning(t, nil)
	path := operations + "assignments"
	h.SendAs("bob-token", "POST", path, asks("make", "b")).Expect(t, 403, "Forbidden")
	h.Post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
		`{"metadata":{"name":"assign"},"rules":[{"verbs":["create"],"apiGroups":["tools.example.com"],"resources":["assignments"]}]}`).Expect(t, 201, "")
	h.Post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
		`{"metadata":{"name":"assign"},"roleRef":{"kind":"Role","name":"assign"},"subjects":[{"kind":"User","name":"bob"}]}`).Expect(t, 201, "")
	h.SendAs("bob-token", "POST", path, asks("make", "b")).Expect(t, 201, "")
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"ends"},"spec":{"finalizers":["example.com/keep"]}}`).Expect(t, 201, "")
	h.Send("DELETE", "/api/v1/namespaces/ends", "", nil)
	ends := strings.Replace(operations, "default", "ends", 1)
	h.Post(ends+"assignments", asks("make", "b")).Expect(t, 403, "Forbidden")
	h.Post(ends+"counts", ``).Expect(t, 201, "")
}

// TestOperationsReadPages: the objects of many pages are of one moment, whatever the loop over them writes.
func TestOperationsReadPages(t *testing.T) {
	text := strings.Repeat("x", 200<<10)
	const all = 12 // some pages
	seen := 0
	sweep := func(ctx context.Context, call *action.Command, _ *rbacv1.ClusterRole) (*rbacv1.Role, error) {
		roles := action.Of[ownRole](call, call.Namespace())
		for role, err := range roles.All(ctx) {
			if err != nil {
				return nil, err
			}
			seen++
			if err := roles.Delete(ctx, role.Metadata.Name); err != nil {
				return nil, err
			}
		}
		return &rbacv1.Role{}, nil
	}
	h := startOperations(t, func(c *server.Config) { c.RequestTimeout = time.Minute }, nil, map[string]*api.Action{"sweeps": action.Writes(sweep)})
	for i := range all {
		h.Post(ownRoles, fmt.Sprintf(`{"metadata":{"name":"r%02d","annotations":{"x":%q}},"rules":[]}`, i, text)).Expect(t, 201, "")
	}
	h.Post(operations+"sweeps", ``).Expect(t, 201, "")
	if seen != all+1 || len(h.Get(ownRoles).Field(t, "items").([]any)) != 0 {
		t.Errorf("of %d roles %d were seen", all+1, seen)
	}
}
