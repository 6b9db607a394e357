package objects_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

var operations = map[admission.Operation]string{admission.Create: "create", admission.Update: "update", admission.Delete: "delete"}

// TestAdmissionSeesEveryWrite: every write passes admission, with the user, the new
// object if any, and the true old one.
func TestAdmissionSeesEveryWrite(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	h := harness.Start(t, func(c *server.Config) {
		harness.EvaluatedOnce(c)
		harness.LookOn(c, harness.Onlooker{Checking: func(r *admission.Request) error {
			text := operations[r.Operation] + " " + strings.TrimSuffix(r.Resource.Plural+"/"+r.Subresource, "/")
			if r.User != nil {
				text += " by " + r.User.Name
			}
			for what, obj := range map[string]string{" new ": r.Object.Get("kind").Text(), " old ": r.Old.Get("kind").Text()} {
				if obj != "" && what == " new " {
					text += what + obj
				}
			}
			if kind := r.Old.Get("kind").Text(); kind != "" {
				text += " old " + kind + " " + r.Old.At("metadata", "name").Text()
			}
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, text)
			return nil
		}})
	})
	const deployments = "/apis/apps/v1/namespaces/default/deployments"
	const pods = "/api/v1/namespaces/default/pods"
	const deployment = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
	const merge = "application/merge-patch+json"
	for _, c := range []struct{ method, path, media, body, want string }{
		{"POST", deployments, "application/json", deployment, "create deployments by admin new Deployment"},
		{"PUT", deployments + "/d", "application/json", strings.Replace(deployment, `"spec":{`, `"spec":{"paused":true,`, 1), "update deployments by admin new Deployment old Deployment d"},
		{"PATCH", deployments + "/d", merge, `{"spec":{"replicas":2}}`, "update deployments by admin new Deployment old Deployment d"},
		{"PATCH", deployments + "/d?fieldManager=f", "application/apply-patch+yaml", `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"x":"y"}}}`, "update deployments by admin new Deployment old Deployment d"},
		{"PATCH", deployments + "/d/status", merge, `{"status":{"replicas":2}}`, "update deployments/status by admin new Deployment old Deployment d"},
		{"PATCH", deployments + "/d/scale", merge, `{"spec":{"replicas":3}}`, "update deployments/scale by admin new Scale old Scale d"},
		{"DELETE", deployments + "/d", "", "", "delete deployments by admin old Deployment d"},
		{"POST", pods, "application/json", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`, "create pods by admin new Pod"},
		{"POST", pods + "/p/binding", "application/json", `{"metadata":{"name":"p"},"target":{"name":"n"}}`, "create pods/binding by admin new Binding"},
		{"PATCH", pods + "/p/ephemeralcontainers", merge, `{"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`, "update pods/ephemeralcontainers by admin new Pod old Pod p"},
		{"PATCH", pods + "/p/status", merge, `{"status":{"phase":"Succeeded"}}`, "update pods/status by admin new Pod old Pod p"},
		{"POST", pods + "/p/eviction", "application/json", `{"metadata":{"name":"p"}}`, "create pods/eviction by admin new Eviction"},
		{"PUT", harness.ConfigMaps + "/c", "application/json", `{"metadata":{"name":"c"}}`, "create configmaps by admin new ConfigMap"},
		{"DELETE", harness.ConfigMaps, "", "", "delete configmaps by admin old ConfigMap c"},
	} {
		mu.Lock()
		seen = nil
		mu.Unlock()
		if got := h.Send(c.method, c.path, c.media, []byte(c.body)); got.Code >= 300 {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.Code, got.Body)
		}
		mu.Lock()
		if !slices.Contains(seen, c.want) {
			t.Errorf("%s %s was seen as %q, expected %q", c.method, c.path, seen, c.want)
		}
		mu.Unlock()
	}
}

