package background_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

func TestCollectorFollowsThePolicies(t *testing.T) {
	h := harness.WithControllers(t, "garbagecollector")
	t.Run("background, down a chain", func(t *testing.T) {
		a := owned(h, "default", "a")
		b := owned(h, "default", "b", "a "+a)
		owned(h, "default", "c", "b "+b)
		r := h.Remove(harness.ConfigMaps+"/a", `{"propagationPolicy":"Background"}`)
		r.Expect(t, http.StatusOK, "")
		if r.Field(t, "status") != "Success" {
			t.Errorf("the owner goes at once: %s", r.Body)
		}
		h.AwaitGone(harness.ConfigMaps, "a", "b", "c")
	})
	t.Run("orphan", func(t *testing.T) {
		a := owned(h, "default", "a")
		other := owned(h, "default", "other")
		owned(h, "default", "b", "a "+a, "other "+other)
		owned(h, "default", "c", "a "+a)
		h.Remove(harness.ConfigMaps+"/a", `{"orphanDependents":true}`).Expect(t, http.StatusOK, "")
		have := h.Await(harness.ConfigMaps, func(o harness.Contents) bool { return o["a"] == nil })
		if owners, _ := have.In("b", "metadata.ownerReferences").([]any); len(owners) != 1 {
			t.Errorf("b has the owners %v, want the other one", owners)
		}
		if have["c"] == nil || have.In("c", "metadata.ownerReferences") != nil {
			t.Errorf("c is to be there without owners: %s", harness.Describe(have))
		}
		h.Remove(harness.ConfigMaps+"/other", "").Expect(t, http.StatusOK, "")
		h.AwaitGone(harness.ConfigMaps, "b")
		h.Remove(harness.ConfigMaps+"/c", "")
	})
	t.Run("foreground waits for those that block", func(t *testing.T) {
		a := owned(h, "default", "a")
		b := owned(h, "default", "b", "a "+a+" block")
		owned(h, "default", "c", "b "+b+" block")
		h.MergePatch(harness.ConfigMaps+"/c", `{"metadata":{"finalizers":["example.com/wait"]}}`)
		h.Remove(harness.ConfigMaps+"/a", foreground()).Expect(t, http.StatusOK, "")
		have := h.Await(harness.ConfigMaps, func(o harness.Contents) bool { return o.In("c", "metadata.deletionTimestamp") != nil })
		for _, name := range []string{"a", "b"} {
			if list, _ := have.In(name, "metadata.finalizers").([]any); len(list) != 1 || list[0] != "foregroundDeletion" {
				t.Errorf("%s does not wait: %s", name, harness.Describe(have))
			}
		}
		h.MergePatch(harness.ConfigMaps+"/c", `{"metadata":{"finalizers":null}}`)
		h.AwaitGone(harness.ConfigMaps, "a", "b", "c")
	})
	t.Run("foreground does not wait for others", func(t *testing.T) {
		a := owned(h, "default", "a")
		owned(h, "default", "b", "a "+a)
		h.MergePatch(harness.ConfigMaps+"/b", `{"metadata":{"finalizers":["example.com/wait"]}}`)
		h.Remove(harness.ConfigMaps+"/a", foreground()).Expect(t, http.StatusOK, "")
		h.Await(harness.ConfigMaps, func(o harness.Contents) bool { return o["a"] == nil && o.In("b", "metadata.deletionTimestamp") != nil })
		h.MergePatch(harness.ConfigMaps+"/b", `{"metadata":{"finalizers":null}}`)
		h.AwaitGone(harness.ConfigMaps, "b")
	})
	t.Run("foreground without dependents", func(t *testing.T) {
		owned(h, "default", "a")
		h.Remove(harness.ConfigMaps+"/a", foreground()).Expect(t, http.StatusOK, "")
		h.AwaitGone(harness.ConfigMaps, "a")
	})
	t.Run("a reference that stops to block releases the owner", func(t *testing.T) {
		a := owned(h, "default", "a")
		owned(h, "default", "b", "a "+a+" block")
		h.MergePatch(harness.ConfigMaps+"/b", `{"metadata":{"finalizers":["example.com/wait"]}}`)
		h.Remove(harness.ConfigMaps+"/a", foreground()).Expect(t, http.StatusOK, "")
		h.Await(harness.ConfigMaps, func(o harness.Contents) bool { return o.In("b", "metadata.deletionTimestamp") != nil })
		h.MergePatch(harness.ConfigMaps+"/b", `{"metadata":{"ownerReferences":null}}`)
		h.AwaitGone(harness.ConfigMaps, "a")
		h.MergePatch(harness.ConfigMaps+"/b", `{"metadata":{"finalizers":null}}`)
		h.AwaitGone(harness.ConfigMaps, "b")
	})
	t.Run("a dependent with another owner stays", func(t *testing.T) {
		a, other := owned(h, "default", "a"), owned(h, "default", "other")
		owned(h, "default", "b", "a "+a, "other "+other)
		h.Remove(harness.ConfigMaps+"/a", "").Expect(t, http.StatusOK, "")
		h.Await(harness.ConfigMaps, func(o harness.Contents) bool {
			owners, _ := o.In("b", "metadata.ownerReferences").([]any)
			return len(owners) == 1
		})
		h.Remove(harness.ConfigMaps+"/other", foreground()).Expect(t, http.StatusOK, "")
		h.AwaitGone(harness.ConfigMaps, "b", "other")
	})
}

