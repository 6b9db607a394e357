package gen

import (
	"fmt"
	"math/rand"
	"regexp"
	"sort"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/exec"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Areas are the kinds of requests that can be chosen with -area.
var Areas = []string{"create", "update", "patch", "apply", "list", "watch", "delete", "subresource", "negotiation", "query", "kubectl"}

// Options select the generated scenarios.
type Options struct {
	Seed  int64
	Only  *regexp.Regexp // resources, like deployments.apps/v1
	Areas map[string]bool
	Steps int // most requests after the first objects
}

// Generator makes scenarios; the same seed and server description give the same ones.
type Generator struct {
	opts      Options
	tables    *tables
	resources []*api.Resource
	weights   []int
	areas     []string
}

// heavy are resources that clients use most; they come up more often.
var heavy = map[string]int{"pods": 6, "services": 4, "deployments.apps": 4, "configmaps": 3, "secrets": 2, "jobs.batch": 3, "statefulsets.apps": 3,
	"nodes": 2, "persistentvolumes": 2, "persistentvolumeclaims": 2, "horizontalpodautoscalers.autoscaling": 2, "daemonsets.apps": 2, "cronjobs.batch": 2,
	"ingresses.networking.k8s.io": 2, "networkpolicies.networking.k8s.io": 2, "customresourcedefinitions.apiextensions.k8s.io": 3,
	"gadgets.differ.example.com": 4}

// unstable resources are changed by loops inside the servers after every write, so that they are written with dryRun only.
var unstable = map[string]bool{"apiservices.apiregistration.k8s.io": true, "customresourcedefinitions.apiextensions.k8s.io": true,
	"flowschemas.flowcontrol.apiserver.k8s.io": true, "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": true}

// farReaching resources affect other scenarios, so that only their unspoiled objects are
// really written.
var farReaching = map[string]bool{"mutatingwebhookconfigurations.admissionregistration.k8s.io": true,
	"validatingwebhookconfigurations.admissionregistration.k8s.io": true, "priorityclasses.scheduling.k8s.io": true,
	"validatingadmissionpolicies.admissionregistration.k8s.io": true, "validatingadmissionpolicybindings.admissionregistration.k8s.io": true,
	"mutatingadmissionpolicies.admissionregistration.k8s.io": true, "mutatingadmissionpolicybindings.admissionregistration.k8s.io": true,
	"servicecidrs.networking.k8s.io": true}

// existing objects of unstable resources, which requests can address.
var existing = map[string][]string{"apiservices.apiregistration.k8s.io": {"v1.apps", "v1.batch"},
	"flowschemas.flowcontrol.apiserver.k8s.io":                 {"catch-all", "global-default"},
	"prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": {"catch-all", "workload-low"}}

// New makes a generator for the resources that it has valid objects for.
func New(a *api.API, o Options) (*Generator, error) {
	t, err := loadTables()
	if err != nil {
		return nil, err
	}
	g := &Generator{opts: o, tables: t}
	for _, r := range a.Resources {
		if len(t.basesOf(r)) == 0 || (o.Only != nil && !o.Only.MatchString(r.ID())) || r.Schema == nil {
			continue
		}
		w := heavy[r.Short()]
		if w == 0 {
			w = 1
		}
		g.resources = append(g.resources, r)
		g.weights = append(g.weights, w)
	}
	if len(g.resources) == 0 {
		return nil, fmt.Errorf("no resource matches")
	}
	for _, x := range Areas {
		if len(o.Areas) == 0 || o.Areas[x] {
			g.areas = append(g.areas, x)
		}
	}
	if g.opts.Steps < 5 {
		g.opts.Steps = 25
	}
	return g, nil
}

// object is an object that a scenario has created, as the generator expects it.
type object struct {
	res  *api.Resource
	name string
	body map[string]any
	id   string // of its variables: UID<id>, RV<id>, OLD<id>
	ns   string
}

func (o *object) path() string { return o.res.Path(o.ns) + "/" + o.name }

type builder struct {
	g     *Generator
	r     *rand.Rand
	steps []*scenario.Step
	objs  []*object
	n     int
}

// Scenario makes the i-th scenario of the seed.
func (g *Generator) Scenario(i int) *scenario.Scenario {
	b := &builder{g: g, r: rand.New(rand.NewSource(g.opts.Seed*1_000_003 + int64(i)))}
	res := []*api.Resource{b.resource()}
	if b.r.Intn(3) == 0 {
		res = append(res, b.resource())
	}
	for n := 1 + b.r.Intn(2); n > 0; n-- {
		b.create(res[b.r.Intn(len(res))], 0)
	}
	for n := 4 + b.r.Intn(g.opts.Steps-4); len(b.steps) < n; {
		r := res[b.r.Intn(len(res))]
		b.area(g.areas[b.r.Intn(len(g.areas))], r)
	}
	b.vary()
	return &scenario.Scenario{Name: fmt.Sprintf("differ/%d-%d", g.opts.Seed, i), Tags: []string{"differ"}, Steps: b.steps}
}

// vary sends some requests as another user, and some bodies in the binary form. Steps
// that later ones depend on stay as they are.
func (b *builder) vary() {
	for _, st := range b.steps {
		switch _, object := st.Body.(map[string]any); {
		case len(st.Save) == 0 && b.r.Intn(40) == 0:
			st.As = exec.Users[b.r.Intn(len(exec.Users))]
		case object && st.Method != "PATCH" && st.Headers["Content-Type"] == "" && b.r.Intn(8) == 0:
			st.Binary = true
		}
	}
}

func (b *builder) area(area string, r *api.Resource) {
	o := b.objectOf(r)
	switch area {
	case "create":
		b.create(r, 1+b.r.Intn(3))
	case "update":
		b.update(o)
	case "patch":
		b.patch(o)
	case "apply":
		b.apply(r)
	case "kubectl":
		if b.r.Intn(2) == 0 {
			b.kubectl(r)
		}
	case "list":
		b.list(r)
	case "watch":
		if b.r.Intn(3) == 0 {
			b.watch(r)
		}
	case "delete":
		if b.r.Intn(3) == 0 {
			b.remove(r, o)
		}
	case "subresource":
		b.subresource(o)
	case "negotiation":
		b.negotiation(r, o)
	case "query":
		b.query(r, o)
	}
}

func (b *builder) resource() *api.Resource {
	total := 0
	for _, w := range b.g.weights {
		total += w
	}
	n := b.r.Intn(total)
	for i, w := range b.g.weights {
		if n -= w; n < 0 {
			return b.g.resources[i]
		}
	}
	return b.g.resources[0]
}

// objectOf finds an object of the resource; without one it names one that does not exist, or exists in every server.
func (b *builder) objectOf(r *api.Resource) *object {
	var l []*object
	for _, o := range b.objs {
		if o.res == r {
			l = append(l, o)
		}
	}
	if len(l) > 0 && b.r.Intn(12) > 0 {
		return l[b.r.Intn(len(l))]
	}
	if names := existing[r.Short()]; len(names) > 0 {
		o := b.build(r)
		o.name = names[b.r.Intn(len(names))]
		o.body["metadata"].(map[string]any)["name"] = o.name
		return o
	}
	if len(l) > 0 && b.r.Intn(3) > 0 {
		return l[0]
	}
	o := b.build(r)
	o.id = "none"
	return o
}

// build makes a valid object without sending it.
func (b *builder) build(r *api.Resource) *object {
	bases := b.g.tables.basesOf(r)
	b.n++
	o := &object{res: r, name: string(rune('a' + (b.n-1)%26)), id: fmt.Sprint(b.n), ns: "${NS}"}
	if !r.Namespaced {
		o.name = "${NS}-" + o.name
		o.ns = ""
	}
	body := scenario.Copy(bases[b.r.Intn(len(bases))]).(map[string]any)
	switch r.Name {
	case "apiservices":
		o.name = "v1.g.${NS}.example.com"
	case "customresourcedefinitions":
		o.name = "widgets.g.${NS}.example.com"
	}
	body["apiVersion"], body["kind"] = r.APIVersion(), r.Kind
	md, _ := body["metadata"].(map[string]any)
	if md == nil {
		md = map[string]any{}
		body["metadata"] = md
	}
	md["name"] = o.name
	if !r.Namespaced {
		l, _ := md["labels"].(map[string]any)
		if l == nil {
			l = map[string]any{}
			md["labels"] = l
		}
		l["scenario"] = "${NS}"
	}
	o.body = body
	return o
}

func (b *builder) add(s *scenario.Step) *scenario.Step {
	b.steps = append(b.steps, s)
	return s
}

// dry reports whether a write must be a dry run.
func dry(r *api.Resource, spoiled bool) bool {
	return unstable[r.Short()] || (spoiled && farReaching[r.Short()])
}

func query(path string, params ...string) string {
	sep := "?"
	for _, p := range params {
		if p != "" {
			path += sep + p
			sep = "&"
		}
	}
	return path
}

// chance gives one of the values with probability 1/n, else nothing.
func (b *builder) chance(n int, values ...string) string {
	if b.r.Intn(n) > 0 {
		return ""
	}
	return values[b.r.Intn(len(values))]
}

func dryParam(d bool) string {
	if d {
		return "dryRun=All"
	}
	return ""
}

func merge(a, z map[string]string) map[string]string {
	keys := make([]string, 0, len(z))
	for k := range z {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		a[k] = z[k]
	}
	return a
}
