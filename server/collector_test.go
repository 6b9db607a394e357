package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestCollectorFollowsThePolicies(t *testing.T) {
	h := withControllers(t, "garbagecollector")
	t.Run("background, down a chain", func(t *testing.T) {
		a := h.owned("default", "a")
		b := h.owned("default", "b", "a "+a)
		h.owned("default", "c", "b "+b)
		r := h.remove(configMaps+"/a", `{"propagationPolicy":"Background"}`)
		r.expect(t, http.StatusOK, "")
		if r.field(t, "status") != "Success" {
			t.Errorf("the owner goes at once: %s", r.body)
		}
		h.awaitGone(configMaps, "a", "b", "c")
	})
	t.Run("orphan", func(t *testing.T) {
		a := h.owned("default", "a")
		other := h.owned("default", "other")
		h.owned("default", "b", "a "+a, "other "+other)
		h.owned("default", "c", "a "+a)
		h.remove(configMaps+"/a", `{"orphanDependents":true}`).expect(t, http.StatusOK, "")
		have := h.await(configMaps, func(o contents) bool { return o["a"] == nil })
		if owners, _ := have.in("b", "metadata.ownerReferences").([]any); len(owners) != 1 {
			t.Errorf("b has the owners %v, want the other one", owners)
		}
		if have["c"] == nil || have.in("c", "metadata.ownerReferences") != nil {
			t.Errorf("c is to be there without owners: %s", describe(have))
		}
		h.remove(configMaps+"/other", "").expect(t, http.StatusOK, "")
		h.awaitGone(configMaps, "b")
		h.remove(configMaps+"/c", "")
	})
	t.Run("foreground waits for those that block", func(t *testing.T) {
		a := h.owned("default", "a")
		b := h.owned("default", "b", "a "+a+" block")
		h.owned("default", "c", "b "+b+" block")
		h.mergePatch(configMaps+"/c", `{"metadata":{"finalizers":["example.com/wait"]}}`)
		h.remove(configMaps+"/a", foreground()).expect(t, http.StatusOK, "")
		have := h.await(configMaps, func(o contents) bool { return o.in("c", "metadata.deletionTimestamp") != nil })
		for _, name := range []string{"a", "b"} {
			if list, _ := have.in(name, "metadata.finalizers").([]any); len(list) != 1 || list[0] != "foregroundDeletion" {
				t.Errorf("%s does not wait: %s", name, describe(have))
			}
		}
		h.mergePatch(configMaps+"/c", `{"metadata":{"finalizers":null}}`)
		h.awaitGone(configMaps, "a", "b", "c")
	})
	t.Run("foreground does not wait for others", func(t *testing.T) {
		a := h.owned("default", "a")
		h.owned("default", "b", "a "+a)
		h.mergePatch(configMaps+"/b", `{"metadata":{"finalizers":["example.com/wait"]}}`)
		h.remove(configMaps+"/a", foreground()).expect(t, http.StatusOK, "")
		h.await(configMaps, func(o contents) bool { return o["a"] == nil && o.in("b", "metadata.deletionTimestamp") != nil })
		h.mergePatch(configMaps+"/b", `{"metadata":{"finalizers":null}}`)
		h.awaitGone(configMaps, "b")
	})
	t.Run("foreground without dependents", func(t *testing.T) {
		h.owned("default", "a")
		h.remove(configMaps+"/a", foreground()).expect(t, http.StatusOK, "")
		h.awaitGone(configMaps, "a")
	})
	t.Run("a reference that stops to block releases the owner", func(t *testing.T) {
		a := h.owned("default", "a")
		h.owned("default", "b", "a "+a+" block")
		h.mergePatch(configMaps+"/b", `{"metadata":{"finalizers":["example.com/wait"]}}`)
		h.remove(configMaps+"/a", foreground()).expect(t, http.StatusOK, "")
		h.await(configMaps, func(o contents) bool { return o.in("b", "metadata.deletionTimestamp") != nil })
		h.mergePatch(configMaps+"/b", `{"metadata":{"ownerReferences":null}}`)
		h.awaitGone(configMaps, "a")
		h.mergePatch(configMaps+"/b", `{"metadata":{"finalizers":null}}`)
		h.awaitGone(configMaps, "b")
	})
	t.Run("a dependent with another owner stays", func(t *testing.T) {
		a, other := h.owned("default", "a"), h.owned("default", "other")
		h.owned("default", "b", "a "+a, "other "+other)
		h.remove(configMaps+"/a", "").expect(t, http.StatusOK, "")
		h.await(configMaps, func(o contents) bool {
			owners, _ := o.in("b", "metadata.ownerReferences").([]any)
			return len(owners) == 1
		})
		h.remove(configMaps+"/other", foreground()).expect(t, http.StatusOK, "")
		h.awaitGone(configMaps, "b", "other")
	})
}

