package load

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/schema"
)

// allVerbs are the verbs that a resource may have.
var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// resourceText holds the keys of a resource that the model has in another form.
type resourceText struct {
	scope, schema, storedAs string
	storage, age            *bool
}

// resource reads one entry of x-cluster-resources.
func (d *documents) resource(e entry, gv *model.GroupVersion) {
	res := &model.Resource{Pos: e.at.pos(), GV: gv, Plural: e.key, StorageVersion: gv.Version, NameFormat: "dns1123-subdomain"}
	var said resourceText
	d.object(e.value, d.resourceKeys(res, &said))
	if !domainName.MatchString(res.Plural) || strings.Contains(res.Plural, ".") {
		d.fail(res.Pos, "write small letters and digits", "%q cannot be the name of a resource", res.Plural)
	}
	if res.Kind == "" {
		return
	}
	d.checkOperationAction(res, &said)
	res.Namespaced = said.scope == "Namespaced"
	res.Stored = said.storage == nil && res.Endpoint == "" || said.storage != nil && *said.storage
	if d.checkLife(res); said.storedAs == "" {
		d.usualColumns(res, said.age == nil || *said.age)
	}
	res.ListKind = cmp.Or(res.ListKind, res.Kind+"List")
	if len(res.Verbs) == 0 {
		res.Verbs = usualVerbs(res.Endpoint)
	}
	res.Verbs = sortedWords(res.Verbs)
	d.checkWords(e, res)
	d.links = append(d.links, link{e.posOf("kind"), gv, cmp.Or(said.schema, "/"+gv.Dir+"/"+res.Kind), &res.Type})
	d.storeAs(e, res, said.storedAs)
	for i := range res.Subresources {
		res.HasStatus = res.HasStatus || res.Subresources[i].Endpoint == api.EndpointStatus
	}
	gv.Resources = append(gv.Resources, res)
}

// resourceKeys reads the keys of a resource.
func (d *documents) resourceKeys(res *model.Resource, said *resourceText) map[string]func(node) {
	keys := d.lifeKeys(res)
	maps.Copy(keys, map[string]func(node){
		"kind": d.text(&res.Kind), "singular": d.text(&res.Singular), "listKind": d.text(&res.ListKind),
		"scope":      d.text(&said.scope),
		"shortNames": d.texts(&res.ShortNames), "categories": d.texts(&res.Categories),
		"verbs":   d.texts(&res.Verbs),
		"storage": d.optionalBool(&said.storage), "storageVersionHash": d.text(&res.StorageVersionHash),
		"storedAs": d.text(&said.storedAs), "schema": d.text(&said.schema),
		"nameFormat":   d.text(&res.NameFormat),
		"hooks":        d.texts(&res.Hooks),
		"reads":        d.reads(res),
		"subresources": func(n node) { d.subresources(n, res) },
		"columns":      func(n node) { d.columns(n, res) }, "age": d.optionalBool(&said.age),
		"selectable": func(n node) { d.selectable(n, res) },
	})
	return keys
}

// storeAs notes the resource as which the objects are stored, if it is another, and whether
// a hook converts them.
func (d *documents) storeAs(e entry, res *model.Resource, as string) {
	hooks := len(res.Hooks)
	res.Hooks = slices.DeleteFunc(res.Hooks, func(h string) bool { return h == "convert" })
	converts := len(res.Hooks) < hooks
	switch {
	case as != "":
		res.Stored = true
		d.stored = append(d.stored, stored{e.posOf("storedAs"), res, as, converts})
	case converts:
		d.fail(e.posOf("hooks"), "add storedAs, or remove the hook", "%s is stored as it is and needs no conversion", res.Plural)
	default:
		d.checkAliases(res, res.Selectable)
	}
}

// lifeKeys reads the keys for writing, keeping and ending the objects of a resource.
func (d *documents) lifeKeys(res *model.Resource) map[string]func(node) {
	return map[string]func(node){
		"generation": d.boolean(&res.HasGeneration), "graceful": d.graceful(res), "completes": d.boolean(&res.Completes), "expires": d.boolean(&res.Expires),
		"statusOnCreate": d.boolean(&res.StatusOnCreate), "deleteReturnsObject": d.boolean(&res.DeleteReturnsObject),
		"endpoint":          d.endpoint(&res.Endpoint),
		"action":            d.action(&res.Action, res.GV),
		"role":              d.text(&res.Role),
		"featureGate":       d.text(&res.Gate),
		"conditionalUpdate": d.boolean(&res.ConditionalUpdate), "protectedNames": d.texts(&res.ProtectedNames),
		"dependents": d.text(&res.Dependents), "orphanWarning": d.text(&res.OrphanWarning),
		"errorGroup": d.text(&res.ErrorGroup), "checksOnUpdate": d.checks(&res.Checks), "checksOnCreate": d.integer(&res.ChecksOnCreate),
		"checkedWhenMissing": d.boolean(&res.CheckedWhenMissing), "metadataLast": d.boolean(&res.MetadataLast), "anyFinalizer": d.boolean(&res.AnyFinalizer),
		"keeps": d.texts(&res.Keeps), "carries": d.texts(&res.Carries),
		"hiddenAnnotations": d.texts(&res.HiddenAnnotations),
		"lifecycle":         d.readLifecycle(&res.Lifecycle),
		"deprecated":        func(n node) { d.object(n, d.deprecatedKeys(&res.Deprecation)) },
	}
}

