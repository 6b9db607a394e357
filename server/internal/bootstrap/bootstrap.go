package bootstrap

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/yaml"
)

//go:embed *.yaml
var files embed.FS

// controllerPrefix begins the names of the cluster roles that are bound to a
// service account of kube-system.
const controllerPrefix = "system:controller:"

// Object is one object that a cluster has from its start.
type Object struct {
	APIVersion, Kind string
	Namespace, Name  string // Namespace is "" for cluster-scoped objects
	JSON             []byte // as a client would send it
}

// list is a file.
type list struct {
	APIVersion  string
	Later       map[string]string // versions by the release that begins to have them
	Kind        string
	Labels      map[string]string
	Annotations map[string]string
	Items       []item
}

// item is the part of a list that belongs to one object.
type item struct {
	Name      string
	Namespace string
	Clusters
	Labels  map[string]string
	Members map[string]any `json:"-"` // the others
}

// UnmarshalJSON implements json.Unmarshaler.
func (i *item) UnmarshalJSON(text []byte) error {
	type known item // without this method
	if err := json.Unmarshal(text, (*known)(i)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &i.Members); err != nil {
		return err
	}
	for _, name := range []string{"name", "namespace", "labels", "since", "until", "gates"} {
		delete(i.Members, name)
	}
	return nil
}

// Clusters are those that have an object, a rule of a role, or a subject of a binding. These keys are not part of it.
type Clusters struct {
	Since string   // the first release; "" for the oldest one
	Until string   // the first release without it; "" for none
	Gates []string // of features that are all on; with "-" before it of one that is off
}

// Release is the release of a cluster.
type Release struct {
	// Since reports whether it is a named one or a later one. Nil: the oldest one.
	Since func(release string) bool
	// On reports whether a feature is on, by the name of its gate. Nil: none is.
	On func(gate string) bool
}

func (r Release) since(release string) bool { return r.Since != nil && r.Since(release) }

func (r Release) on(gate string) bool { return r.On != nil && r.On(gate) }

// Has reports whether it is a named release or a later one, with features that are all on.
func (r Release) Has(since string, gates ...string) bool {
	return Clusters{Since: since, Gates: gates}.has(r)
}

// has reports whether a cluster is one of them.
func (c Clusters) has(r Release) bool {
	return (c.Since == "" || r.since(c.Since)) && (c.Until == "" || !r.since(c.Until)) && !slices.ContainsFunc(c.Gates, func(gate string) bool {
		name, off := strings.CutPrefix(gate, "-")
		return r.on(name) == off
	})
}

// versionIn is the version of the objects in a release.
func (l *list) versionIn(r Release) string {
	version := l.APIVersion
	for _, release := range slices.Sorted(maps.Keys(l.Later)) {
		if r.since(release) {
			version = l.Later[release]
		}
	}
	return version
}

// Objects returns all objects of a release. Those that others refer to come first. An error names the wrong file.
func Objects(groupSuffix, labelDomain string, r Release) ([]Object, error) {
	profile := strings.NewReplacer("<groupSuffix>", groupSuffix, "<labelDomain>", labelDomain)
	var all []Object
	for _, name := range []string{"priorityclasses.yaml", "prioritylevels.yaml", "flowschemas.yaml", "clusterroles.yaml", "controllerroles.yaml", "roles.yaml",
		"clusterrolebindings.yaml", "rolebindings.yaml"} {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var l list
		text, err := yaml.ToJSON([]byte(profile.Replace(string(data))))
		if err == nil {
			err = json.Unmarshal(text, &l)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		l.APIVersion = l.versionIn(r)
		l.Items = slices.DeleteFunc(l.Items, func(i item) bool { return !i.has(r) })
		for _, i := range l.Items {
			for name, of := range i.Members {
				i.Members[name] = present(of, r)
			}
			o, err := l.object(i)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, i.Name, err)
			}
			all = append(all, o)
		}
		if name != "controllerroles.yaml" {
			continue
		}
		bindings := list{APIVersion: l.APIVersion, Kind: "ClusterRoleBinding", Labels: l.Labels, Annotations: l.Annotations}
		group, _, _ := strings.Cut(l.APIVersion, "/")
		for _, i := range l.Items {
			o, err := bindings.object(controllerBinding(i.Name, group))
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, i.Name, err)
			}
			all = append(all, o)
		}
	}
	return all, nil
}

// present is a member of an object as it is in a release: a list without the elements that the release lacks.
func present(member any, r Release) any {
	list, ok := member.([]any)
	if !ok {
		return member
	}
	var left []any
	for _, e := range list {
		of, ok := e.(map[string]any)
		if !ok {
			return member
		}
		var in Clusters
		in.Since, _ = of["since"].(string)
		in.Until, _ = of["until"].(string)
		gates, _ := of["gates"].([]any)
		for _, gate := range gates {
			in.Gates = append(in.Gates, fmt.Sprint(gate))
		}
		if in.has(r) {
			of = maps.Clone(of)
			for _, key := range []string{"since", "until", "gates"} {
				delete(of, key)
			}
			left = append(left, of)
		}
	}
	return left
}

// controllerBinding gives a controller's role to its service account.
func controllerBinding(role, group string) item {
	return item{Name: role, Members: map[string]any{
		"roleRef":  map[string]any{"apiGroup": group, "kind": "ClusterRole", "name": role},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "namespace": "kube-system", "name": strings.TrimPrefix(role, controllerPrefix)}},
	}}
}

// object makes one of the list's objects.
func (l *list) object(i item) (Object, error) {
	meta := map[string]any{"name": i.Name}
	if i.Namespace != "" {
		meta["namespace"] = i.Namespace
	}
	labels := maps.Clone(l.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, i.Labels)
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if len(l.Annotations) > 0 {
		meta["annotations"] = l.Annotations
	}
	whole := map[string]any{"apiVersion": l.APIVersion, "kind": l.Kind, "metadata": meta}
	for name, v := range i.Members {
		if slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
			return Object{}, fmt.Errorf("%s belongs to the head of the file", name)
		}
		whole[name] = v
	}
	text, err := json.Marshal(whole)
	return Object{APIVersion: l.APIVersion, Kind: l.Kind, Namespace: i.Namespace, Name: i.Name, JSON: text}, err
}
