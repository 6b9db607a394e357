package bootstrap

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/document"
)

func TestObjects(t *testing.T) {
	all, err := Objects("example.org", "labels.example.org", Release{})
	if err != nil {
		t.Fatal(err)
	}
	kinds, seen := map[string]int{}, map[string]bool{}
	for _, o := range all {
		kinds[o.Kind]++
		if key := o.Kind + "/" + o.Namespace + "/" + o.Name; seen[key] {
			t.Errorf("%s is there twice", key)
		} else {
			seen[key] = true
		}
		if strings.ContainsAny(string(o.JSON), "<>") || strings.Contains(string(o.JSON), "k8s.io") || strings.Contains(string(o.JSON), "kubernetes.io") {
			t.Errorf("%s %s has names of another profile: %s", o.Kind, o.Name, o.JSON)
		}
		var whole struct {
			Metadata struct{ Labels, Annotations map[string]string }
		}
		if err := json.Unmarshal(o.JSON, &whole); err != nil {
			t.Errorf("%s %s: %v", o.Kind, o.Name, err)
		}
		if strings.HasPrefix(o.APIVersion, "rbac") && (whole.Metadata.Labels["labels.example.org/bootstrapping"] != "rbac-defaults" || whole.Metadata.Annotations["rbac.authorization.labels.example.org/autoupdate"] != "true") {
			t.Errorf("%s %s is not marked as a default: %s", o.Kind, o.Name, o.JSON)
		}
	}
	want := map[string]int{"PriorityClass": 2, "ClusterRole": 62, "ClusterRoleBinding": 43, "Role": 7, "RoleBinding": 7, "PriorityLevelConfiguration": 8, "FlowSchema": 13}
	for kind, n := range want {
		if kinds[kind] != n {
			t.Errorf("%d objects of kind %s, expected %d", kinds[kind], kind, n)
		}
	}
	for _, o := range all {
		if o.Kind == "ClusterRoleBinding" || o.Kind == "RoleBinding" {
			var b struct{ RoleRef struct{ Kind, Name string } }
			_ = json.Unmarshal(o.JSON, &b)
			namespace := o.Namespace
			if b.RoleRef.Kind == "ClusterRole" {
				namespace = ""
			}
			if !seen[b.RoleRef.Kind+"/"+namespace+"/"+b.RoleRef.Name] {
				t.Errorf("%s %s is about a role that is not there: %s", o.Kind, o.Name, b.RoleRef.Name)
			}
		}
	}
}

