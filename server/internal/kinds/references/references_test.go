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

// strict are references that are checked at both ends.
func strict() *api.API {
	return harness.FleetAPI(nil, harness.RefersTo("depots", "Depot", "depot", api.MissingRefused, api.DeleteRestricted),
		harness.RefersTo("yards", "Yard", "yard", api.MissingRefused, api.DeleteRestricted),
		harness.RefersTo("depots", "Depot", "soft", api.MissingWarned, api.DeleteOrphans),
		harness.RefersTo("depots", "Depot", "free", api.MissingAllowed, api.DeleteRestricted),
		harness.RefersTo("trucks", "Truck", "tows", api.MissingRefused, api.DeleteOrphans))
}

// TestReferences: a new reference to a missing object is refused, warned of or accepted, as the document says; the delete
// of an object that others refer to is refused with their names.
func TestReferences(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.API = strict() })
	for _, at := range []string{harness.Depots, harness.Yards} {
		h.Post(at, harness.Named("north", "")).Expect(t, 201, "")
	}
	wrong := h.Post(harness.Trucks, harness.Named("a", `"depot":"south","yard":"west","soft":"south","free":"south"`))
	wrong.Expect(t, 422, "Invalid")
	wrong.Has(t, `data[depot]: Not found: \"south\": there is no Depot of this name in the namespace default`)
	wrong.Has(t, `data[yard]: Not found: \"west\": there is no Yard of this name`)
	if strings.Contains(string(wrong.Body), "data[soft]") || strings.Contains(string(wrong.Body), "data[free]") {
		t.Errorf("%s", wrong.Body)
	}
	h.Post(harness.Trucks, harness.Named("a", `"depot":"a/b"`)).Expect(t, 422, "Invalid")
	made := h.Post(harness.Trucks, harness.Named("a", `"depot":"north","yard":"north","soft":"south","tows":"a"`))
	made.Expect(t, 201, "")
	if got := made.Header.Get("Warning"); !strings.Contains(got, "data[soft]") || !strings.Contains(got, "there is no Depot") {
		t.Errorf("the warning %q", got)
	}
	for i := range 7 {
		h.Post(harness.Trucks, harness.Named(fmt.Sprint("b", i), `"depot":"north"`)).Expect(t, 201, "")
	}
	kept := h.Remove(harness.Depots+"/north", "")
	kept.Expect(t, 409, "Conflict")
	kept.Has(t, `"depots.fleet.example.com \"north\" cannot be deleted while others refer to it: Truck default/a, Truck default/b0, Truck default/b1, Truck default/b2, Truck default/b3 and 3 more;`)
	h.Remove(harness.Depots+"/north?dryRun=All", "").Expect(t, 409, "Conflict")
	h.Remove(harness.Yards+"/north", "").Expect(t, 409, "Conflict")
	h.Merge(harness.Trucks+"/a", `{"data":{"depot":"south"}}`).Expect(t, 422, "Invalid")
	for i := range 7 {
		h.Remove(harness.Trucks+fmt.Sprint("/b", i), "").Expect(t, 200, "")
	}
	h.Merge(harness.Trucks+"/a", `{"data":{"depot":null,"soft":"north"}}`).Expect(t, 200, "")
	h.Remove(harness.Depots+"/north", "").Expect(t, 200, "") // soft is left alone
	h.Merge(harness.Trucks+"/a", `{"metadata":{"labels":{"a":"b"}}}`).Expect(t, 200, "")
	h.Remove(harness.Trucks+"/a", "").Expect(t, 200, "")
	h.Remove(harness.Yards+"/north", "").Expect(t, 200, "")
}

