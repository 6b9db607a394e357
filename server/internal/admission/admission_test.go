package admission_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// world is a set of objects, as JSON by "plural/namespace/name".
type world map[string]string

func (w world) Get(_ context.Context, group, plural, namespace, name string) (document.Value, func(), error) {
	text, ok := w[plural+"/"+namespace+"/"+name]
	if !ok {
		return document.Value{}, func() {}, api.NotFound(api.GroupResource{Group: group, Resource: plural}, name)
	}
	doc, err := document.DecodeAny([]byte(text), document.Limits{})
	if err != nil {
		return document.Value{}, func() {}, err
	}
	return doc.Root(), doc.Release, nil
}

func (w world) GetSoon(ctx context.Context, group, plural, namespace, name string) (document.Value, func(), error) {
	return w.Get(ctx, group, plural, namespace, name)
}

func (w world) Class(name string) (found *admission.Class) {
	for key, text := range w {
		if !strings.HasPrefix(key, "priorityclasses/") {
			continue
		}
		doc, err := document.DecodeAny([]byte(text), document.Limits{})
		if err != nil {
			panic(err)
		}
		c := admission.ReadClass(doc.Root())
		if name != "" && c.Name == name || name == "" && c.Default && (found == nil || c.Value < found.Value) {
			found = c
		}
	}
	return found
}

func (w world) Namespace(name string) *admission.Namespace {
	obj, release, err := w.Get(context.Background(), "", "namespaces", "", name)
	if err != nil {
		return nil
	}
	defer release()
	return admission.ReadNamespace(obj)
}

func (w world) Each(ctx context.Context, group, plural, namespace string, visit func(obj document.Value) bool) error {
	for _, key := range slices.Sorted(maps.Keys(w)) {
		name, ours := strings.CutPrefix(key, plural+"/"+namespace+"/")
		if !ours {
			continue
		}
		obj, release, err := w.Get(ctx, group, plural, namespace, name)
		if err != nil {
			return err
		}
		defer release()
		if !visit(obj) {
			return nil
		}
	}
	return nil
}

// read reads the objects of a cluster-scoped kind.
func read[T any](w world, plural string, one func(document.Value) T) iter.Seq[T] {
	return func(yield func(T) bool) {
		_ = w.Each(context.Background(), "", plural, "", func(obj document.Value) bool { return yield(one(obj)) })
	}
}

func (w world) IngressClasses() iter.Seq[*admission.IngressClass] {
	return read(w, "ingressclasses", admission.ReadIngressClass)
}

func (w world) StorageClasses() iter.Seq[*admission.StorageClass] {
	return read(w, "storageclasses", admission.ReadStorageClass)
}

func (w world) MayGrant(context.Context, *admission.Request) error { return nil }

var groups = catalog.New(policy.New(time.Now), conversion.Hooks{})

func resource(t testing.TB, plural string) *api.Resource {
	t.Helper()
	for _, gv := range groups {
		for i := range gv.Resources {
			if gv.Resources[i].Plural == plural {
				return &gv.Resources[i]
			}
		}
	}
	t.Fatalf("no %s", plural)
	return nil
}

func decode(t testing.TB, res *api.Resource, source string) document.Value {
	t.Helper()
	text, err := yaml.ToJSON([]byte(source))
	if err != nil {
		t.Fatal(err)
	}
	d := document.Decoder{Table: res.GV.Table, Defaults: res.GV.Defaults}
	doc, problems, err := d.Decode(schema.Ref(res.Type), text)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return doc.Root()
}

// admit runs all plug-ins but the disabled ones on a new object.
func admit(t *testing.T, w world, plural, yaml string, disabled ...string) (document.Value, error) {
	t.Helper()
	res := resource(t, plural)
	obj := decode(t, res, yaml)
	chain := admission.New(w, admission.Config{DisableAdmissionPlugins: disabled, UnreachableTolerationSeconds: 300})
	r := &admission.Request{Operation: admission.Create, Resource: res, Namespace: "shop", Object: obj}
	if err := chain.Admit(context.Background(), r); err != nil {
		return obj, err
	}
	return obj, chain.Check(context.Background(), r)
}