func read(t *testing.T, text string) document.Value {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := document.DecodeAny(data, document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(doc.Release)
	return doc.Root()
}

func TestReconcile(t *testing.T) {
	const podRule = "{apiGroups: [''], resources: [pods], verbs: [get, list]}"
	rules := func(list string) string { return "{metadata: {name: a}, rules: [" + list + "]}" }
	for _, c := range []struct {
		name, current, want string
		verdict             Verdict
		member, after       string
	}{
		{"as wanted", rules(podRule), rules(podRule), Keep, "rules", ""},
		{"lost a rule", rules(""), rules(podRule), Update, "rules", "[" + podRule + "]"},
		{"lost a verb", rules("{apiGroups: [''], resources: [pods], verbs: [get]}"), rules(podRule), Update, "rules",
			"[{apiGroups: [''], resources: [pods], verbs: [get]}, " + podRule + "]"},
		{"verbs in two rules", rules("{apiGroups: [''], resources: [pods], verbs: [get]}, {apiGroups: [''], resources: [pods], verbs: [list]}"), rules(podRule), Keep, "rules", ""},
		{"more than wanted", rules("{apiGroups: ['', apps], resources: [pods, nodes], verbs: [get, list, watch]}"), rules(podRule), Keep, "rules", ""},
		{"everything", rules("{apiGroups: ['*'], resources: ['*'], verbs: ['*']}"), rules(podRule), Keep, "rules", ""},
		{"only some objects", rules("{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get, list]}"), rules(podRule), Update, "rules", ""},
		{"an object of all", rules(podRule), rules("{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}"), Keep, "rules", ""},
		{"a subresource of all", rules("{apiGroups: [apps], resources: ['*/scale'], verbs: [get]}"), rules("{apiGroups: [apps], resources: [deployments/scale], verbs: [get]}"), Keep, "rules", ""},
		{"a subresource is not of the resource", rules("{apiGroups: [''], resources: [pods], verbs: [get]}"), rules("{apiGroups: [''], resources: [pods/log], verbs: [get]}"), Update, "rules", ""},
		{"URL below", rules("{nonResourceURLs: ['/api*'], verbs: [get]}"), rules("{nonResourceURLs: [/api, /apis/], verbs: [get]}"), Keep, "rules", ""},
		{"URL beside", rules("{nonResourceURLs: [/api], verbs: [get]}"), rules("{nonResourceURLs: [/apis], verbs: [get]}"), Update, "rules", ""},
		{"kept by its owner", "{metadata: {annotations: {auto: 'false'}}}", rules(podRule), Keep, "rules", ""},
		{"label", "{metadata: {labels: {a: x, c: d}}}", "{metadata: {labels: {a: b, e: f}}}", Update, "metadata", "{labels: {a: x, c: d, e: f}}"},
		{"annotation", "{metadata: {}}", "{metadata: {annotations: {e: f}}}", Update, "metadata", "{annotations: {e: f}}"},
		{"subject", "{metadata: {}, roleRef: {name: r}, subjects: [{name: a}]}", "{metadata: {}, roleRef: {name: r}, subjects: [{name: b}]}", Update, "subjects", "[{name: a}, {name: b}]"},
		{"another role", "{metadata: {}, roleRef: {name: q}}", "{metadata: {}, roleRef: {name: r}}", Replace, "roleRef", ""},
		{"selector", "{metadata: {}, rules: []}", "{metadata: {}, aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}", Update, "aggregationRule", "{clusterRoleSelectors: [{matchLabels: {a: b}}]}"},
	} {
		current := read(t, c.current)
		if got := Reconcile(current, read(t, c.want), "auto"); got != c.verdict {
			t.Errorf("%s: verdict %d, expected %d", c.name, got, c.verdict)
		}
		after := c.after
		if after == "" {
			continue
		}
		if got, want := string(current.Get(c.member).AppendJSON(nil)), string(read(t, after).AppendJSON(nil)); got != want {
			t.Errorf("%s: %s, expected %s", c.name, got, want)
		}
		if again := Reconcile(current, read(t, c.want), "auto"); again != Keep {
			t.Errorf("%s: not settled after once: %d", c.name, again)
		}
	}
}

func TestReconcileSpec(t *testing.T) {
	object := func(name, annotations string, generation, level int) string {
		return fmt.Sprintf("{metadata: {name: %s, generation: %d, annotations: {%s}}, spec: {level: %d}}", name, generation, annotations, level)
	}
	for _, c := range []struct {
		name, current string
		verdict       Verdict
		level         string
		annotation    string
	}{
		{"as wanted", object("a", "auto: 'true'", 1, 1), Keep, "1", "true"},
		{"changed", object("a", "auto: 'true'", 2, 2), Update, "1", "true"},
		{"kept", object("a", "auto: 'false'", 2, 2), Keep, "2", "false"},
		{"nothing said, never changed", object("a", "", 1, 2), Update, "1", "true"},
		{"nothing said, changed", object("a", "", 2, 2), Update, "2", "false"},
		{"nobody's to keep", object("exempt", "auto: 'false'", 2, 2), Update, "1", "true"},
	} {
		current := read(t, c.current)
		if got := ReconcileSpec(current, read(t, object("a", "auto: 'true'", 1, 1)), "auto"); got != c.verdict {
			t.Errorf("%s: verdict %d, expected %d", c.name, got, c.verdict)
		}
		if got := string(current.At("spec", "level").AppendJSON(nil)); got != c.level || !current.At("metadata", "annotations", "auto").Equals(c.annotation) {
			t.Errorf("%s: %s", c.name, current.AppendJSON(nil))
		}
	}
}

// TestReleases: a release has the objects, rules and subjects of it, and none of the keys that say so.
func TestReleases(t *testing.T) {
	for release, want := range map[string]map[string]string{
		"1.25": {"system:kubelet-api-admin": "nodes/spec", "system:kube-scheduler": `"endpoints"`},
		"1.31": {"system:basic-user": "selfsubjectreviews", "system::leader-locking-kube-controller-manager": "leader-election-controller"},
		"1.36": {"system:kube-scheduler": "resourceclaims/binding", "system:controller:device-taint-eviction-controller": "device-taint-eviction-controller"},
	} {
		all, err := Objects("example.org", "labels.example.org", Release{Since: func(named string) bool { return named <= release }, On: func(string) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			found := false
			for _, o := range all {
				found = found || o.Name == name && strings.Contains(string(o.JSON), text)
			}
			if !found {
				t.Errorf("%s: no object %s with %s", release, name, text)
			}
		}
		for _, o := range all {
			if strings.Contains(string(o.JSON), `"since"`) || strings.Contains(string(o.JSON), `"until"`) || release == "1.36" && strings.Contains(string(o.JSON), "nodes/spec") {
				t.Errorf("%s: %s is %s", release, o.Name, o.JSON)
			}
		}
	}
}