func (d *documents) deprecatedKeys(to *model.Deprecation) map[string]func(node) {
	return map[string]func(node){"since": d.text(&to.DeprecatedSince), "removedIn": d.text(&to.RemovedIn), "replacement": d.text(&to.Replacement)}
}

// checkLife checks that the keys of lifeKeys fit together.
func (d *documents) checkLife(res *model.Resource) {
	d.checkOperation(res)
	if res.OrphanWarning != "" && res.Dependents != "orphan" {
		d.fail(res.Pos, "add dependents: orphan, or drop orphanWarning", "a delete of %s orphans nothing that the orphanWarning could be about", res.Plural)
	}
}

// checks reads the checks of an update in their order. An empty list means none.
func (d *documents) checks(to *[]string) func(node) {
	return func(n node) {
		*to = []string{}
		d.texts(to)(n)
	}
}

// graceful reads the time that the end of an object may take.
func (d *documents) graceful(res *model.Resource) func(node) {
	return func(n node) {
		g := &model.Grace{Pos: n.pos()}
		d.object(n, d.gracefulKeys(g))
		res.Graceful = g
	}
}

func (d *documents) gracefulKeys(g *model.Grace) map[string]func(node) {
	return map[string]func(node){"period": d.text(&g.Period), "default": d.integer(&g.Default), "needs": d.text(&g.Needs)}
}

// usualEndpoints are the endpoints of subresources that follow from their names.
var usualEndpoints = map[string]api.Endpoint{"scale": api.EndpointScale, "status": api.EndpointStatus}

// usualVerbs are the verbs of a resource or subresource without the key verbs.
func usualVerbs(e api.Endpoint) []string {
	switch {
	case e == "":
		return allVerbs
	case e.Proxies():
		return []string{"create", "delete", "get", "patch", "update"}
	case e.Connects():
		return []string{"create", "get"}
	case e == api.EndpointFinalize:
		return []string{"update"}
	case e == api.EndpointLog:
		return []string{"get"}
	case e.AnswersObject():
		return []string{"get", "patch", "update"}
	}
	return []string{"create"}
}

// endpoint reads the name of an endpoint.
func (d *documents) endpoint(to *api.Endpoint) func(node) {
	return func(n node) { *to = api.Endpoint(n.Value) }
}

// checkOperation checks that a resource keeps objects or is an operation.
func (d *documents) checkOperation(res *model.Resource) {
	operates := !res.Stored && slices.Contains(res.Verbs, "create")
	switch {
	case res.Action != nil: // checkOperationAction has looked at it
	case operates && res.Endpoint == "":
		d.fail(res.Pos, "add endpoint, or drop storage: false", "%s are created and not kept, and no endpoint says what becomes of them", res.Plural)
	case res.Endpoint != "" && res.Stored:
		d.fail(res.Pos, "drop one of them", "%s have an endpoint, and storage for objects", res.Plural)
	case res.Endpoint != "" && !res.Endpoint.Operates():
		d.fail(res.Pos, "give it to a subresource", "%s have the endpoint %s, which is about one object", res.Plural, res.Endpoint)
	}
}