// TestWaitingHoldsNoLock: while a plug-in blocks, the object can be written, others are
// created in its namespace, and the namespace ends. The write is evaluated again if its
// basis has changed, and writes of others stay.
func TestWaitingHoldsNoLock(t *testing.T) {
	asked, proceed := make(chan struct{}, 8), make(chan struct{})
	var mu sync.Mutex
	bases := []string{}
	h := harness.Start(t, func(c *server.Config) {
		harness.EvaluatedOnce(c)
		harness.LookOn(c, harness.Onlooker{
			Waiting: func(_ admission.Operation, resource *api.Resource, _ string) bool {
				return resource.Plural == "configmaps"
			},
			Admitting: func(r *admission.Request) error {
				if !r.Object.At("data", "slow").Exists() || r.Old.At("data", "slow").Exists() {
					return nil
				}
				mu.Lock()
				bases = append(bases, r.Old.At("data", "fast").Text())
				mu.Unlock()
				asked <- struct{}{}
				<-proceed
				return nil
			},
		})
	})
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"ns"}}`)
	const maps = "/api/v1/namespaces/ns/configmaps"
	h.Post(maps, `{"metadata":{"name":"a"}}`)
	done := make(chan harness.Reply, 2)
	slow := func(method, path, media, body string) {
		go func() { done <- h.Send(method, path, media, []byte(body)) }()
		<-asked
	}
	slow("PATCH", maps+"/a", "application/merge-patch+json", `{"data":{"slow":"1"}}`)
	for i := range 2 {
		if got := h.Send("PATCH", maps+"/a", "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"fast":"%d"}}`, i)); got.Code != 200 {
			t.Errorf("a write beside the waiting one: %d %s", got.Code, got.Body)
		}
	}
	proceed <- struct{}{}
	<-asked // again, with the new basis
	proceed <- struct{}{}
	if got := <-done; got.Code != 200 || got.Field(t, "data.slow") != "1" || got.Field(t, "data.fast") != "1" {
		t.Errorf("the write that waited: %d %s", got.Code, got.Body)
	}
	if !slices.Equal(bases, []string{"", "1"}) {
		t.Errorf("it was evaluated against %q", bases)
	}
	slow("PUT", maps+"/new", "application/json", `{"metadata":{"name":"new"},"data":{"slow":"1"}}`)
	if got := h.Post(maps, `{"metadata":{"name":"other"}}`); got.Code != 201 {
		t.Errorf("another object in the namespace: %d %s", got.Code, got.Body)
	}
	if got := h.Send("DELETE", "/api/v1/namespaces/ns", "", nil); got.Code != 200 {
		t.Errorf("the end of the namespace: %d %s", got.Code, got.Body)
	}
	proceed <- struct{}{}
	if got := <-done; got.Code != 403 || !strings.Contains(string(got.Body), "being terminated") {
		t.Errorf("an object that came too late: %d %s", got.Code, got.Body)
	}
}

// TestBasisThatNeverStands: a write whose object changes during each evaluation ends with
// a conflict.
func TestBasisThatNeverStands(t *testing.T) {
	var h *harness.Server
	tries := 0
	h = harness.Start(t, func(c *server.Config) {
		harness.EvaluatedOnce(c)
		harness.LookOn(c, harness.Onlooker{
			Waiting: func(_ admission.Operation, resource *api.Resource, subresource string) bool {
				return resource.Plural == "configmaps"
			},
			Admitting: func(r *admission.Request) error {
				if r.Object.At("data", "mine").Exists() && !r.Old.At("data", "mine").Exists() {
					tries++
					h.Send("PATCH", harness.ConfigMaps+"/a", "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"others":"%d"}}`, tries))
				}
				return nil
			},
		})
	})
	h.Post(harness.ConfigMaps, `{"metadata":{"name":"a"}}`)
	if got := h.Send("PATCH", harness.ConfigMaps+"/a", "application/merge-patch+json", []byte(`{"data":{"mine":"1"}}`)); got.Code != 409 || tries != 5 {
		t.Errorf("%d tries: %d %s", tries, got.Code, got.Body)
	}
	if got := h.Get(harness.ConfigMaps + "/a"); got.Field(t, "data.others") != "5" {
		t.Errorf("%s", got.Body)
	}
}

// TestFailedEvaluationsLeaveNothing: a plug-in that fails or panics, in the transaction or
// apart from it, before or after a claim, leaves no claim, no lock and no object.
func TestFailedEvaluationsLeaveNothing(t *testing.T) {
	for _, waits := range []bool{false, true} {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprintf("waits=%v panics=%v", waits, panics), func(t *testing.T) {
				fail := func(r *admission.Request) error {
					switch {
					case r.Resource.Plural != "services" || !strings.HasPrefix(r.Object.At("metadata", "labels", "fails").Text(), "y"):
						return nil
					case panics:
						panic("a plug-in's bug")
					}
					return errors.New("a plug-in's error")
				}
				h := harness.Start(t, func(c *server.Config) {
					harness.LookOn(c, harness.Onlooker{Checking: fail, Waiting: func(admission.Operation, *api.Resource, string) bool { return waits }})
				})
				const services = "/api/v1/namespaces/default/services"
				const good = `{"metadata":{"name":"s"},"spec":{"clusterIP":"10.0.0.77","ports":[{"port":80}]}}`
				bad := strings.Replace(good, `"name":"s"`, `"name":"s","labels":{"fails":"yes"}`, 1)
				for _, method := range []string{"POST", "PUT"} {
					path := services
					if method == "PUT" {
						path += "/s"
					}
					if got := h.Send(method, path, "application/json", []byte(bad)); got.Code != 500 {
						t.Errorf("%s: %d %s", method, got.Code, got.Body)
					}
					if got := h.Get(services + "/s"); got.Code != 404 {
						t.Errorf("an object is there after %s: %s", method, got.Body)
					}
				}
				if got := h.Post(services, good); got.Code != 201 {
					t.Errorf("the address is not free: %d %s", got.Code, got.Body)
				}
				if got := h.Send("PATCH", services+"/s", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"fails":"yes"}},"spec":{"type":"NodePort"}}`)); got.Code != 500 {
					t.Errorf("patch: %d %s", got.Code, got.Body)
				}
				if got := h.Send("PATCH", services+"/s", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"fails":"no"}}}`)); got.Code != 200 || strings.Contains(string(got.Body), "nodePort") {
					t.Errorf("the key is locked, or something was written: %d %s", got.Code, got.Body)
				}
				if got := h.Send("DELETE", services+"/s", "", nil); got.Code != 200 {
					t.Errorf("delete: %d %s", got.Code, got.Body)
				}
			})
		}
	}
}