// TestReferencesToWhatEnds: an object that waits for its finalizers takes no new references, and goes when they are
// gone. In a namespace that ends everything goes.
func TestReferencesToWhatEnds(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.API, c.Controllers = strict(), []string{"namespace"}
	})
	h.Post(harness.Depots, `{"metadata":{"name":"north","finalizers":["example.com/keep"]}}`).Expect(t, 201, "")
	h.Remove(harness.Depots+"/north", "").Expect(t, 200, "")
	h.Post(harness.Trucks, harness.Named("a", `"depot":"north"`)).Has(t, "this Depot is being deleted")
	h.Post(harness.Trucks, harness.Named("a", `"free":"north"`)).Expect(t, 201, "")
	h.Merge(harness.Depots+"/north", `{"metadata":{"finalizers":null}}`).Expect(t, 200, "")
	h.Get(harness.Depots+"/north").Expect(t, 404, "NotFound")

	in := func(path string) string { return strings.Replace(path, "default", "ends", 1) }
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"ends"}}`).Expect(t, 201, "")
	h.Post(in(harness.Depots), harness.Named("north", "")).Expect(t, 201, "")
	h.Post(in(harness.Trucks), harness.Named("a", `"depot":"north"`)).Expect(t, 201, "")
	h.Remove(in(harness.Depots)+"/north", "").Expect(t, 409, "Conflict")
	h.Remove("/api/v1/namespaces/ends", "")
	h.Remove(in(harness.Depots)+"/north", "") // or the controller has removed it
	if r := h.Get(in(harness.Depots) + "/north"); r.Code != http.StatusNotFound {
		t.Errorf("%d %s", r.Code, r.Body)
	}
}

// TestManyReferences: one write may add a bounded number of references, which all are in its transaction.
func TestManyReferences(t *testing.T) {
	every := harness.RefersTo("depots", "Depot", "*", api.MissingRefused, api.DeleteRestricted)
	harness.OnEachEngine(t, func() *api.API { return harness.FleetAPI(nil, every) }, func(t *testing.T, servers []*harness.Server) {
		h, data := servers[0], ""
		for i := range 51 {
			h.Post(harness.Depots, harness.Named(fmt.Sprint("d", i), "")).Expect(t, 201, "")
			data += fmt.Sprintf(`,"f%d":"d%d"`, i, i)
		}
		h.Post(harness.Trucks, harness.Named("a", data[1:])).Has(t, "at most 50 references")
		h.Post(harness.Trucks, harness.Named("a", data[1:strings.LastIndex(data, ",")])).Expect(t, 201, "")
		servers[len(servers)-1].Remove(harness.Depots+"/d49", "").Expect(t, 409, "Conflict")
		servers[len(servers)-1].Remove(harness.Depots+"/d50", "").Expect(t, 200, "")
	})
}

// TestReferencesHold: while many writers make, move and remove trucks, and others make and remove the depots, on
// all servers, no truck ever refers to a depot that is not there.
func TestReferencesHold(t *testing.T) {
	own := func() *api.API {
		return harness.FleetAPI(nil, harness.RefersTo("depots", "Depot", "depot", api.MissingRefused, api.DeleteRestricted))
	}
	const writers, each, depots = 8, 40, 3
	harness.OnEachEngine(t, own, func(t *testing.T, servers []*harness.Server) {
		var kept, missing, made, removed atomic.Int32
		harness.AtOnce(2*writers, func(w int) {
			h := servers[w%len(servers)]
			for i := range each {
				depot, truck := fmt.Sprint("d", i%depots), harness.Trucks+fmt.Sprint("/t", w)
				var r harness.Reply
				switch {
				case w >= writers && i%2 == 0:
					r = h.Post(harness.Depots, harness.Named(depot, ""))
				case w >= writers:
					if r = h.Remove(harness.Depots+"/"+depot, ""); r.Code == http.StatusOK {
						removed.Add(1)
					} else if r.Code == http.StatusConflict && strings.Contains(string(r.Body), "refer to it") {
						kept.Add(1)
					}
				case i%4 == 3:
					r = h.Remove(truck, "")
				case i%4 == 0:
					if r = h.Post(harness.Trucks, harness.Named(fmt.Sprint("t", w), `"depot":"`+depot+`"`)); r.Code == http.StatusCreated {
						made.Add(1)
					}
				default:
					r = h.Merge(truck, `{"data":{"depot":"`+depot+`"}}`)
				}
				if r.Code == http.StatusUnprocessableEntity {
					missing.Add(1)
				}
				if r.Code >= 500 || r.Code == http.StatusConflict && strings.Contains(string(r.Body), "again and again") {
					t.Errorf("%d %s", r.Code, r.Body)
				}
			}
		})
		t.Logf("%d trucks made, %d writes refused, %d depots removed, %d kept", made.Load(), missing.Load(), removed.Load(), kept.Load())
		if made.Load() == 0 || missing.Load() == 0 || removed.Load() == 0 || kept.Load() == 0 {
			t.Error("the writers never met")
		}
		noneDangles(t, servers[0])
	})
}

// TestReferenceMeetsDelete: a depot goes on another server between the look for it and the commit of the truck that
// names it. The truck is refused.
func TestReferenceMeetsDelete(t *testing.T) {
	var all []*harness.Server
	var runs atomic.Int32
	own := func() *api.API {
		return harness.FleetAPI(&api.Hooks{Check: func(api.View, document.Value, document.Value) []api.FieldError {
			if runs.Add(1) == 1 {
				all[len(all)-1].Remove(harness.Depots+"/north", "").Expect(t, 200, "")
			}
			return nil
		}}, harness.RefersTo("depots", "Depot", "depot", api.MissingRefused, api.DeleteRestricted))
	}
	harness.OnEachEngine(t, own, func(t *testing.T, servers []*harness.Server) {
		all = servers
		runs.Store(0)
		servers[0].Post(harness.Depots, harness.Named("north", "")).Expect(t, 201, "")
		servers[0].Post(harness.Trucks, harness.Named("a", `"depot":"north"`)).Has(t, "there is no Depot of this name")
		servers[0].Get(harness.Trucks+"/a").Expect(t, 404, "NotFound")
		if runs.Load() == 0 {
			t.Error("the hook never ran, so nothing came between")
		}
	})
}

// noneDangles follows the history of the fleet, and fails at each state in which a truck refers to a missing depot.
func noneDangles(t *testing.T, h *harness.Server) {
	t.Helper()
	there, depots, changes := map[string]bool{}, map[string]string{}, 0 // depots by the trucks that refer to them
	s := h.Running.Store
	_, err := s.Changes(t.Context(), prefix, s.Oldest(), func(c *store.Change) bool {
		changes++
		key := strings.Clone(c.Entry.Key)
		if name, is := strings.CutPrefix(key, prefix+"depots/default/"); is {
			there[name] = c.Op != store.OpDelete
		} else if delete(depots, key); c.Op != store.OpDelete {
			name, _ := document.Find(c.Entry.Body, "data", "depot")
			depots[key] = strings.Trim(string(name), `"`)
		}
		for truck, depot := range depots {
			if depot != "" && !there[depot] {
				t.Errorf("at %d %s refers to %s, which is not there", c.Entry.Revision, truck, depot)
				return false
			}
		}
		return true
	})
	if err != nil || changes < 20 {
		t.Errorf("%d changes are known: %v", changes, err)
	}
}
