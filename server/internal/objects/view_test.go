package objects_test

import (
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

// checking is the hooks of a kind with a check hook as modules write it.
func checking(check func(view *hook.View, obj, old hook.Value) []hook.Cause) *api.Hooks {
	return &api.Hooks{Check: hook.CheckIn(check)}
}

const mostTrucks = 3

// fewTrucks is a rule over several objects: a depot has at most three trucks.
func fewTrucks(view *hook.View, obj, old hook.Value) []hook.Cause {
	depot := obj.At("data", "depot")
	if depot.Same(old.At("data", "depot")) {
		return nil
	}
	same := view.List("Truck", obj.At("metadata", "namespace").Text(), hook.Where{Fields: "data.depot=" + depot.Text()})
	if len(same) >= mostTrucks {
		return []hook.Cause{hook.Invalid("data.depot", depot, fmt.Sprintf("it has %d trucks already", len(same)))}
	}
	return nil
}

// TestViewHoldsARuleOverObjects: of many creates and moves at once, on all servers, as many succeed as the rule
// allows.
func TestViewHoldsARuleOverObjects(t *testing.T) {
	harness.OnEachEngine(t, func() *api.API { return harness.FleetAPI(checking(fewTrucks)) }, func(t *testing.T, servers []*harness.Server) {
		var made, moved, refused atomic.Int32
		for i := range 3 {
			servers[0].Post(harness.Trucks, harness.Named(fmt.Sprint("idle", i), "")).Expect(t, 201, "")
		}
		harness.AtOnce(24, func(i int) {
			depot := fmt.Sprint("d", i%2)
			r := servers[i%len(servers)].Post(harness.Trucks, harness.Named(fmt.Sprint("t", i), `"depot":"`+depot+`"`))
			switch {
			case r.Code == http.StatusCreated:
				made.Add(1)
			case r.Code == http.StatusUnprocessableEntity && strings.Contains(string(r.Body), "it has 3 trucks already"):
				refused.Add(1)
			default:
				t.Errorf("%d %s", r.Code, r.Body)
			}
		})
		harness.AtOnce(3, func(i int) {
			if servers[i%len(servers)].Merge(harness.Trucks+fmt.Sprint("/idle", i), `{"data":{"depot":"d0"}}`).Code == http.StatusOK {
				moved.Add(1)
			}
		})
		if made.Load() != 2*mostTrucks || moved.Load() != 0 || refused.Load() != 24-2*mostTrucks {
			t.Errorf("%d made, %d moved, %d refused", made.Load(), moved.Load(), refused.Load())
		}
		// A truck that goes frees its place.
		list := servers[0].Get(harness.Trucks + "?fieldSelector=data.depot%3Dd1")
		gone, _ := list.Field(t, "items.0.metadata.name").(string)
		servers[len(servers)-1].Remove(harness.Trucks+"/"+gone, "").Expect(t, 200, "")
		servers[0].Merge(harness.Trucks+"/idle0", `{"data":{"depot":"d1"}}`).Expect(t, 200, "")
		servers[0].Merge(harness.Trucks+"/idle1", `{"data":{"depot":"d1"}}`).Expect(t, 422, "Invalid")
	})
}

// TestViewNoticesWhatChanged: what a hook has read, and another write changes before the commit, makes the hook run
// again: an object that it got, one that it missed, and members of a list that come, go and change.
func TestViewNoticesWhatChanged(t *testing.T) {
	for _, c := range []struct {
		what   string
		before string // sent first, "METHOD path body"
		read   func(view *hook.View) string
		then   string
		want   string // what the hook reads last
	}{
		{"an object is changed", "POST " + harness.Depots + " " + harness.Named("d", `"x":"1"`),
			func(v *hook.View) string { return v.Get("Depot", "default", "d").At("data", "x").Text() },
			"PATCH " + harness.Depots + `/d {"data":{"x":"2"}}`, "2"},
		{"an object goes", "POST " + harness.Depots + " " + harness.Named("d", `"x":"1"`),
			func(v *hook.View) string { return fmt.Sprint(v.Get("Depot", "default", "d").Exists()) }, "DELETE " + harness.Depots + "/d ", "false"},
		{"an object comes", "", func(v *hook.View) string { return fmt.Sprint(v.Get("Depot", "default", "d").Exists()) },
			"POST " + harness.Depots + " " + harness.Named("d", ""), "true"},
		{"a built-in object comes", "", func(v *hook.View) string { return fmt.Sprint(v.Get("ConfigMap", "default", "d").Exists()) },
			"POST " + harness.ConfigMaps + " " + harness.Named("d", ""), "true"},
		{"a member of a list comes", "", listed, "POST " + harness.Trucks + " " + harness.Named("other", `"depot":"n"`), "other"},
		{"a member of a list goes", "POST " + harness.Trucks + " " + harness.Named("other", `"depot":"n"`), listed, "DELETE " + harness.Trucks + "/other ", ""},
		{"a member is chosen no more", "POST " + harness.Trucks + " " + harness.Named("other", `"depot":"n"`), listed,
			"PATCH " + harness.Trucks + `/other {"data":{"depot":"m"}}`, ""},
		{"one becomes a member", "POST " + harness.Trucks + " " + harness.Named("other", ""), listed, "PATCH " + harness.Trucks + `/other {"data":{"depot":"n"}}`, "other"},
		{"in all namespaces", "", func(v *hook.View) string { return namesOf(v.List("Truck", "", hook.Where{})) },
			"POST " + strings.Replace(harness.Trucks, "default", "kube-system", 1) + " " + harness.Named("other", ""), "other"},
	} {
		t.Run(c.what, func(t *testing.T) {
			var h *harness.Server
			var runs atomic.Int32
			var last atomic.Value
			h = harness.Start(t, func(cfg *server.Config) {
				cfg.API = harness.FleetAPI(checking(func(view *hook.View, obj, _ hook.Value) []hook.Cause {
					if obj.At("metadata", "name").Text() != "subject" {
						return nil
					}
					last.Store(c.read(view))
					if runs.Add(1) == 1 {
						request(h, c.then)
					}
					return nil
				}))
			})
			if c.before != "" {
				request(h, c.before)
			}
			h.Post(harness.Trucks, harness.Named("subject", "")).Expect(t, 201, "")
			if runs.Load() < 2 || last.Load() != c.want {
				t.Errorf("the hook ran %d times and read %q last, want %q", runs.Load(), last.Load(), c.want)
			}
		})
	}
}

func listed(v *hook.View) string {
	return namesOf(v.List("Truck", "default", hook.Where{Fields: "data.depot=n"}))
}

func namesOf(all []hook.Value) string {
	var list []string
	for _, obj := range all {
		list = append(list, obj.At("metadata", "name").Text())
	}
	return strings.Join(list, " ")
}

// request sends "METHOD path body", which has to succeed.
func request(h *harness.Server, text string) {
	method, rest, _ := strings.Cut(text, " ")
	path, body, _ := strings.Cut(rest, " ")
	media := "application/json"
	if method == "PATCH" {
		media = harness.MergePatchMedia
	}
	if r := h.Send(method, path, media, []byte(body)); r.Code >= 300 {
		h.T.Errorf("%s: %d %s", text, r.Code, r.Body)
	}
}

// TestViewIsBounded: a hook that asks for everything, for what the document does not name, or when its request has ended
// gets nothing, and the write ends with an error that says so.
func TestViewIsBounded(t *testing.T) {
	asks := map[string]func(view *hook.View){
		"more than 50 objects by their names": func(v *hook.View) {
			for i := range 60 {
				v.Get("Depot", "default", fmt.Sprint("d", i))
			}
		},
		"more than 16 MiB": func(v *hook.View) { // the same objects again and again
			for range 40 {
				v.List("Depot", "default", hook.Where{Labels: "big"})
			}
		},
		"more than 1000 objects": func(v *hook.View) {
			for range 600 {
				v.List("Depot", "default", hook.Where{Labels: "small"})
			}
		},
		"add that to reads":   func(v *hook.View) { v.Get("Pod", "default", "p") },
		"of another API":      func(v *hook.View) { v.List("ConfigMap", "default", hook.Where{}) },
		"not supported":       func(v *hook.View) { v.List("Truck", "default", hook.Where{Fields: "spec.unknown=1"}) },
		"unable to parse req": func(v *hook.View) { v.List("Truck", "default", hook.Where{Labels: "a in ("}) },
	}
	var kept *hook.View
	h := harness.Start(t, func(c *server.Config) {
		c.RequestTimeout = time.Second
		c.API = harness.FleetAPI(checking(func(view *hook.View, obj, _ hook.Value) []hook.Cause {
			switch say := obj.At("data", "ask").Text(); say {
			case "wait":
				for until := time.Now().Add(10 * time.Second); time.Now().Before(until) && view.Get("Depot", "default", "big").Exists(); {
				}
			case "panic":
				panic("on purpose")
			case "":
			default:
				asks[say](view)
				if obj := view.Get("Depot", "default", "big"); obj.Exists() {
					t.Errorf("%s: the view goes on after it has failed", say)
				}
			}
			kept = view
			return nil
		}))
	})
	big := strings.Repeat("x", 900<<10)
	h.Post(harness.Depots, `{"metadata":{"name":"big","labels":{"big":""}},"data":{"x":"`+big+`"}}`).Expect(t, 201, "")
	for i := range 2 {
		h.Post(harness.Depots, fmt.Sprintf(`{"metadata":{"name":"s%d","labels":{"small":""}}}`, i)).Expect(t, 201, "")
	}
	for say := range asks {
		r := h.Post(harness.Trucks, harness.Named("a", fmt.Sprintf(`"ask":%q`, say)))
		r.Expect(t, 500, "InternalError")
		r.Has(t, "the hook check of trucks.fleet.example.com fails: ")
		r.Has(t, say)
	}
	if r := h.Post(harness.Trucks, harness.Named("a", `"ask":"wait"`)); r.Code != 504 && r.Code != 500 {
		t.Errorf("a hook that reads until the request ends: %d %s", r.Code, r.Body)
	}
	h.Post(harness.Trucks, harness.Named("a", `"ask":"panic"`)).Expect(t, 500, "")
	h.Get(harness.Trucks+"/a").Expect(t, 404, "NotFound")
	h.Post(harness.Trucks, harness.Named("a", "")).Expect(t, 201, "")
	if kept.Get("Depot", "default", "big").Exists() {
		t.Error("a view shows objects after its hook has returned")
	}
}

// TestViewForgives: a mistake that the object had before the rule, and that an update does not touch, stays; a dry run is
// checked, too.
func TestViewForgives(t *testing.T) {
	var on atomic.Bool
	h := harness.Start(t, func(c *server.Config) {
		c.API = harness.FleetAPI(checking(func(view *hook.View, obj, _ hook.Value) []hook.Cause {
			if name := obj.At("data", "depot"); on.Load() && !view.Get("Depot", "default", name.Text()).Exists() {
				return []hook.Cause{hook.Invalid("data.depot", name, "there is none")}
			}
			return nil
		}))
	})
	h.Post(harness.Trucks, harness.Named("a", `"depot":"x"`)).Expect(t, 201, "")
	on.Store(true)
	h.Merge(harness.Trucks+"/a", `{"metadata":{"labels":{"a":"b"}}}`).Expect(t, 200, "")
	h.Merge(harness.Trucks+"/a", `{"data":{"depot":"y"}}`).Expect(t, 422, "Invalid")
	h.Post(harness.Trucks+"?dryRun=All", harness.Named("b", `"depot":"x"`)).Expect(t, 422, "Invalid")
}