func TestCollectorBreaksCircles(t *testing.T) {
	for _, policy := range []string{"Background", "Foreground"} {
		t.Run(policy, func(t *testing.T) {
			h := withControllers(t, "garbagecollector")
			a := h.owned("default", "a")
			b := h.owned("default", "b", "a "+a+" block")
			c := h.owned("default", "c", "b "+b+" block")
			h.mergePatch(configMaps+"/a", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"c","uid":"`+c+`","blockOwnerDeletion":true}]}}`)
			h.remove(configMaps+"/b", `{"propagationPolicy":"`+policy+`"}`).expect(t, http.StatusOK, "")
			h.awaitGone(configMaps, "a", "b", "c")
		})
	}
}

func TestCollectorChecksReferences(t *testing.T) {
	h := withControllers(t, "garbagecollector")
	h.post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).expect(t, http.StatusCreated, "")
	a := h.owned("default", "a")

	h.owned("default", "absent", "a 00000000-0000-0000-0000-000000000000")
	h.awaitGone(configMaps, "absent")
	h.owned("default", "nobody", "nobody "+a)
	h.awaitGone(configMaps, "nobody")
	h.owned("default", "child", "a "+a) // so that the graph knows a
	h.owned("shop", "abroad", "a "+a)
	h.awaitGone("/api/v1/namespaces/shop/configmaps", "abroad")
	h.await("/api/v1/namespaces/shop/events", func(o contents) bool {
		for name := range o {
			if o.in(name, "reason") == "OwnerRefInvalidNamespace" && o.in(name, "involvedObject.name") == "abroad" {
				return true
			}
		}
		return false
	})

	// A cluster-scoped object cannot have an owner in a namespace: it stays, and an event
	// reports it.
	h.post("/api/v1/persistentvolumes", `{"metadata":{"name":"volume","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"`+a+`"}]},`+
		`"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/tmp/x"}}}`).expect(t, http.StatusCreated, "")
	h.await("/api/v1/namespaces/default/events", func(o contents) bool { return len(o) == 1 })
	h.get("/api/v1/persistentvolumes/volume").expect(t, http.StatusOK, "")

	// Nor is an object with an owner of an unknown kind.
	h.post(configMaps, `{"metadata":{"name":"foreign","ownerReferences":[{"apiVersion":"example.com/v1","kind":"Shoe","name":"s","uid":"1"}]}}`).expect(t, http.StatusCreated, "")
	// This object was created later; when it has been processed, the others have been
	// too.
	h.owned("default", "later", "a 1")
	h.awaitGone(configMaps, "later")
	h.get(configMaps+"/foreign").expect(t, http.StatusOK, "")

	// A cluster-scoped owner.
	node := h.post("/api/v1/nodes", `{"metadata":{"name":"n1"}}`).field(t, "metadata.uid").(string)
	h.post(configMaps, `{"metadata":{"name":"of-node","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n1","uid":"`+node+`"}]}}`).expect(t, http.StatusCreated, "")
	h.remove("/api/v1/nodes/n1", "").expect(t, http.StatusOK, "")
	h.awaitGone(configMaps, "of-node")
}

func TestDeleteFollowsThePolicyOfTheKind(t *testing.T) {
	h := startServer(t, nil)
	const rcs = "/api/v1/namespaces/default/replicationcontrollers"
	create := func(finalizers string) {
		h.post(rcs, `{"metadata":{"name":"rc","finalizers":[`+finalizers+`]},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`).expect(t, http.StatusCreated, "")
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
		h.remove(rcs+"/rc", c.options).expect(t, http.StatusOK, "")
		got := []string{}
		if r := h.get(rcs + "/rc"); r.code == http.StatusOK {
			for _, f := range r.field(t, "metadata.finalizers").([]any) {
				got = append(got, f.(string))
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("finalizers [%s], options %s: left with %v, want %s", c.finalizers, c.options, got, c.want)
		}
		if len(got) > 0 {
			h.mergePatch(rcs+"/rc", `{"metadata":{"finalizers":null}}`)
		}
	}
}

func TestSecondDeleteOnlyShortensTheGracePeriod(t *testing.T) {
	h := startServer(t, nil)
	const pods = "/api/v1/namespaces/default/pods"
	h.post(pods, `{"metadata":{"name":"p"},"spec":{"nodeName":"n","terminationGracePeriodSeconds":5,"containers":[{"name":"c","image":"i"}]}}`).expect(t, http.StatusCreated, "")
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
		r := h.remove(pods+"/p", c.options)
		r.expect(t, http.StatusOK, "")
		if got := r.field(t, "metadata.deletionGracePeriodSeconds"); got != c.want {
			t.Errorf("after %s the period is %v, want %v", c.options, got, c.want)
		}
		if r.field(t, "metadata.finalizers") != nil {
			t.Errorf("%s has changed the finalizers of a pod that is being deleted", c.options)
		}
	}
	h.remove(pods+"/p", `{"gracePeriodSeconds":0}`).expect(t, http.StatusOK, "")
	h.get(pods+"/p").expect(t, http.StatusNotFound, "NotFound")
}

// fill creates n config maps, two at a time: for that many the client keeps its
// connections.
func (h *harness) fill(n int, namespace string, body func(i int) string) {
	h.t.Helper()
	next := make(chan int, n) // holds all, so that a client that gives up blocks no other
	for i := range n {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := range next {
				if r := h.post("/api/v1/namespaces/"+namespace+"/configmaps", body(i)); r.code != http.StatusCreated {
					h.t.Errorf("create %d: %s", i, r.body)
				}
			}
		})
	}
	wg.Wait()
}

