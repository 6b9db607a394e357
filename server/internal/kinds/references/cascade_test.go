package references_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// cascading are references whose objects take along what names them.
func cascading() *api.API {
	return harness.FleetAPI(nil, harness.RefersTo("depots", "Depot", "depot", api.MissingRefused, api.DeleteCascades),
		harness.RefersTo("depots", "Depot", "spare", api.MissingAllowed, api.DeleteCascades),
		harness.RefersTo("yards", "Yard", "yard", api.MissingRefused, api.DeleteCascades),
		harness.RefersTo("trucks", "Truck", "tows", api.MissingRefused, api.DeleteCascades))
}

// startCascading starts a server with the collector, two depots and a yard.
func startCascading(t *testing.T) (h *harness.Server, uidOf func(path string) string) {
	h = harness.Start(t, func(c *server.Config) {
		c.API, c.Controllers = cascading(), []string{"garbagecollector"}
	})
	for _, path := range []string{harness.Depots + "/north", harness.Depots + "/south", harness.Yards + "/west"} {
		slash := strings.LastIndexByte(path, '/')
		h.Post(path[:slash], harness.Named(path[slash+1:], "")).Expect(t, 201, "")
	}
	return h, func(path string) string { return fmt.Sprint(h.Get(path).Field(t, "metadata.uid")) }
}

// owned are the owners of a truck by their names, each with a mark for one with a controller.
func owned(t *testing.T, h *harness.Server, truck string) string {
	t.Helper()
	r := h.Get(harness.Trucks + "/" + truck)
	r.Expect(t, 200, "")
	return ownersIn(r.Body)
}