func TestCollectorBreaksCircles(t *testing.T) {
	for _, policy := range []string{"Background", "Foreground"} {
		t.Run(policy, func(t *testing.T) {
			h := harness.WithControllers(t, "garbagecollector")
			a := owned(h, "default", "a")
			b := owned(h, "default", "b", "a "+a+" block")
			c := owned(h, "default", "c", "b "+b+" block")
			h.MergePatch(harness.ConfigMaps+"/a", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"`+c+`","blockOwnerDeletion":true}]}}`)
			h.Remove(harness.ConfigMaps+"/b", `{"propagationPolicy":"`+policy+`"}`).Expect(t, http.StatusOK, "")
			h.AwaitGone(harness.ConfigMaps, "a", "b", "c")
		})
	}
}

func TestCollectorChecksReferences(t *testing.T) {
	h := harness.WithControllers(t, "garbagecollector")
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).Expect(t, http.StatusCreated, "")
	a := owned(h, "default", "a")

	owned(h, "default", "absent", "a 00000000-0000-0000-0000-000000000000")
	h.AwaitGone(harness.ConfigMaps, "absent")
	owned(h, "default", "nobody", "nobody "+a)
	h.AwaitGone(harness.ConfigMaps, "nobody")
	owned(h, "default", "child", "a "+a) // so that the graph knows a
	owned(h, "shop", "abroad", "a "+a)
	h.AwaitGone("/api/v1/namespaces/shop/configmaps", "abroad")
	h.Await("/api/v1/namespaces/shop/events", func(o harness.Contents) bool {
		for name := range o {
			if o.In(name, "reason") == "OwnerRefInvalidNamespace" && o.In(name, "involvedObject.name") == "abroad" {
				return true
			}
		}
		return false
	})

	// A cluster-scoped object cannot have an owner in a namespace: it stays, and an event
	// reports it.
	h.Post("/api/v1/persistentvolumes", `{"metadata":{"name":"volume","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"`+a+`"}]},`+
		`"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/tmp/x"}}}`).Expect(t, http.StatusCreated, "")
	h.Await("/api/v1/namespaces/default/events", func(o harness.Contents) bool { return len(o) == 1 })
	h.Get("/api/v1/persistentvolumes/volume").Expect(t, http.StatusOK, "")

	// Nor is an object with an owner of an unknown kind.
	h.Post(harness.ConfigMaps, `{"metadata":{"name":"foreign","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Shoe","name":"s","uid":"1"}]}}`).Expect(t, http.StatusCreated, "")
	// This object was created later; when it has been processed, the others have been
	// too.
	owned(h, "default", "later", "a 1")
	h.AwaitGone(harness.ConfigMaps, "later")
	h.Get(harness.ConfigMaps+"/foreign").Expect(t, http.StatusOK, "")

	// A cluster-scoped owner.
	node := h.Post("/api/v1/nodes", `{"metadata":{"name":"n1"}}`).Field(t, "metadata.uid").(string)
	h.Post(harness.ConfigMaps, `{"metadata":{"name":"of-node","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"`+node+`"}]}}`).Expect(t, http.StatusCreated, "")
	h.Remove("/api/v1/nodes/n1", "").Expect(t, http.StatusOK, "")
	h.AwaitGone(harness.ConfigMaps, "of-node")
}

func TestDeleteFollowsThePolicyOfTheKind(t *testing.T) {
	h := harness.Start(t, nil)
	const rcs = "/api/v1/namespaces/default/replicationcontrollers"
	create := func(finalizers string) {
		h.Post(rcs, `{"metadata":{"name":"rc","finalizers":[`+finalizers+`]},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`).Expect(t, http.StatusCreated, "")
	}
	for _, c := range []struct{ finalizers, options, want string }{
		{``, ``, `orphan`},
		{``, `{"propagationPolicy":"Background"}`, ``},
		{``, `{"orphanDependents":false}`, ``},
		{``, foreground(), `foregroundDeletion`},
		{`"foregroundDeletion"`, ``, `foregroundDeletion`},
		{`"foregroundDeletion"`, `{"propagationPolicy":"Orphan"}`, `orphan`},
		{`"orphan"`, `{"propagationPolicy":"Background"}`, ``},
		{`"example.com/x"`, ``, `example.com/x orphan`},
	} {
		create(c.finalizers)
		h.Remove(rcs+"/rc", c.options).Expect(t, http.StatusOK, "")
		got := []string{}
		if r := h.Get(rcs + "/rc"); r.Code == http.StatusOK {
			for _, f := range r.Field(t, "metadata.finalizers").([]any) {
				got = append(got, f.(string))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("finalizers [%s], options %s: left with %v, want %s", c.finalizers, c.options, got, c.want)
		}
		if len(got) > 0 {
			h.MergePatch(rcs+"/rc", `{"metadata":{"finalizers":null}}`)
		}
	}
}

func TestSecondDeleteOnlyShortensTheGracePeriod(t *testing.T) {
	h := harness.Start(t, nil)
	const pods = "/api/v1/namespaces/default/pods"
	h.Post(pods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","terminationGracePeriodSeconds":5,"containers":[{"name":"c","image":"i"}]}}`).Expect(t, http.StatusCreated, "")
	for _, c := range []struct {
		options string
		want    float64
	}{
		{`{"gracePeriodSeconds":60}`, 60},
		{``, 60}, // the pod's own period is shorter, but was not requested
		{`{"gracePeriodSeconds":90}`, 60},
		{`{"gracePeriodSeconds":60,"propagationPolicy":"Foreground"}`, 60},
		{`{"gracePeriodSeconds":20}`, 20},
		{`{"gracePeriodSeconds":-5}`, 1},
	} {
		r := h.Remove(pods+"/p", c.options)
		r.Expect(t, http.StatusOK, "")
		if got := r.Field(t, "metadata.deletionGracePeriodSeconds"); got != c.want {
			t.Errorf("after %s the period is %v, want %v", c.options, got, c.want)
		}
		if r.Field(t, "metadata.finalizers") != nil {
			t.Errorf("%s has changed the finalizers of a pod that is being deleted", c.options)
		}
	}
	h.Remove(pods+"/p", `{"gracePeriodSeconds":0}`).Expect(t, http.StatusOK, "")
	h.Get(pods+"/p").Expect(t, http.StatusNotFound, "NotFound")
}

// fill creates n config maps, two at a time: for that many the client keeps its
// connections.
func fill(h *harness.Server, n int, namespace string, body func(i int) string) {
	h.T.Helper()
	next := make(chan int, n) // holds all, so that a client that gives up blocks no other
	for i := range n {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range next {
				if r := h.Post("/api/v1/namespaces/"+namespace+"/configmaps", body(i)); r.Code != http.StatusCreated {
					h.T.Errorf("create %d: %s", i, r.Body)
				}
			}
		})
	}
	wg.Wait()
}

func TestManyDependents(t *testing.T) {
	for _, policy := range []string{"Background", "Foreground", "Orphan"} {
		t.Run(policy, func(t *testing.T) {
			h := harness.WithControllers(t, "garbagecollector")
			a := owned(h, "default", "a")
			fill(h, 1000, "default", func(i int) string { return ownedConfigMap(fmt.Sprint("d", i), "a "+a+" block") })
			begin := time.Now()
			h.Remove(harness.ConfigMaps+"/a", `{"propagationPolicy":"`+policy+`"}`).Expect(t, http.StatusOK, "")
			have := h.Await(harness.ConfigMaps, func(o harness.Contents) bool { return o["a"] == nil && (policy == "Orphan" || len(o) == 0) })
			t.Logf("%d dependents, %s: %v", 1000, policy, time.Since(begin))
			for name := range have {
				if have.In(name, "metadata.ownerReferences") != nil {
					t.Fatalf("%s has lost nothing: %s", name, harness.Describe(have))
				}
			}
		})
	}
}

// A delete that drops the finalizer of an earlier one removes the object in one step, and
// shows it as it was.
func TestDroppedFinalizerIsShown(t *testing.T) {
	h := harness.WithControllers(t, "-*")
	const accounts = "/api/v1/namespaces/default/serviceaccounts"
	for path, body := range map[string]string{
		accounts:         `{"metadata":{"name":"x"}}`,
		harness.PodsPath: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
	} {
		h.Post(path, body).Expect(t, http.StatusCreated, "")
		h.Remove(path+"/x", foreground()).Expect(t, http.StatusOK, "")
		revision := h.Get(path+"/x").Field(t, "metadata.resourceVersion")
		gone := h.Remove(path+"/x", `{"propagationPolicy":"Background"}`)
		if got := fmt.Sprint(gone.Field(t, "metadata.finalizers")); got != "[foregroundDeletion]" || gone.Field(t, "metadata.resourceVersion") != revision {
			t.Errorf("%s: shown with the finalizers %s: %s", path, got, gone.Body)
		}
		h.Get(path+"/x").Expect(t, http.StatusNotFound, "NotFound")
	}
}