func sortedWords(words []string) []string {
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func (d *documents) subresources(n node, res *model.Resource) {
	entries := d.entries(n)
	res.Subresources = make([]model.Subresource, len(entries)) // links point into it
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	for i, e := range entries {
		sub := &res.Subresources[i]
		sub.Pos, sub.Name, sub.Endpoint = e.at.pos(), e.key, usualEndpoints[e.key]
		ref := ""
		d.object(e.value, d.subresourceKeys(sub, res.GV, &ref))
		d.checkAction(sub, res, ref)
		scale := sub.SpecReplicas != "" || sub.StatusReplicas != "" || sub.Selector != ""
		switch {
		case sub.Endpoint == "":
			fix := "add an action"
			if d.model.Module == "" {
				fix = "add endpoint"
			}
			d.fail(sub.Pos, fix, "the subresource %s of %s does not say what it does", sub.Name, res.Plural)
		case sub.Endpoint.Operates() && sub.Endpoint != api.EndpointBind && sub.Endpoint != api.EndpointAction:
			d.fail(sub.Pos, "give it to a resource without storage", "the subresource %s of %s has the endpoint %s, which is about no object", sub.Name,
				res.Plural, sub.Endpoint)
		case sub.Endpoint == api.EndpointScale:
			if ref == "" {
				ref = "/autoscaling/v1/Scale"
			}
			if sub.SpecReplicas == "" || sub.StatusReplicas == "" {
				d.fail(sub.Pos, "add specReplicas and statusReplicas, like .spec.replicas", "the scale of %s does not say where its replicas are", res.Plural)
			}
		case scale:
			d.fail(sub.Pos, "drop them", "the subresource %s of %s has paths that only scale has", sub.Name, res.Plural)
		}
		if len(sub.Verbs) == 0 {
			sub.Verbs = usualVerbs(sub.Endpoint)
		}
		sub.Verbs = sortedWords(sub.Verbs)
		if ref != "" {
			d.links = append(d.links, link{sub.Pos, res.GV, ref, &sub.Type})
		}
	}
}

func (d *documents) subresourceKeys(sub *model.Subresource, gv *model.GroupVersion, ref *string) map[string]func(node) {
	return map[string]func(node){
		"endpoint": d.endpoint(&sub.Endpoint), "verbs": d.texts(&sub.Verbs), "schema": d.text(ref), "alsoAccepts": d.texts(&sub.AlsoAccepts),
		"specReplicas": d.text(&sub.SpecReplicas), "statusReplicas": d.text(&sub.StatusReplicas), "selector": d.text(&sub.Selector),
		"checksOnUpdate": d.checks(&sub.Checks), "keeps": d.texts(&sub.Keeps), "unowned": d.texts(&sub.Unowned), "missingAs": d.text(&sub.MissingAs),
		"action": d.action(&sub.Action, gv), "lifecycle": d.readLifecycle(&sub.Lifecycle), "featureGate": d.text(&sub.Gate),
	}
}

func (d *documents) selectableKeys(f *model.Selectable) map[string]func(node) {
	return map[string]func(node){"name": d.text(&f.Name), "path": d.text(&f.Path), "else": d.text(&f.Else), "default": d.text(&f.Default),
		"aliasOf": d.text(&f.AliasOf), "never": d.boolean(&f.Never),
		"lifecycle": d.readLifecycle(new(schema.Lifecycle))} // present has applied it
}

// selectable reads a list of selectable fields: names alone, or names with more.
func (d *documents) selectable(n node, res *model.Resource) {
	for _, item := range d.items(n) {
		f := model.Selectable{Pos: item.pos()}
		if item.Kind == yaml.ScalarNode {
			f.Name = item.Value
		} else {
			d.object(item, d.selectableKeys(&f))
		}
		if f.Path == "" && f.AliasOf == "" && !f.Never && f.Name != "" {
			f.Path = "." + f.Name
		}
		d.checkSelectable(f, res)
		res.Selectable = append(res.Selectable, f)
	}
}

// checkAliases checks that the aliases of a resource stand for something.
func (d *documents) checkAliases(res *model.Resource, fields []model.Selectable) {
	for _, f := range res.Selectable {
		known := f.AliasOf == "" || f.AliasOf == "metadata.name" || f.AliasOf == "metadata.namespace"
		for _, other := range fields {
			known = known || other.Name == f.AliasOf && other.AliasOf == ""
		}
		if !known {
			d.fail(f.Pos, "name a selectable field that is not an alias", "%s is an alias of %s, which is not selectable, or an alias itself", f.Name, f.AliasOf)
		}
	}
}

func (d *documents) checkSelectable(f model.Selectable, res *model.Resource) {
	given := 0
	for _, has := range []bool{f.Path != "", f.AliasOf != "", f.Never} {
		if has {
			given++
		}
	}
	switch {
	case f.Name == "":
		d.fail(f.Pos, "add name", "a selectable field of %s has no name", res.Plural)
	case f.Name == "metadata.name" || f.Name == "metadata.namespace":
		d.fail(f.Pos, "remove it", "%s is selectable everywhere", f.Name)
	case given != 1 || f.Else != "" && f.Path == "":
		d.failOf(model.OfSelectable, f.Pos, "write path, aliasOf or never", "the selectable field %s needs one way to its value", f.Name)
	case slices.ContainsFunc(res.Selectable, func(o model.Selectable) bool { return o.Name == f.Name }):
		d.fail(f.Pos, "remove one of them", "%s has two selectable fields %s", res.Plural, f.Name)
	}
}
