package objects_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	hook "github.com/capstan-dev/capstan/object"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// deleting is the hooks of a kind with a hook about deletes as modules write it.
func deleting(check func(view *hook.View, obj hook.Value) []hook.Cause) *api.Hooks {
	return &api.Hooks{CheckDelete: hook.CheckDeleteIn(check)}
}

// lastOfDepot keeps the last truck of a depot, and those that are on the road.
func lastOfDepot(view *hook.View, obj hook.Value) (causes []hook.Cause) {
	if obj.At("data", "state").Text() == "road" {
		causes = append(causes, hook.Forbidden("data.state", "it is on the road"))
	}
	depot := obj.At("data", "depot").Text()
	if depot != "" && len(view.List("Truck", obj.At("metadata", "namespace").Text(), hook.Where{Fields: "data.depot=" + depot})) < 2 {
		causes = append(causes, hook.Forbidden("data.depot", "it is the last one there"))
	}
	return causes
}

// TestCheckDelete: a hook refuses deletes with its causes: of one object, in a dry run, and of a collection, whose other objects go.
// An object that is being deleted is not asked about again, and in a namespace that ends everything goes.
func TestCheckDelete(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.API, c.Controllers = harness.FleetAPI(deleting(lastOfDepot)), []string{"namespace"}
	})
	for _, truck := range []string{`a "state":"road","depot":"x"`, `b `, `c "state":"road"`, `d `} {
		name, data, _ := strings.Cut(truck, " ")
		h.Post(harness.Trucks, harness.Named(name, data)).Expect(t, 201, "")
	}
	for _, query := range []string{"", "?dryRun=All"} {
		kept := h.Remove(harness.Trucks+"/a"+query, "")
		kept.Expect(t, 409, "Conflict")
		kept.Has(t, `"trucks.fleet.example.com \"a\" cannot be deleted: [data.state: Forbidden: it is on the road, data.depot: Forbidden: it is the last one there]"`)
		if kept.CauseOf(t) != "data.state" || kept.Field(t, "details.kind") != "trucks" {
			t.Errorf("%s", kept.Body)
		}
	}
	for _, query := range []string{"?dryRun=All", ""} {
		h.Get(harness.Trucks+"/d").Expect(t, 200, "") // the dry run has removed nothing
		kept := h.Remove(harness.Trucks+query, "")
		kept.Expect(t, 409, "Conflict")
		kept.Has(t, `"trucks.fleet.example.com \"a\" cannot be deleted`)
	}
	h.Get(harness.Trucks+"/a").Expect(t, 200, "")
	h.Get(harness.Trucks+"/c").Expect(t, 200, "")
	for _, gone := range []string{"b", "d"} {
		h.Get(harness.Trucks+"/"+gone).Expect(t, 404, "NotFound")
	}
	h.Merge(harness.Trucks+"/c", `{"metadata":{"finalizers":["example.com/wait"]},"data":{"state":"home"}}`).Expect(t, 200, "")
	h.Remove(harness.Trucks+"/c", "").Expect(t, 200, "")
	h.Merge(harness.Trucks+"/c", `{"data":{"state":"road"}}`).Expect(t, 200, "")
	h.Remove(harness.Trucks+"/c", "").Expect(t, 200, "")
	h.Merge(harness.Trucks+"/c", `{"metadata":{"finalizers":null}}`).Expect(t, 200, "")
	h.Get(harness.Trucks+"/c").Expect(t, 404, "NotFound")

	in := strings.Replace(harness.Trucks, "default", "ends", 1)
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"ends"}}`).Expect(t, 201, "")
	h.Post(in, harness.Named("a", `"state":"road"`)).Expect(t, 201, "")
	h.Remove(in+"/a", "").Expect(t, 409, "Conflict")
	h.Remove("/api/v1/namespaces/ends", "").Expect(t, 200, "")
	h.AwaitCode("/api/v1/namespaces/ends", 404)
}

// TestCheckDeleteHoldsARule: of many deletes at once, on all servers, as many succeed as the rule over the rest allows.
func TestCheckDeleteHoldsARule(t *testing.T) {
	harness.OnEachEngine(t, func() *api.API { return harness.FleetAPI(deleting(lastOfDepot)) }, func(t *testing.T, servers []*harness.Server) {
		var gone, kept atomic.Int32
		for i := range 20 {
			servers[0].Post(harness.Trucks, harness.Named(fmt.Sprint("t", i), fmt.Sprintf(`"depot":"d%d"`, i%2))).Expect(t, 201, "")
		}
		harness.AtOnce(20, func(i int) {
			switch r := servers[i%len(servers)].Remove(harness.Trucks+fmt.Sprint("/t", i), ""); {
			case r.Code == http.StatusOK:
				gone.Add(1)
			case r.Code == http.StatusConflict && strings.Contains(string(r.Body), "it is the last one there"):
				kept.Add(1)
			default:
				t.Errorf("%d %s", r.Code, r.Body)
			}
		})
		if gone.Load() != 18 || kept.Load() != 2 {
			t.Errorf("%d have gone, %d were kept", gone.Load(), kept.Load())
		}
	})
}

// TestCheckDeleteAndCollector: the collector does not remove what a hook keeps, and does when the hook lets it go.
func TestCheckDeleteAndCollector(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.API = harness.FleetAPI(deleting(lastOfDepot), harness.RefersTo("depots", "Depot", "home", api.MissingRefused, api.DeleteCascades))
		c.Controllers = []string{"garbagecollector"}
	})
	h.Post(harness.Depots, harness.Named("north", "")).Expect(t, 201, "")
	for _, truck := range []string{`a "home":"north","state":"road"`, `b "home":"north"`} {
		name, data, _ := strings.Cut(truck, " ")
		h.Post(harness.Trucks, harness.Named(name, data)).Expect(t, 201, "")
	}
	h.Remove(harness.Depots+"/north", "").Expect(t, 200, "")
	h.AwaitCode(harness.Trucks+"/b", 404)
	h.Get(harness.Trucks+"/a").Expect(t, 200, "")
	h.Merge(harness.Trucks+"/a", `{"data":{"state":"home"}}`).Expect(t, 200, "")
	h.AwaitCode(harness.Trucks+"/a", 404)
}

// TestCheckDeleteIsBounded: a hook that panics, asks for too much, or reads until its request ends keeps the object, and the server
// serves on. What it read and another write changes makes it run again.
func TestCheckDeleteIsBounded(t *testing.T) {
	var h *harness.Server
	var runs atomic.Int32
	h = harness.Start(t, func(c *server.Config) {
		c.RequestTimeout = time.Second
		c.API = harness.FleetAPI(deleting(func(view *hook.View, obj hook.Value) []hook.Cause {
			switch obj.At("metadata", "name").Text() {
			case "panics":
				panic(errors.New("on purpose"))
			case "asks":
				for i := range 60 {
					view.Get("Depot", "default", fmt.Sprint("d", i))
				}
			case "waits":
				for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && view.Get("Depot", "default", "d").Exists(); {
				}
			case "meets":
				locked := view.Get("Depot", "default", "d").At("data", "locked").Exists()
				if runs.Add(1) == 1 {
					h.Merge(harness.Depots+"/d", `{"data":{"locked":"yes"}}`).Expect(t, 200, "")
				}
				if locked {
					return []hook.Cause{hook.Forbidden("data.depot", "it is locked")}
				}
			}
			return nil
		}))
	})
	h.Post(harness.Depots, harness.Named("d", "")).Expect(t, 201, "")
	for name, want := range map[string]string{"panics": "", "asks": "the hook checkDelete of trucks.fleet.example.com fails: it gets more than 50 objects", "waits": "", "meets": "it is locked"} {
		h.Post(harness.Trucks, harness.Named(name, "")).Expect(t, 201, "")
		if r := h.Remove(harness.Trucks+"/"+name, ""); r.Code < 400 || !strings.Contains(string(r.Body), want) {
			t.Errorf("%s: %d %s", name, r.Code, r.Body)
		}
		h.Get(harness.Trucks+"/"+name).Expect(t, 200, "")
	}
	if runs.Load() < 2 {
		t.Errorf("the hook ran %d times", runs.Load())
	}
}
