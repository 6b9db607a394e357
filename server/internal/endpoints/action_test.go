package endpoints_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/action"
	rbacv1 "github.com/capstan-dev/capstan/gen/rbac.authorization/v1"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/object"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

type roleCall = action.Call[rbacv1.Role]

const ownRoles = "/apis/tools.example.com/v1/namespaces/default/roles"

// startActions starts a server with actions of roles, and makes the role a.
func startActions(t *testing.T, change func(*server.Config), actions map[string]*api.Action) *harness.Server {
	t.Helper()
	return startOperations(t, change, actions, nil)
}

// startOperations is startActions with actions that are not of an object.
func startOperations(t *testing.T, change func(*server.Config), actions, operations map[string]*api.Action) *harness.Server {
	t.Helper()
	h := harness.Start(t, func(c *server.Config) {
		c.API = harness.ActionAPI(actions, operations)
		if change != nil {
			change(c)
		}
	})
	h.Post(ownRoles, `{"metadata":{"name":"a","annotations":{"kept":""}},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}`).Expect(t, 201, "")
	return h
}

// labelled is an action that labels a role with the user, after what the body's annotations ask for.
func labelled(_ context.Context, call *roleCall, body *rbacv1.Role) (*rbacv1.Role, error) {
	if body.Metadata.Annotations["warn"] != "" {
		call.Warn("mind " + call.Namespace() + "/" + call.Name())
	}
	ctx := context.Background() // whatever the code does, the request's end ends its methods
	return call.Update(ctx, func(role *rbacv1.Role) error {
		if role.Metadata.Labels["by"] != "" {
			return action.Conflict("it is labelled already")
		}
		role.Metadata.Labels = map[string]string{"by": strings.ReplaceAll(call.User().Name, ":", "-")}
		return nil
	})
}

// TestActions: an action changes the object by the rules of updates, is answered with its kind, and follows
// dry runs.
func TestActions(t *testing.T) {
	h := startActions(t, nil, map[string]*api.Action{"label": action.Writes(labelled)})
	dry := h.Post(ownRoles+"/a/label?dryRun=All", `{}`)
	dry.Expect(t, 201, "")
	if dry.Field(t, "metadata.labels.by") == nil || h.Get(ownRoles+"/a").Field(t, "metadata.labels") != nil {
		t.Errorf("a dry run: %s", dry.Body)
	}
	made := h.Post(ownRoles+"/a/label?fieldManager=me", `{"metadata":{"annotations":{"warn":"x"}}}`)
	made.Expect(t, 201, "")
	if got := made.Header.Get("Warning"); !strings.Contains(got, "mind default/a") {
		t.Errorf("the warning %q", got)
	}
	got := h.Get(ownRoles + "/a")
	if got.Field(t, "metadata.labels.by") == nil || got.Field(t, "metadata.annotations") == nil || got.Field(t, "rules.0.verbs.0") != "get" {
		t.Errorf("stored is %s", got.Body)
	}
	if fields := fmt.Sprint(got.Field(t, "metadata.managedFields")); !strings.Contains(fields, "manager:me") || !strings.Contains(fields, "subresource:label") {
		t.Errorf("owned by %s", fields)
	}
	h.Post(ownRoles+"/a/label", ``).Expect(t, 409, "Conflict")
	h.Post(ownRoles+"/b/label", `{}`).Expect(t, 404, "NotFound")
	h.Post(ownRoles+"/a/label", `{"metadata":{"name":"b"}}`).Expect(t, 400, "BadRequest")
	h.Post(ownRoles+"/a/label", `{"kind":"Pod"}`).Expect(t, 400, "BadRequest")
	h.Post(ownRoles+"/a/label?fieldValidation=Strict", `{"x":1}`).Expect(t, 400, "BadRequest")
	h.Get(ownRoles+"/a/label").Expect(t, 405, "MethodNotAllowed")
	if list := string(h.Get("/apis/tools.example.com/v1").Body); !strings.Contains(list, `"roles/label"`) {
		t.Errorf("discovery has %s", list)
	}
}