func ownersIn(truck []byte) string {
	doc, err := document.DecodeAny(truck, document.Limits{})
	if err != nil {
		return err.Error()
	}
	defer doc.Release()
	var all []string
	for _, o := range doc.Root().At("metadata", "ownerReferences").Elements() {
		name := o.Get("name").Text()
		if o.Get("controller").Bool() {
			name += "!"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// TestCascade: owner references are in step with what an object names, whoever writes it and however; those of others stay.
func TestCascade(t *testing.T) {
	h, uid := startCascading(t)
	h.Post(harness.Trucks, harness.Named("bad", `"depot":"east"`)).Expect(t, 422, "Invalid")
	made := h.Post(harness.Trucks, harness.Named("a", `"depot":"north","yard":"west","spare":"east","tows":"a"`))
	made.Expect(t, 201, "")
	made.Has(t, `"ownerReferences":[{"apiVersion":"fleet.example.com/v1","kind":"Depot","name":"north","uid":"`+uid(harness.Depots+"/north")+`","blockOwnerDeletion":true},`+
		`{"apiVersion":"fleet.example.com/v1","kind":"Yard","name":"west","uid":"`+uid(harness.Yards+"/west")+`","blockOwnerDeletion":true}]`)
	if strings.Contains(string(made.Body), "f:ownerReferences") {
		t.Errorf("the entries have a manager: %s", made.Body)
	}
	h.Post(harness.Trucks+"?dryRun=All", harness.Named("b", `"depot":"north"`)).Has(t, `"ownerReferences":[{`)

	mine := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","name":"mine","uid":%q}`, h.Post(harness.ConfigMaps, harness.Named("mine", "")).Field(t, "metadata.uid"))
	steps := []struct{ what, media, body, want string }{
		{"another depot", harness.MergePatchMedia, `{"data":{"depot":"south"}}`, "west south"},
		{"two fields name it", harness.MergePatchMedia, `{"data":{"spare":"south"}}`, "west south"},
		{"one of them moves", harness.MergePatchMedia, `{"data":{"spare":"north"}}`, "west south north"},
		{"they change places", harness.MergePatchMedia, `{"data":{"spare":"south","depot":"north"}}`, "west south north"},
		{"a name goes", harness.MergePatchMedia, `{"data":{"yard":null,"spare":null}}`, "north"},
		{"the entry is removed", harness.MergePatchMedia, `{"metadata":{"ownerReferences":null}}`, "north"},
		{"one of another author", harness.MergePatchMedia, `{"metadata":{"ownerReferences":[` + mine + `]}}`, "mine north"},
		{"an apply by one who owns none", harness.ApplyMedia, `{"apiVersion":"fleet.example.com/v1","kind":"Truck","metadata":{"name":"a"},"data":{"yard":"west"}}`, "mine north west"},
		{"another apply of him", harness.ApplyMedia, `{"apiVersion":"fleet.example.com/v1","kind":"Truck","metadata":{"name":"a"},"data":{"spare":"south"}}`, "mine north south"},
	}
	for _, s := range steps {
		query := ""
		if s.media == harness.ApplyMedia {
			query = "?fieldManager=applier"
		}
		h.Send(http.MethodPatch, harness.Trucks+"/a"+query, s.media, []byte(s.body)).Expect(t, 200, "")
		if got := owned(t, h, "a"); got != s.want {
			t.Errorf("%s: owned by %q, want %q", s.what, got, s.want)
		}
	}
	h.Merge(harness.Trucks+"/a", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"fleet.example.com/v1","kind":"Depot","name":"north","uid":%q,"controller":true}]}}`,
		uid(harness.Depots+"/north"))).Expect(t, 200, "")
	h.Merge(harness.Trucks+"/a", `{"data":{"depot":null,"spare":null}}`).Expect(t, 200, "")
	if got := owned(t, h, "a"); got != "north!" {
		t.Errorf("owned by %q", got)
	}
	before := h.Get(harness.Trucks + "/a")
	if put := h.Send(http.MethodPut, harness.Trucks+"/a", "application/json", before.Body); put.Code != 200 || put.Field(t, "metadata.resourceVersion") != before.Field(t, "metadata.resourceVersion") {
		t.Errorf("a write that changes nothing: %d %s", put.Code, put.Body)
	}
}

// TestCascadeComesLater: an object that may be missing owns with the next write after it has come. One that has come again under the
// same name does not own what the collector is about to remove, but what names it from then on.
func TestCascadeComesLater(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.API = cascading() }) // without a collector
	h.Post(harness.Trucks, harness.Named("a", `"spare":"north"`)).Expect(t, 201, "")
	h.Post(harness.Depots, harness.Named("north", "")).Expect(t, 201, "")
	if got := owned(t, h, "a"); got != "" {
		t.Errorf("owned by %q", got)
	}
	h.Merge(harness.Trucks+"/a", `{"metadata":{"labels":{"a":"b"}}}`).Has(t, `"name":"north"`)
	first := h.Get(harness.Trucks+"/a").Field(t, "metadata.ownerReferences.0.uid")
	h.Remove(harness.Depots+"/north", "").Expect(t, 200, "")
	h.Post(harness.Depots, harness.Named("north", "")).Expect(t, 201, "")
	h.Merge(harness.Trucks+"/a", `{"metadata":{"labels":{"a":"c"}}}`).Expect(t, 200, "")
	if second := h.Get(harness.Trucks+"/a").Field(t, "metadata.ownerReferences.0.uid"); second != first {
		t.Errorf("the owner was %v and is %v", first, second)
	}
	h.Merge(harness.Trucks+"/a", `{"data":{"spare":null,"depot":"north"}}`).Expect(t, 200, "")
	h.Merge(harness.Trucks+"/a", `{"data":{"depot":null}}`).Expect(t, 200, "")
	h.Merge(harness.Trucks+"/a", `{"data":{"depot":"north"}}`).Expect(t, 200, "")
	if second := h.Get(harness.Trucks+"/a").Field(t, "metadata.ownerReferences.0.uid"); second == first || owned(t, h, "a") != "north" {
		t.Errorf("the owner was %v and is %v", first, second)
	}
}

// TestCascadeDeletes: the policies of a delete mean what they mean for owners.
func TestCascadeDeletes(t *testing.T) {
	h, _ := startCascading(t)
	for _, truck := range []string{`a "depot":"north"`, `b "depot":"north","spare":"south"`, `c "depot":"north","yard":"west"`, `d "depot":"south"`, `e "tows":"d"`, `f "yard":"west"`} {
		name, data, _ := strings.Cut(truck, " ")
		h.Post(harness.Trucks, harness.Named(name, data)).Expect(t, 201, "")
	}
	h.Merge(harness.Trucks+"/d", `{"data":{"tows":"e"}}`).Expect(t, 200, "") // d and e name each other
	h.Remove(harness.Depots+"/north", `{"propagationPolicy":"Background"}`).Expect(t, 200, "")
	h.AwaitCode(harness.Trucks+"/a", 404)
	h.AwaitText(harness.Trucks+"/b", `"ownerReferences":[{"apiVersion":"fleet.example.com/v1","kind":"Depot","name":"south"`)

	h.Merge(harness.Trucks+"/f", `{"metadata":{"finalizers":["example.com/keep"]}}`).Expect(t, 200, "")
	h.Remove(harness.Yards+"/west", `{"propagationPolicy":"Foreground"}`).Expect(t, 200, "")
	h.AwaitCode(harness.Trucks+"/c", 404) // its depot has gone before
	h.AwaitText(harness.Trucks+"/f", "deletionTimestamp")
	h.Get(harness.Yards+"/west").Has(t, "foregroundDeletion")
	h.Merge(harness.Trucks+"/f", `{"metadata":{"finalizers":null}}`).Expect(t, 200, "")
	h.AwaitCode(harness.Yards+"/west", 404)

	h.Remove(harness.Depots+"/south", `{"propagationPolicy":"Orphan"}`).Expect(t, 200, "")
	h.AwaitCode(harness.Depots+"/south", 404)
	for truck, want := range map[string]string{"b": "", "d": "e"} {
		if got := owned(t, h, truck); got != want {
			t.Errorf("%s: owned by %q, want %q", truck, got, want)
		}
	}
	h.Get(harness.Trucks+"/d").Has(t, `"depot":"south"`)
	h.Remove(harness.Trucks+"/d", `{"propagationPolicy":"Foreground"}`).Expect(t, 200, "")
	h.AwaitCode(harness.Trucks+"/d", 404)
	h.AwaitCode(harness.Trucks+"/e", 404)
	h.Get(harness.Trucks+"/b").Expect(t, 200, "")
}

// TestCascadeRights: with the plug-in about owners, who names an object needs no right to hold up its end, and who may not delete
// an object may not tie it to another one.
func TestCascadeRights(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.API, c.EnableAdmissionPlugins = cascading(), []string{"OwnerReferencesPermissionEnforcement"}
	})
	h.Post(harness.Depots, harness.Named("north", "")).Expect(t, 201, "")
	role := harness.RoleOf("drives", `{"apiGroups":["fleet.example.com"],"resources":["trucks"],"verbs":["create","update","patch"]}`)
	h.Post(harness.RBACGroup+"clusterroles", role).Expect(t, 201, "")
	h.Post(harness.RBACGroup+"clusterrolebindings", harness.BindingOf("drives", "ClusterRole", "drives", harness.ToBob)).Expect(t, 201, "")
	bob := []string{"Authorization", "Bearer bob-token"}
	h.Send(http.MethodPost, harness.Trucks, "application/json", []byte(harness.Named("a", `"depot":"north"`)), bob...).Expect(t, 201, "")
	h.Send(http.MethodPatch, harness.Trucks+"/a", harness.MergePatchMedia, []byte(`{"data":{"x":"y"}}`), bob...).Expect(t, 200, "")
	h.Send(http.MethodPatch, harness.Trucks+"/a", harness.MergePatchMedia, []byte(`{"data":{"depot":null}}`), bob...).Has(t, "cannot set an ownerRef on a resource you can't delete")
	h.Send(http.MethodPost, harness.Trucks, "application/json", []byte(`{"metadata":{"name":"b","ownerReferences":[{"apiVersion":"fleet.example.com/v1","kind":"Depot","name":"north","uid":"u","blockOwnerDeletion":true}]}}`),
		bob...).Has(t, "cannot set blockOwnerDeletion")
}

// TestCascadeHolds: while many writers make, move and remove trucks, and others make and remove the depots, on all servers, no
// truck names a missing depot when it is written, and none outlives its depot when the collector has settled.
func TestCascadeHolds(t *testing.T) {
	own := func() *api.API {
		return harness.FleetAPI(nil, harness.RefersTo("depots", "Depot", "depot", api.MissingRefused, api.DeleteCascades))
	}
	const writers, each, depots = 6, 24, 3
	harness.OnEachEngine(t, own, func(t *testing.T, servers []*harness.Server) {
		var made, missing, removed atomic.Int32
		harness.AtOnce(2*writers, func(w int) {
			h := servers[w%len(servers)]
			for i := range each {
				depot, truck := fmt.Sprint("d", (w+i)%depots), fmt.Sprintf("t%d-%d", w, i/4)
				var r harness.Reply
				switch {
				case w >= writers && i%4 == 3:
					if r = h.Remove(harness.Depots+"/"+depot, []string{"", `{"propagationPolicy":"Foreground"}`}[w%2]); r.Code == http.StatusOK {
						removed.Add(1)
					}
				case w >= writers:
					r = h.Post(harness.Depots, harness.Named(depot, ""))
				case i%4 == 0:
					if r = h.Post(harness.Trucks, harness.Named(truck, `"depot":"`+depot+`"`)); r.Code == http.StatusCreated {
						made.Add(1)
					}
				default:
					r = h.Merge(harness.Trucks+"/"+truck, `{"data":{"depot":"`+depot+`"}}`)
				}
				if r.Code == http.StatusUnprocessableEntity {
					missing.Add(1)
				}
				if r.Code >= 500 || r.Code == http.StatusConflict && strings.Contains(string(r.Body), "again and again") {
					t.Errorf("%d %s", r.Code, r.Body)
				}
			}
		})
		t.Logf("%d trucks made, %d writes refused, %d depots removed", made.Load(), missing.Load(), removed.Load())
		if made.Load() == 0 || missing.Load() == 0 || removed.Load() == 0 {
			t.Error("the writers never met")
		}
		noneOutlives(t, servers[0])
		ownersAreNamed(t, servers[0], int(made.Load()))
	}, "garbagecollector")
}

// noneOutlives waits until the depots of all trucks are there.
func noneOutlives(t *testing.T, h *harness.Server) {
	t.Helper()
	there := map[any]bool{}
	depots := h.Await(harness.Depots, func(all harness.Contents) bool {
		for name := range all {
			if all.In(name, "metadata.deletionTimestamp") != nil {
				return false
			}
		}
		return true
	})
	for name := range depots {
		there[depots.In(name, "metadata.uid")] = true
	}
	h.Await(harness.Trucks, func(all harness.Contents) bool {
		for name := range all {
			owners, _ := all.In(name, "metadata.ownerReferences").([]any)
			if len(owners) != 1 || !there[owners[0].(map[string]any)["uid"]] {
				return false
			}
		}
		return true
	})
}

// ownersAreNamed follows the history of the fleet, and fails at each write of a truck whose owners are not the depot that it
// names. The history has at least the trucks that were made.
func ownersAreNamed(t *testing.T, h *harness.Server, made int) {
	t.Helper()
	s, trucks := h.Running.Store, 0
	_, err := s.Changes(t.Context(), "fleet.example.com/trucks/", s.Oldest(), func(c *store.Change) bool {
		if c.Op == store.OpDelete {
			return true
		}
		trucks++
		name, _ := document.Find(c.Entry.Body, "data", "depot")
		if got, want := ownersIn(c.Entry.Body), strings.Trim(string(name), `"`); got != want {
			t.Errorf("at %d %s names %s and is owned by %q", c.Entry.Revision, c.Entry.Key, want, got)
			return false
		}
		return true
	})
	if err != nil || trucks < made {
		t.Errorf("%d changes are known: %v", trucks, err)
	}
}
