package nodes

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/authztest"
	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// site is an authorizer over a store of its own.
type site struct {
	*Authorizer
	release bootstrap.Release
	ownOnly bool
	t       testing.TB
	store   store.Store
	catalog *catalog.Catalog
}

func open(t testing.TB) *site { return openIn(t, bootstrap.Release{}, false) }

// openIn opens the authorizer of a release.
func openIn(t testing.TB, release bootstrap.Release, ownOnly bool) *site {
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	site := &site{release: release, ownOnly: ownOnly, t: t, store: s, catalog: catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta())}
	site.follow()
	return site
}

// follow opens the authorizer of the store, anew.
func (s *site) follow() {
	if s.Authorizer != nil {
		s.Close()
	}
	var err error
	if s.Authorizer, err = Open(context.Background(), Config{Store: s.store, Catalog: s.catalog, Logger: slog.New(slog.DiscardHandler),
		Release: s.release, OwnOnly: s.ownOnly}); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.Close)
}

// put stores an object at a key ("core/pods/shop/p"); "" deletes it.
func (s *site) put(key, members string) {
	s.t.Helper()
	parts := strings.Split(key, "/")
	name, namespace := parts[len(parts)-1], ""
	if len(parts) > 3 {
		namespace = parts[2]
	}
	group := parts[0]
	if group == "core" {
		group = ""
	}
	var value store.Value
	if members != "" {
		row := s.catalog.Snapshot().Stored(group, parts[1])
		d := document.Decoder{Table: row.GV.Table}
		doc, _, err := d.Decode(row.Type, fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":%q%s`, name, namespace, members))
		if err != nil {
			s.t.Fatal(err)
		}
		defer doc.Release()
		if value, err = stored.Seal(row, doc.Root(), new(stored.Space)); err != nil {
			s.t.Fatal(err)
		}
	}
	_, err := s.store.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		switch {
		case members == "":
			return store.Write{Op: store.OpDelete}, nil
		case current == nil:
			return store.Write{Op: store.OpCreate, Value: value}, nil
		}
		return store.Write{Op: store.OpUpdate, Value: value}, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// request is one of the agent of a node.
func request(node, text string) *authz.Attributes {
	return authztest.Request(&authn.User{Name: "system:node:" + node, Groups: []string{"system:authenticated", "system:nodes"}}, text)
}

const everyName = `},"spec":{"nodeName":"a","serviceAccountName":"sa","imagePullSecrets":[{"name":"pull"}],
	"initContainers":[{"name":"i","envFrom":[{"secretRef":{"name":"from-s"}},{"configMapRef":{"name":"from-m"}}]}],
	"containers":[{"name":"c","env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"env-s","key":"k"}}},{"name":"M","valueFrom":{"configMapKeyRef":{"name":"env-m","key":"k"}}}]}],
	"ephemeralContainers":[{"name":"e","envFrom":[{"secretRef":{"name":"eph-s"}}]}],
	"volumes":[{"name":"1","secret":{"secretName":"vol-s"}},{"name":"2","configMap":{"name":"vol-m"}},{"name":"3","projected":{"sources":[{"secret":{"name":"pro-s"}},{"configMap":{"name":"pro-m"}}]}},
		{"name":"4","persistentVolumeClaim":{"claimName":"data"}},{"name":"scratch","ephemeral":{}},{"name":"6","csi":{"driver":"d","nodePublishSecretRef":{"name":"csi-s"}}},
		{"name":"7","azureFile":{"secretName":"azure-s"}},{"name":"8","cephfs":{"secretRef":{"name":"ceph-s"}}},{"name":"9","rbd":{"secretRef":{"name":"rbd-s"}}}]}}`

func TestAuthorize(t *testing.T) {
	s := open(t)
	s.put("core/pods/shop/p", everyName)
	s.put("core/pods/shop/mirror", `,"annotations":{"kubernetes.io/config.mirror":"x"}},"spec":{"nodeName":"a","volumes":[{"name":"v","secret":{"secretName":"mirror-s"}}]}}`)
	s.put("core/pods/shop/waiting", `},"spec":{"volumes":[{"name":"v","secret":{"secretName":"waiting-s"}}]}}`)
	s.put("core/pods/shop/other", `},"spec":{"nodeName":"b","volumes":[{"name":"v","secret":{"secretName":"other-s"}}]}}`)
	s.put("core/persistentvolumes/v", `},"spec":{"claimRef":{"namespace":"shop","name":"data"},"csi":{"driver":"d","volumeHandle":"h","nodeStageSecretRef":{"namespace":"ops","name":"stage"},"controllerExpandSecretRef":{"namespace":"ops","name":"expand"}}}}`)
	s.put("core/persistentvolumes/ceph", `},"spec":{"claimRef":{"namespace":"shop","name":"p-scratch"},"cephfs":{"secretRef":{"name":"ceph"}}}}`)
	s.put("core/persistentvolumes/free", `},"spec":{"rbd":{"secretRef":{"name":"free"}}}}`)
	s.put("storage.k8s.io/volumeattachments/va", `},"spec":{"attacher":"d","nodeName":"a","source":{}}}`)
	const none = "no relationship found between node 'a' and this object"
	check := func(t *testing.T) {
		for _, c := range []struct{ request, reason string }{
			{"get secrets shop/pull", ""}, {"list secrets shop/from-s", ""}, {"watch secrets shop/env-s", ""}, {"get secrets shop/eph-s", ""}, {"get secrets shop/vol-s", ""},
			{"get secrets shop/pro-s", ""}, {"get secrets shop/csi-s", ""}, {"get secrets shop/azure-s", ""}, {"get secrets shop/ceph-s", ""}, {"get secrets shop/rbd-s", ""},
			{"get configmaps shop/from-m", ""}, {"get configmaps shop/env-m", ""}, {"get configmaps shop/vol-m", ""}, {"get configmaps shop/pro-m", ""},
			{"get persistentvolumeclaims shop/data", ""}, {"get persistentvolumeclaims shop/p-scratch", ""}, {"update persistentvolumeclaims/status shop/data", ""},
			{"get persistentvolumes v", ""}, {"get persistentvolumes ceph", ""}, {"get secrets ops/stage", ""}, {"get secrets shop/ceph", ""},
			{"get volumeattachments.storage.k8s.io va", ""}, {"create serviceaccounts/token shop/sa", ""},
			{"get leases.coordination.k8s.io kube-node-lease/a", ""}, {"create leases.coordination.k8s.io kube-node-lease/", ""}, {"delete csinodes.storage.k8s.io a", ""},

			{"get secrets shop/mirror-s", none}, {"get secrets shop/waiting-s", none}, {"get secrets shop/other-s", none}, {"get secrets other/pull", none}, {"get secrets shop/vol-m", none},
			{"get secrets ops/expand", none}, {"get persistentvolumes free", none}, {"get secrets shop/free", none}, {"get volumeattachments.storage.k8s.io vb", none},
			{"create serviceaccounts/token shop/other", none}, {"patch persistentvolumeclaims/status shop/other", none},
			{"get secrets shop/", "No Object name found"}, {"list secrets", "can only read namespaced object of this type"}, {"update secrets shop/pull", "can only read resources of this type"},
			{"get secrets/x shop/pull", "cannot read subresource"}, {"list persistentvolumeclaims shop/data", "can only get individual resources of this type"},
			{"get persistentvolumes/status v", "cannot get subresource"}, {"get persistentvolumeclaims/status shop/data", "can only get/update/patch this type"},
			{"get serviceaccounts shop/sa", "can only create tokens for individual service accounts"}, {"create serviceaccounts shop/sa", "can only create token subresource of serviceaccount"},
			{"list leases.coordination.k8s.io kube-node-lease/a", "can only get, create, update, patch, or delete a node lease"},
			{"get leases.coordination.k8s.io shop/a", `can only access leases in the "kube-node-lease" system namespace`},
			{"get leases.coordination.k8s.io kube-node-lease/b", "can only access node lease with the same name as the requesting node"},
			{"watch csinodes.storage.k8s.io a", "can only get, create, update, patch, or delete a CSINode"}, {"get csinodes/x.storage.k8s.io a", "cannot authorize CSINode subresources"},
			{"update csinodes.storage.k8s.io b", "can only access CSINode with the same name as the requesting node"},

			// The rules of all agents.
			{"list services", ""}, {"patch nodes/status b", ""}, {"create pods/eviction shop/x", ""}, {"watch runtimeclasses.node.k8s.io", ""},
			{"create certificatesigningrequests.certificates.k8s.io", ""}, {"delete nodes a", "-"}, {"get secrets.example.com shop/pull", "-"}, {"list deployments.apps", "-"}, {"get /healthz", "-"},
		} {
			decision, reason, err := s.Authorize(t.Context(), request("a", c.request))
			if err != nil || (decision == authz.Allow) != (c.reason == "") || reason != strings.TrimPrefix(c.reason, "-") {
				t.Errorf("%s: %v %q %v, want %q", c.request, decision, reason, err, c.reason)
			}
		}
		for name, user := range map[string]*authn.User{"": nil, "group": {Name: "system:node:a"}, "name": {Name: "a", Groups: []string{"system:nodes"}}} {
			r := request("a", "get secrets shop/pull")
			r.User = user
			if d, reason, _ := s.Authorize(t.Context(), r); d != authz.NoOpinion || reason != "" {
				t.Errorf("%s: %v %q", name, d, reason)
			}
		}
		if _, reason, _ := s.Authorize(t.Context(), request("", "list services")); reason != `unknown node for user "system:node:"` {
			t.Error(reason)
		}
	}
	t.Run("followed", check)
	s.follow()
	t.Run("read", check)
	rules, err := s.Rules(t.Context(), request("a", "get /x").User, "shop")
	if !rules.Incomplete || err == nil || err.Error() != "node authorizer does not support user rule resolution" {
		t.Error(rules, err)
	}
	if rules, err := s.Rules(t.Context(), &authn.User{Name: "bob"}, "shop"); rules.Incomplete || err != nil {
		t.Error(rules, err)
	}
}

// TestReasonsOfReleases: what each release says about the resources that later ones have.
func TestReasonsOfReleases(t *testing.T) {
	const none = "no relationship found between node 'a' and this object"
	for _, c := range []struct{ release, gates, request, reason string }{
		{"1.26", "DynamicResourceAllocation", "get resourceclaims.resource.k8s.io shop/c", ""}, // by the role
		{"1.28", "", "get resourceclaims.resource.k8s.io shop/c", none},
		{"1.28", "", "list resourceclaims.resource.k8s.io shop/", "can only get individual resources of this type"},
		{"1.29", "DynamicResourceAllocation", "create resourceslices.resource.k8s.io", "-"},
		{"1.30", "DynamicResourceAllocation", "create resourceslices.resource.k8s.io", ""},
		{"1.30", "DynamicResourceAllocation", "list resourceslices.resource.k8s.io", ""},
		{"1.30", "DynamicResourceAllocation", "deletecollection resourceslices.resource.k8s.io", "can only get, create, update, patch, or delete a ResourceSlice"},
		{"1.30", "DynamicResourceAllocation", "delete resourceslices.resource.k8s.io s", none},
		{"1.31", "DynamicResourceAllocation", "deletecollection resourceslices.resource.k8s.io", ""},
		{"1.32", "own", "deletecollection resourceslices.resource.k8s.io", "can only list/watch/deletecollection resourceslices with nodeName field selector"},
		{"1.32", "own", "approve resourceslices.resource.k8s.io s", "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection"},
		{"1.32", "own", "get resourceslices/status.resource.k8s.io s", "cannot authorize ResourceSlice subresources"},
		{"1.32", "own", "get serviceaccounts shop/sa", "can only create tokens for individual service accounts"},
		{"1.33", "own", "get serviceaccounts shop/sa", "not allowed to get service accounts"},
		{"1.33", "own KubeletServiceAccountTokenForCredentialProviders", "get serviceaccounts shop/sa", none},
		{"1.34", "own PodCertificateRequest", "get serviceaccounts shop/sa", none},
		{"1.34", "own PodCertificateRequest", "get podcertificaterequests.certificates.k8s.io shop/r", none},
		{"1.34", "own PodCertificateRequest", "create podcertificaterequests.certificates.k8s.io shop/", ""},
		{"1.34", "own PodCertificateRequest", "update podcertificaterequests.certificates.k8s.io shop/r", "nodes may not update podcertificaterequests"},
		{"1.34", "PodCertificateRequest", "create podcertificaterequests.certificates.k8s.io shop/", "-"}, // not without selectors
		{"1.34", "own", "create podcertificaterequests.certificates.k8s.io shop/", "-"},
	} {
		gates := strings.Fields(c.gates)
		on := func(gate string) bool { return slices.Contains(gates, gate) }
		s := openIn(t, bootstrap.Release{Since: func(r string) bool { return c.release >= r }, On: on}, on("own"))
		decision, reason, err := s.Authorize(t.Context(), request("a", c.request))
		if err != nil || (decision == authz.Allow) != (c.reason == "") || reason != strings.TrimPrefix(c.reason, "-") {
			t.Errorf("%s %s: %s: %v %q %v, want %q", c.release, c.gates, c.request, decision, reason, err, c.reason)
		}
	}
}

// model are the stored objects, from which each decision is made anew.
type model struct {
	pods    map[string]modelPod // by name
	volumes map[string][2]string
}

type modelPod struct{ node, secret, claim string }

func (m *model) may(node, kind, name string) bool {
	for _, p := range m.pods {
		if p.node != node {
			continue
		}
		if kind == "secrets" && p.secret == name || kind == "persistentvolumeclaims" && p.claim == name {
			return true
		}
		for volume, v := range m.volumes {
			if v[0] == p.claim && p.claim != "" && (kind == "persistentvolumes" && volume == name || kind == "secrets" && v[1] == name) {
				return true
			}
		}
	}
	return false
}

// TestGraph compares the graph with the model after each of many writes, and finds
// nothing left in it when all objects are gone.
func TestGraph(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := open(t)
		m := &model{map[string]modelPod{}, map[string][2]string{}}
		few := func(prefix string) *rapid.Generator[string] {
			return rapid.Custom(func(rt *rapid.T) string { return fmt.Sprint(prefix, rapid.IntRange(0, 2).Draw(rt, prefix)) })
		}
		pod := func(name string, p modelPod) {
			s.put("core/pods/shop/"+name, fmt.Sprintf(`},"spec":{"nodeName":%q,"volumes":[{"name":"s","secret":{"secretName":%q}},{"name":"c","persistentVolumeClaim":{"claimName":%q}}]}}`, p.node, p.secret, p.claim))
			m.pods[name] = p
		}
		for range rapid.IntRange(1, 25).Draw(rt, "writes") {
			switch rapid.IntRange(0, 5).Draw(rt, "write") {
			case 0, 1:
				pod(few("p").Draw(rt, "pod"), modelPod{rapid.SampledFrom([]string{"", "n0", "n1"}).Draw(rt, "node"), few("s").Draw(rt, "secret"), few("c").Draw(rt, "claim")})
			case 2, 3:
				name, claim, secret := few("v").Draw(rt, "volume"), few("c").Draw(rt, "claim"), few("s").Draw(rt, "secret")
				s.put("core/persistentvolumes/"+name, fmt.Sprintf(`},"spec":{"claimRef":{"namespace":"shop","name":%q},"rbd":{"secretRef":{"name":%q}}}}`, claim, secret))
				m.volumes[name] = [2]string{claim, secret}
			case 4:
				for name := range m.pods {
					s.put("core/pods/shop/"+name, "")
					delete(m.pods, name)
					break
				}
			case 5:
				if rapid.Bool().Draw(rt, "anew") {
					s.follow()
				}
				for name := range m.volumes {
					s.put("core/persistentvolumes/"+name, "")
					delete(m.volumes, name)
					break
				}
			}
			for i := range 3 {
				for kind, name := range map[string]string{"secrets": fmt.Sprint("shop/s", i), "persistentvolumeclaims": fmt.Sprint("shop/c", i), "persistentvolumes": fmt.Sprint("v", i)} {
					for _, node := range []string{"n0", "n1", "n2"} {
						_, short, local := strings.Cut(name, "/")
						if !local {
							short = name
						}
						d, _, _ := s.Authorize(t.Context(), request(node, "get "+kind+" "+name))
						if want := m.may(node, kind, short); (d == authz.Allow) != want {
							rt.Fatalf("%s gets %s %s: %v, want %v; %+v", node, kind, name, d, want, m)
						}
					}
				}
			}
		}
		for name := range m.pods {
			s.put("core/pods/shop/"+name, "")
		}
		for name := range m.volumes {
			s.put("core/persistentvolumes/"+name, "")
		}
		if g := s.graph; len(g.targets)+len(g.nodes)+len(g.names)+len(g.volumes) > 0 {
			rt.Fatalf("left in the graph: %+v", g)
		}
	})
}