// TestActionRights: the right to an action is create of the subresource; a namespace that ends takes no action that
// writes.
func TestActionRights(t *testing.T) {
	h := startActions(t, nil, map[string]*api.Action{"label": action.Writes(labelled)})
	h.SendAs("bob-token", "POST", ownRoles+"/a/label", `{}`).Expect(t, 403, "Forbidden")
	h.Post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
		`{"metadata":{"name":"label"},"rules":[{"verbs":["create"],"apiGroups":["tools.example.com"],"resources":["roles/label"]}]}`).Expect(t, 201, "")
	h.Post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
		`{"metadata":{"name":"label"},"roleRef":{"kind":"Role","name":"label"},"subjects":[{"kind":"User","name":"bob"}]}`).Expect(t, 201, "")
	h.SendAs("bob-token", "POST", ownRoles+"/a/label", `{}`).Expect(t, 201, "")
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"ends"},"spec":{"finalizers":["example.com/keep"]}}`).Expect(t, 201, "")
	ends := strings.Replace(ownRoles, "default", "ends", 1)
	h.Post(ends, `{"metadata":{"name":"a","finalizers":["example.com/keep"]},"rules":[]}`).Expect(t, 201, "")
	h.Send("DELETE", "/api/v1/namespaces/ends", "", nil)
	h.Post(ends+"/a/label", `{}`).Expect(t, 403, "Forbidden")
}

// TestActionVerbs: an action with a verb of its own needs the right to that verb, and no other one; reviews, discovery and
// audit name it.
func TestActionVerbs(t *testing.T) {
	act := func() *api.Action { return action.Writes(labelled).Needs("tag") }
	h := startOperations(t, nil, map[string]*api.Action{"label": act()}, map[string]*api.Action{"sales": action.Reads(
		func(context.Context, *action.Query, *rbacv1.ClusterRole) (*rbacv1.Role, error) {
			return &rbacv1.Role{}, nil
		}).Needs("sell")})
	sales := strings.Replace(ownRoles, "roles", "sales", 1)
	bind := func(name, verb string) {
		h.Post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", fmt.Sprintf(
			`{"metadata":{"name":%q},"rules":[{"verbs":[%q],"apiGroups":["tools.example.com"],"resources":["roles/label","sales"]}]}`, name, verb)).Expect(t, 201, "")
		h.Post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", fmt.Sprintf(
			`{"metadata":{"name":%q},"roleRef":{"kind":"Role","name":%q},"subjects":[{"kind":"User","name":"bob"}]}`, name, name)).Expect(t, 201, "")
	}
	may := func(verb string) any {
		return h.SendAs("bob-token", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", fmt.Sprintf(`{"spec":{"resourceAttributes":
			{"namespace":"default","verb":%q,"group":"tools.example.com","resource":"roles","subresource":"label"}}}`, verb)).Field(t, "status.allowed")
	}
	bind("creates", "create")
	refused := h.SendAs("bob-token", "POST", ownRoles+"/a/label", `{}`)
	if refused.Expect(t, 403, "Forbidden"); !strings.Contains(string(refused.Body), `cannot tag resource \"roles/label\"`) {
		t.Errorf("refused with %s", refused.Body)
	}
	h.SendAs("bob-token", "POST", sales, `{}`).Expect(t, 403, "Forbidden")
	if may("tag") != false || may("create") != true {
		t.Errorf("with create, a review says tag: %v, create: %v", may("tag"), may("create"))
	}
	bind("tags", "tag")
	h.SendAs("bob-token", "POST", ownRoles+"/a/label", `{}`).Expect(t, 201, "")
	h.SendAs("bob-token", "GET", ownRoles+"/a/label", "").Expect(t, 403, "Forbidden") // by a method that it does not have
	if may("tag") != true {
		t.Error("a review does not know of the right to tag")
	}
	bind("sells", "sell")
	h.SendAs("bob-token", "POST", sales, `{}`).Expect(t, 201, "")
	if list := string(h.Get("/apis/tools.example.com/v1").Body); !strings.Contains(list, `"verbs":["tag"]`) || !strings.Contains(list, `"verbs":["sell"]`) {
		t.Errorf("discovery has %s", list)
	}
	if figures := string(h.Get("/metrics").Body); !strings.Contains(figures, `code="201",component="apiserver",dry_run="",group="tools.example.com",resource="roles",scope="resource",subresource="label",verb="POST"`) {
		t.Error("the metrics lack the call")
	}
}