const pod = "metadata: {name: p}\nspec: {containers: [{name: c, image: i}]"

var account = world{"serviceaccounts/shop/default": `{"imagePullSecrets":[{"name":"s"}]}`, "serviceaccounts/shop/quiet": `{"automountServiceAccountToken":false}`}

func TestPlugins(t *testing.T) {
	classes := world{
		"priorityclasses//high":  `{"metadata":{"name":"high"},"value":1000,"preemptionPolicy":"Never"}`,
		"priorityclasses//std":   `{"metadata":{"name":"std"},"value":7,"globalDefault":true}`,
		"priorityclasses//other": `{"metadata":{"name":"other"},"value":9,"globalDefault":true}`,
	}
	runtimes := world{
		"serviceaccounts/shop/default": "{}",
		"runtimeclasses//vm": `{"metadata":{"name":"vm"},"handler":"h","overhead":{"podFixed":{"cpu":"10m"}},"scheduling":{"nodeSelector":{"a":"b"},
			"tolerations":[{"key":"k","operator":"Exists"}]}}`,
		"runtimeclasses//free": `{"metadata":{"name":"free"},"handler":"h"}`,
	}
	for _, c := range []struct {
		name   string
		world  world
		plural string
		object string
		path   string // of the shown value
		want   string // its JSON, or the error
	}{
		{"taint", nil, "nodes", "metadata: {name: n1}", "spec taints", `[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]`},
		{"taint is there", nil, "nodes", "{metadata: {name: n1}, spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}]}}", "spec taints",
			`[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]`},
		{"no runtime", account, "pods", pod + ", overhead: {cpu: 1m}}", "", `pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`},
		{"unknown runtime", account, "pods", pod + ", runtimeClassName: vm}", "", `pods "p" is forbidden: pod rejected: RuntimeClass "vm" not found`},
		{"runtime's cost", runtimes, "pods", pod + ", runtimeClassName: vm}", "spec overhead", `{"cpu":"10m"}`},
		{"same cost", runtimes, "pods", pod + ", runtimeClassName: vm, overhead: {cpu: 0.01}}", "spec overhead", `{"cpu":"10m"}`},
		{"other cost", runtimes, "pods", pod + ", runtimeClassName: vm, overhead: {cpu: 1m}}", "", `pods "p" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`},
		{"cost of a free runtime", runtimes, "pods", pod + ", runtimeClassName: free, overhead: {cpu: 1m}}", "", `pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`},
		{"free runtime", runtimes, "pods", pod + ", runtimeClassName: free}", "spec nodeSelector", ""},
		{"runtime's nodes", runtimes, "pods", pod + ", runtimeClassName: vm, nodeSelector: {x: z}}", "spec nodeSelector", `{"a":"b","x":"z"}`},
		{"other nodes", runtimes, "pods", pod + ", runtimeClassName: vm, nodeSelector: {a: c}}", "", `pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c`},
		{"runtime's tolerations", runtimes, "pods", pod + ", runtimeClassName: vm, tolerations: [{key: k, value: v}, {operator: Exists}]}", "spec tolerations", `[{"operator":"Exists"}]`},
		{"claim", nil, "persistentvolumeclaims", "metadata: {name: c}", "metadata finalizers", `["kubernetes.io/pvc-protection"]`},
		{"volume", nil, "persistentvolumes", "metadata: {name: c, finalizers: [a/b]}", "metadata finalizers", `["a/b","kubernetes.io/pv-protection"]`},
		{"tolerations", account, "pods", pod + ", tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists}]}", "spec tolerations",
			`[{"key":"node.kubernetes.io/not-ready","operator":"Exists"},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]`},
		{"tolerations of its own time", account, "pods", pod + ", tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists}]}", "spec tolerations",
			`[{"key":"node.kubernetes.io/unreachable","operator":"Exists"},{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":0}]`},
		{"tolerates all", account, "pods", pod + ", tolerations: [{operator: Exists}]}", "spec tolerations", `[{"operator":"Exists"}]`},
		{"no class", account, "pods", pod + "}", "spec priority", "0"},
		{"preemption", account, "pods", pod + "}", "spec preemptionPolicy", `"PreemptLowerPriority"`},
		{"unknown class", account, "pods", pod + ", priorityClassName: high}", "", `pods "p" is forbidden: no PriorityClass with name high was found`},
		{"account", account, "pods", pod + "}", "spec serviceAccount", `"default"`},
		{"secrets", account, "pods", pod + "}", "spec imagePullSecrets", `[{"name":"s"}]`},
		{"own secrets", account, "pods", pod + ", imagePullSecrets: [{name: x}]}", "spec imagePullSecrets", `[{"name":"x"}]`},
		{"no account", nil, "pods", pod + "}", "", `pods "p" is forbidden: error looking up service account shop/default: serviceaccount "default" not found`},
		{"account without token", account, "pods", pod + ", serviceAccountName: quiet}", "spec volumes", ""},
		{"pod without token", account, "pods", pod + ", automountServiceAccountToken: false}", "spec volumes", ""},
		{"pod's word goes first", account, "pods", pod + ", serviceAccountName: quiet, automountServiceAccountToken: true}", "spec volumes 0 projected defaultMode", "420"},
		{"place taken", account, "pods",
			"{metadata: {name: p}, spec: {volumes: [{name: v, emptyDir: {}}], containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]}}",
			"spec volumes", `[{"name":"v","emptyDir":{}}]`},
		{"mirror", nil, "pods", "{metadata: {name: p, annotations: {kubernetes.io/config.mirror: x}}, spec: {containers: [{name: c, image: i}]}}", "spec serviceAccount", ""},
		{"mirror with a secret variable", nil, "pods", "{metadata: {name: p, annotations: {kubernetes.io/config.mirror: x}}, spec: {containers: [{name: c, image: i, env: [{name: e, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}", "",
			`pods "p" is forbidden: a mirror pod may not reference secrets`},
		{"mirror with account", account, "pods", "{metadata: {name: p, annotations: {kubernetes.io/config.mirror: x}}, spec: {serviceAccountName: a, containers: [{name: c, image: i}]}}", "",
			`pods "p" is forbidden: a mirror pod may not reference service accounts`},
		{"class", classes, "pods", pod + ", priorityClassName: high, serviceAccountName: a}", "spec priority", "1000"},
		{"class's preemption", classes, "pods", pod + ", priorityClassName: high}", "spec preemptionPolicy", `"Never"`},
		{"default class", classes, "pods", pod + "}", "spec priorityClassName", `"std"`},
		{"class and own number", classes, "pods", pod + ", priorityClassName: high, priority: 3}", "", `pods "p" is forbidden: the integer value of priority (3) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var disabled []string
			if c.world["serviceaccounts/shop/default"] == "" && strings.Contains(c.name, "class") {
				disabled = []string{"ServiceAccount"}
			}
			obj, err := admit(t, c.world, c.plural, c.object, disabled...)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				v := obj
				for _, name := range strings.Fields(c.path) {
					if name == "0" {
						v = v.Index(0)
					} else {
						v = v.Get(name)
					}
				}
				if v.Exists() {
					got = string(v.AppendJSON(nil))
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTokenIsMounted(t *testing.T) {
	obj, err := admit(t, account, "pods", "metadata: {name: p}\nspec: {initContainers: [{name: a, image: i}], containers: [{name: c, image: i}]}")
	if err != nil {
		t.Fatal(err)
	}
	volume := obj.Get("spec").Get("volumes").Index(0)
	name := volume.Get("name").Text()
	if !strings.HasPrefix(name, "kube-api-access-") || len(name) != len("kube-api-access-")+5 {
		t.Errorf("the volume's name is %q", name)
	}
	const want = `{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},` +
		`{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}`
	if got := string(volume.Get("projected").AppendJSON(nil)); got != want {
		t.Errorf("the volume is\n%s\nwant\n%s", got, want)
	}
	for _, list := range []string{"initContainers", "containers"} {
		mount := obj.Get("spec").Get(list).Index(0).Get("volumeMounts")
		if got, want := string(mount.AppendJSON(nil)), `[{"name":"`+name+`","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]`; got != want {
			t.Errorf("%s: %s, want %s", list, got, want)
		}
	}
}

func TestPriorityIsKeptOnUpdate(t *testing.T) {
	res := resource(t, "pods")
	obj, old := decode(t, res, pod+"}"), decode(t, res, pod+", priority: 5, preemptionPolicy: Never}")
	err := admission.New(world{}, admission.Config{}).Admit(context.Background(), &admission.Request{Operation: admission.Update, Resource: res, Object: obj, Old: old})
	if n, _ := obj.Get("spec").Get("priority").Int(); err != nil || n != 5 || !obj.Get("spec").Get("preemptionPolicy").Equals("Never") {
		t.Errorf("%v: %s", err, obj.AppendJSON(nil))
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		config admission.Config
		want   string // "": no error
	}{
		{admission.Config{EnableAdmissionPlugins: []string{"ServiceAccount", "NamespaceLifecycle"}}, ""},
		{admission.Config{EnableAdmissionPlugins: []string{"ServiceAcount"}}, "--enable-admission-plugins: there is no admission plug-in \"ServiceAcount\"; there are NamespaceLifecycle, LimitRanger, ServiceAccount"},
		{admission.Config{DisableAdmissionPlugins: []string{"ServiceAccount", "PodSecurity", "NamespaceLifecycle"}}, ""},
		{admission.Config{EnableAdmissionPlugins: []string{"Priority"}, DisableAdmissionPlugins: []string{"Priority"}}, "both name Priority"},
		{admission.Config{DisableAdmissionPlugins: []string{"ServiceAcount"}}, "--disable-admission-plugins: there is no admission plug-in"},
	} {
		err := c.config.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.config, err, c.want)
		}
	}
}