// BenchmarkAuthorize: 10,000 pods on 100 nodes, in one namespace, each with an account and
// a config map that all share, a secret of its own, and a claim of a volume whose driver
// has one secret.
func BenchmarkAuthorize(b *testing.B) {
	s := open(b)
	for i := range 10_000 {
		s.put(fmt.Sprintf("core/pods/shop/web-%d", i), fmt.Sprintf(`},"spec":{"nodeName":"node-%d","serviceAccountName":"default","volumes":[{"name":"m","configMap":{"name":"kube-root-ca.crt"}},`+
			`{"name":"s","secret":{"secretName":"secret-%d"}},{"name":"c","persistentVolumeClaim":{"claimName":"data-%d"}}]}}`, i%100, i, i))
		s.put(fmt.Sprintf("core/persistentvolumes/pv-%d", i), fmt.Sprintf(`},"spec":{"claimRef":{"namespace":"shop","name":"data-%d"},"csi":{"driver":"d","volumeHandle":"h","nodePublishSecretRef":{"namespace":"ops","name":"csi"}}}}`, i))
	}
	for name, text := range map[string]string{"shared": "get configmaps shop/kube-root-ca.crt", "own": "get secrets shop/secret-7", "by volume": "get secrets ops/csi", "rules": "watch runtimeclasses.node.k8s.io", "refused": "get secrets shop/secret-8"} {
		b.Run(name, func(b *testing.B) {
			r := request("node-7", text)
			b.ReportAllocs()
			for b.Loop() {
				if d, _, _ := s.Authorize(context.Background(), r); (d == authz.Allow) != (name != "refused") {
					b.Fatal(d)
				}
			}
		})
	}
	b.Run("change", func(b *testing.B) {
		c := s.sources.View()
		one := c.Get("core/pods/shop/web-7")
		b.ReportAllocs()
		for b.Loop() {
			s.graph.mu.Lock()
			s.graph.grant(one, ^uint32(0))
			s.graph.grant(one, 1)
			s.graph.mu.Unlock()
		}
	})
}