// TestActionsThatFail: whatever the code of an action does, the client gets a clear error, nothing is half stored, and
// the server serves on.
func TestActionsThatFail(t *testing.T) {
	log := &harness.Lines{}
	late, ended := make(chan error, 1), make(chan struct{})
	fails := func(do func(ctx context.Context, call *roleCall) (*rbacv1.Role, error)) *api.Action {
		return action.Writes(func(ctx context.Context, call *roleCall, _ *rbacv1.Role) (*rbacv1.Role, error) { return do(ctx, call) })
	}
	update := func(ctx context.Context, call *roleCall, change func(*rbacv1.Role) error) (*rbacv1.Role, error) {
		return call.Update(ctx, change)
	}
	h := startActions(t, func(c *server.Config) {
		c.RequestTimeout = 300 * time.Millisecond
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	}, map[string]*api.Action{
		"panics": fails(func(context.Context, *roleCall) (*rbacv1.Role, error) { panic("on purpose") }),
		"throws": fails(func(ctx context.Context, call *roleCall) (*rbacv1.Role, error) {
			return update(ctx, call, func(*rbacv1.Role) error { panic("in a change") })
		}),
		"hangs": fails(func(_ context.Context, call *roleCall) (*rbacv1.Role, error) {
			<-ended
			_, err := update(context.Background(), call, func(r *rbacv1.Role) error { r.Metadata.Labels = map[string]string{"late": ""}; return nil })
			late <- err
			return nil, err
		}),
		"sticks": fails(func(ctx context.Context, call *roleCall) (*rbacv1.Role, error) {
			return update(ctx, call, func(*rbacv1.Role) error { <-ended; return nil })
		}),
		"breaks": fails(func(ctx context.Context, call *roleCall) (*rbacv1.Role, error) {
			return update(ctx, call, func(r *rbacv1.Role) error { r.Metadata.Labels = map[string]string{"-": "-"}; return nil })
		}),
		"strays": fails(func(context.Context, *roleCall) (*rbacv1.Role, error) {
			other := &rbacv1.Role{}
			other.Metadata.Name = "other"
			return other, nil
		}),
		"fails": fails(func(context.Context, *roleCall) (*rbacv1.Role, error) {
			return nil, errors.New("the password of the database is x")
		}),
		"refuses": fails(func(context.Context, *roleCall) (*rbacv1.Role, error) {
			return nil, action.Invalid(object.Forbidden("rules", "not today"))
		}),
		"waits": fails(func(context.Context, *roleCall) (*rbacv1.Role, error) { return nil, action.TooEarly(7, "not yet") }),
	})
	before := h.Get(ownRoles + "/a").Body
	for name, want := range map[string]int{"panics": 500, "throws": 500, "hangs": 504, "sticks": 504, "breaks": 422, "strays": 500, "fails": 500, "refuses": 422, "waits": 429} {
		got := h.Post(ownRoles+"/a/"+name, `{}`)
		if got.Code != want || bytes.Contains(got.Body, []byte("password")) || bytes.Contains(got.Body, []byte("purpose")) || got.Field(t, "kind") != "Status" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		if name == "waits" && got.Header.Get("Retry-After") != "7" {
			t.Errorf("Retry-After %q", got.Header.Get("Retry-After"))
		}
	}
	close(ended)
	if err := <-late; err == nil {
		t.Error("a change after the end of its request was stored")
	}
	if now := h.Get(ownRoles + "/a").Body; !bytes.Equal(now, before) {
		t.Errorf("the object was %s and is %s", before, now)
	}
	log.Mu.Lock()
	defer log.Mu.Unlock()
	for _, text := range []string{"on purpose", "password of the database", "another object, /other"} {
		if !strings.Contains(log.Text.String(), text) {
			t.Errorf("the log does not say %q", text)
		}
	}
}