// An error of the store is not turned into a refusal.
func TestBrokenStore(t *testing.T) {
	broken := errors.New("disk")
	res := resource(t, "pods")
	err := admission.New(failing{err: broken}, admission.Config{}).Admit(context.Background(), &admission.Request{Operation: admission.Create, Resource: res, Object: decode(t, res, pod+"}")})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type failing struct {
	admission.Objects
	err error
}

func (f failing) Get(context.Context, string, string, string, string) (document.Value, func(), error) {
	return document.Value{}, func() {}, f.err
}

func (f failing) GetSoon(context.Context, string, string, string, string) (document.Value, func(), error) {
	return document.Value{}, func() {}, f.err
}

func (f failing) MayGrant(context.Context, *admission.Request) error { return f.err }

func (f failing) Class(string) *admission.Class { return nil }

func (f failing) May(context.Context, *authn.User, admission.Right) (bool, string, error) {
	return false, "", f.err
}

func (f failing) Kind(string, string) *api.Resource { return nil }

// BenchmarkPlugins is the cost of all plug-ins for writes about which they have nothing to do.
func BenchmarkPlugins(b *testing.B) {
	for _, plural := range []string{"configmaps", "pods"} {
		b.Run(plural, func(b *testing.B) {
			res := resource(b, plural)
			chain := admission.New(world{}, admission.Config{DisableAdmissionPlugins: []string{"ServiceAccount"}, Timings: &metrics.Admission{}})
			obj := decode(b, res, map[string]string{"configmaps": "metadata: {name: p}", "pods": pod + ", tolerations: [{operator: Exists}]}"}[plural])
			b.ReportAllocs()
			for b.Loop() {
				r := admission.Request{Operation: admission.Create, Resource: res, Object: obj}
				if err := chain.Admit(context.Background(), &r); err != nil {
					b.Fatal(err)
				}
				if err := chain.Check(context.Background(), &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