func TestManyDependents(t *testing.T) {
	for _, policy := range []string{"Background", "Foreground", "Orphan"} {
		t.Run(policy, func(t *testing.T) {
			h := withControllers(t, "garbagecollector")
			a := h.owned("default", "a")
			h.fill(1000, "default", func(i int) string { return ownedConfigMap(fmt.Sprint("d", i), "a "+a+" block") })
			begin := time.Now()
			h.remove(configMaps+"/a", `{"propagationPolicy":"`+policy+`"}`).expect(t, http.StatusOK, "")
			have := h.await(configMaps, func(o contents) bool { return o["a"] == nil && (policy == "Orphan" || len(o) == 0) })
			t.Logf("%d dependents, %s: %v", 1000, policy, time.Since(begin))
			for name := range have {
				if have.in(name, "metadata.ownerReferences") != nil {
					t.Fatalf("%s has lost nothing: %s", name, describe(have))
				}
			}
		})
	}
}

// A delete that drops the finalizer of an earlier one removes the object in one step, and
// shows it as it was.
func TestDroppedFinalizerIsShown(t *testing.T) {
	h := withControllers(t, "-*")
	const accounts = "/api/v1/namespaces/default/serviceaccounts"
	for path, body := range map[string]string{
		accounts: `{"metadata":{"name":"x"}}`,
		podsPath: `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
	} {
		h.post(path, body).expect(t, http.StatusCreated, "")
		h.remove(path+"/x", foreground()).expect(t, http.StatusOK, "")
		revision := h.get(path+"/x").field(t, "metadata.resourceVersion")
		gone := h.remove(path+"/x", `{"propagationPolicy":"Background"}`)
		if got := fmt.Sprint(gone.field(t, "metadata.finalizers")); got != "[foregroundDeletion]" || gone.field(t, "metadata.resourceVersion") != revision {
			t.Errorf("%s: shown with the finalizers %s: %s", path, got, gone.body)
		}
		h.get(path+"/x").expect(t, http.StatusNotFound, "NotFound")
	}
}