// TestActionsAtOnce: changes of actions that meet are evaluated again, and none is lost.
func TestActionsAtOnce(t *testing.T) {
	h := startActions(t, nil, map[string]*api.Action{"count": action.Writes(func(ctx context.Context, call *roleCall, _ *rbacv1.Role) (*rbacv1.Role, error) {
		return call.Update(ctx, func(role *rbacv1.Role) error {
			role.Metadata.Annotations["n"] += "x"
			return nil
		})
	})})
	var all sync.WaitGroup
	made := make(chan struct{}, 40)
	for range 8 {
		all.Go(func() {
			for range 5 {
				switch r := h.Post(ownRoles+"/a/count", `{}`); r.Code {
				case 201:
					made <- struct{}{}
				case 409: // it met others too often
				default:
					t.Errorf("%d %s", r.Code, r.Body)
				}
			}
		})
	}
	all.Wait()
	if got := h.Get(ownRoles+"/a").Field(t, "metadata.annotations.n"); len(got.(string)) != len(made) || len(made) == 0 {
		t.Errorf("%d calls were answered, and %q is stored", len(made), got)
	}
}

// TestActionAnswersStoredObjects: a stored object may have mistakes that its write accepted, so an answer with it is
// right; one that the action has made up is not.
func TestActionAnswersStoredObjects(t *testing.T) {
	wrong := func(stored bool) *api.Action {
		return action.Writes(func(ctx context.Context, call *roleCall, _ *rbacv1.Role) (*rbacv1.Role, error) {
			role, err := call.Update(ctx, func(*rbacv1.Role) error { return nil })
			if err == nil {
				role.Rules[0].Verbs = nil // as if an earlier release had allowed it
			}
			if err == nil && !stored {
				role.Metadata.UID = ""
			}
			return role, err
		})
	}
	h := startActions(t, nil, map[string]*api.Action{"shows": wrong(true), "makes": wrong(false)})
	h.Post(ownRoles+"/a/shows", `{}`).Expect(t, 201, "")
	h.Post(ownRoles+"/a/makes", `{}`).Expect(t, 500, "")
}

// TestActionRefusals: an action that names its errors refuses a call with no other ones; what the methods of a call
// answer is none of its own.
func TestActionRefusals(t *testing.T) {
	refuses := func(err error) *api.Action {
		return action.Writes(func(ctx context.Context, call *roleCall, _ *rbacv1.Role) (*rbacv1.Role, error) {
			return call.Update(ctx, func(*rbacv1.Role) error { return err })
		}).Refuses(api.ReasonConflict, api.ReasonServiceUnavailable)
	}
	log := &harness.Lines{}
	h := startActions(t, func(c *server.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }, map[string]*api.Action{
		"named": refuses(action.Conflict("it is done")), "waits": refuses(action.Unavailable("the depot sleeps")),
		"unnamed": refuses(fmt.Errorf("seen: %w", action.NotFound("no depot"))),
		"invalid": action.Writes(func(ctx context.Context, call *roleCall, _ *rbacv1.Role) (*rbacv1.Role, error) {
			return call.Update(ctx, func(r *rbacv1.Role) error { r.Metadata.Labels = map[string]string{"-": "-"}; return nil })
		}).Refuses(api.ReasonConflict),
		"missing": action.Writes(func(ctx context.Context, call *roleCall, _ *rbacv1.Role) (*rbacv1.Role, error) {
			return action.Of[rbacv1.Role](call, "default").Get(ctx, "nosuch")
		}).Refuses(api.ReasonConflict),
		"recovers": action.Writes(func(ctx context.Context, call *roleCall, _ *rbacv1.Role) (*rbacv1.Role, error) {
			if _, err := action.Of[rbacv1.Role](call, "default").Get(ctx, "nosuch"); !action.IsNotFound(err) {
				return nil, err
			}
			return nil, action.Conflict("there is no such role")
		}).Refuses(api.ReasonConflict),
	})
	for name, want := range map[string]int{"named": 409, "waits": 503, "unnamed": 500, "invalid": 422, "missing": 404, "recovers": 409} {
		if got := h.Post(ownRoles+"/a/"+name, `{}`); got.Code != want || bytes.Contains(got.Body, []byte("depot")) != (name == "waits") {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	log.Mu.Lock()
	defer log.Mu.Unlock()
	if want := "the action unnamed of roles refuses a call with the error NotFound, which its document does not name"; !strings.Contains(log.Text.String(), want) {
		t.Errorf("the log does not say %q", want)
	}
}

// TestDeprecatedAction: users of a deprecated action get a warning, whatever the answer, and metrics show its use.
func TestDeprecatedAction(t *testing.T) {
	h := startActions(t, nil, map[string]*api.Action{"label": action.Writes(labelled).Ends("1.2", "1.5", "tag of roles"), "mark": action.Writes(labelled)})
	const want = "tools.example.com/v1 label of roles is deprecated in v1.2+, unavailable in v1.5+; use tag of roles"
	for _, code := range []int{201, 409} {
		answer := h.Post(ownRoles+"/a/label", `{}`)
		answer.Expect(t, code, map[int]string{409: "Conflict"}[code])
		if got := answer.Header.Get("Warning"); !strings.Contains(got, want) {
			t.Errorf("%d: the warning %q", code, got)
		}
	}
	if got := h.Post(ownRoles+"/a/mark", `{}`).Header.Get("Warning"); got != "" {
		t.Errorf("another action: the warning %q", got)
	}
	const used = `apiserver_requested_deprecated_apis{group="tools.example.com",removed_release="1.5",resource="roles",subresource="label",version="v1"} 1`
	if figures := string(h.Get("/metrics").Body); !strings.Contains(figures, used) {
		t.Errorf("the metrics lack %s", used)
	}
}

// TestOwnDeprecations: deprecations of a module begin with a release of its own, whatever that of the built-in kinds is.
func TestOwnDeprecations(t *testing.T) {
	for _, c := range []struct {
		release, since string // of the API
		warns          bool
	}{{"", "1.30", true}, {"1.9", "1.10", false}, {"2.0", "1.30", true}} {
		for path, what := range map[string]string{ownRoles: "Role", ownRoles + "/a/label": "label of roles"} {
			own := harness.ActionAPI(map[string]*api.Action{"label": action.Writes(labelled).Ends(c.since, "", "")}, nil)
			groups := own.Groups
			own.Release, own.Groups = c.release, func() []*api.GroupVersion {
				all := groups()
				if roles := &all[0].Resources[0]; path == ownRoles {
					roles.Deprecated = roles.Subresources[0].Action.Deprecated
				}
				return all
			}
			h := harness.Start(t, func(config *server.Config) { config.API = own })
			want := ""
			if c.warns {
				want = `299 - "tools.example.com/v1 ` + what + " is deprecated in v" + c.since + `+"`
			}
			if got := h.Post(path, `{"metadata":{"name":"a"}}`).Header.Get("Warning"); got != want {
				t.Errorf("%s, deprecated since %s, as %q: got %q, want %q", path, c.since, c.release, got, want)
			}
		}
	}
}
