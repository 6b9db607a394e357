package load

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// groupVersion reads one openapi/<dir>.yaml.
func (r *reader) groupVersion(name string, gvs map[string]*model.GroupVersion, types map[string]*model.Type) {
	n, ok := r.file(filepath.Join(r.root, filepath.FromSlash(name)), name)
	if !ok {
		return
	}
	r.validOpenAPI(name)
	gv := groupOf(gvs, strings.TrimSuffix(strings.TrimPrefix(name, "openapi/"), ".yaml"))
	gv.Pos, gv.Served = n.pos(), true
	var resources node
	skip := func(node) {}
	hasGroup := false
	r.object(n, "a group version's document", map[string]func(node){
		"openapi": skip, "info": skip, "paths": skip, "components": skip, "tags": skip, "servers": skip,
		"x-cluster-group":     func(n node) { hasGroup = true; r.group(n, gv) },
		"x-cluster-resources": func(n node) { resources = n },
	})
	if !hasGroup {
		r.fail(n.pos(), "add x-cluster-group: {name, stability, groupPriority, versionPriority}", "the document does not say its group")
	}
	if resources.Node == nil {
		r.fail(n.pos(), "add x-cluster-resources", "the document serves no resources")
		return
	}
	for _, e := range r.entries(resources) {
		r.resource(e, gv, types)
	}
}

func (r *reader) group(n node, gv *model.GroupVersion) {
	r.object(n, "x-cluster-group", map[string]func(node){
		"name": r.text(&gv.Group), "stability": r.text(&gv.Stability),
		"groupPriority": r.integer(&gv.GroupPriority), "versionPriority": r.integer(&gv.VersionPriority),
	})
	if !slices.Contains([]string{"stable", "beta", "alpha"}, gv.Stability) {
		r.fail(n.pos(), "write stable, beta or alpha", "unknown stability %q", gv.Stability)
	}
}

// allVerbs are the verbs of a stored resource that does not say.
var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

func (r *reader) resource(e entry, gv *model.GroupVersion, types map[string]*model.Type) {
	res := &model.Resource{Pos: e.at.pos(), GV: gv, Plural: e.key, StorageVersion: gv.Version, NameFormat: "dns1123-subdomain"}
	var scope, ref string
	r.object(e.value, "a resource", map[string]func(node){
		"kind": r.text(&res.Kind), "singular": r.text(&res.Singular), "listKind": r.text(&res.ListKind), "scope": r.text(&scope),
		"shortNames": r.texts(&res.ShortNames), "categories": r.texts(&res.Categories), "verbs": r.texts(&res.Verbs),
		"storage": r.boolean(&res.Stored), "storageVersion": r.text(&res.StorageVersion), "storageVersionHash": r.text(&res.StorageVersionHash),
		"schema": r.text(&ref), "nameFormat": r.text(&res.NameFormat), "generation": r.boolean(&res.HasGeneration),
		"graceful": r.boolean(&res.Graceful), "statusOnCreate": r.boolean(&res.StatusOnCreate), "deleteReturnsObject": r.boolean(&res.DeleteReturnsObject),
		"hooks":        r.texts(&res.Hooks),
		"subresources": func(n node) { r.subresources(n, res, types) },
		"columns":      func(n node) { r.columns(n, res) },
		"selectable":   func(n node) { r.selectable(n, res) },
		"deprecated": func(n node) {
			r.object(n, "deprecated", map[string]func(node){"since": r.text(&res.DeprecatedSince), "removedIn": r.text(&res.RemovedIn), "replacement": r.text(&res.Replacement)})
		},
	})
	switch scope {
	case "Namespaced":
		res.Namespaced = true
	case "Cluster":
	default:
		r.fail(res.Pos, "write scope: Namespaced or scope: Cluster", "the resource %s has the scope %q", res.Plural, scope)
	}
	if res.Kind == "" {
		r.fail(res.Pos, "add kind", "the resource %s does not say its kind", res.Plural)
		return
	}
	if res.ListKind == "" {
		res.ListKind = res.Kind + "List"
	}
	if len(res.Verbs) == 0 {
		res.Verbs = allVerbs
	}
	res.Verbs = r.verbs(res.Pos, res.Verbs)
	for _, hook := range res.Hooks {
		if !slices.Contains([]string{"create", "update", "validate"}, hook) {
			r.fail(res.Pos, "write create, update or validate", "unknown hook %q of %s", hook, res.Plural)
		}
	}
	if ref == "" {
		ref = "/" + gv.Dir + "/" + res.Kind
	}
	if res.Type = r.typeAt(res.Pos, ref, gv, types); res.Type == nil {
		return
	}
	for i := range res.Subresources {
		if res.Subresources[i].Type == nil {
			res.Subresources[i].Type = res.Type
		}
		res.HasStatus = res.HasStatus || res.Subresources[i].Name == "status"
	}
	gv.Resources = append(gv.Resources, res)
}

func (r *reader) verbs(pos schema.Position, verbs []string) []string {
	for _, v := range verbs {
		if !slices.Contains(allVerbs, v) {
			r.fail(pos, "the verbs are "+strings.Join(allVerbs, ", "), "unknown verb %q", v)
		}
	}
	sorted := slices.Clone(verbs)
	slices.Sort(sorted)
	return sorted
}

func (r *reader) typeAt(pos schema.Position, ref string, gv *model.GroupVersion, types map[string]*model.Type) *model.Type {
	id, ok := schema.ResolveRef(gv.Dir, ref)
	if t := types[id]; ok && t != nil {
		return t
	}
	r.fail(pos, "write schemas"+ref+".yaml", "no schema document for %s", ref)
	return nil
}

func (r *reader) subresources(n node, res *model.Resource, types map[string]*model.Type) {
	for _, e := range r.entries(n) {
		sub := model.Subresource{Pos: e.at.pos(), Name: e.key}
		ref := ""
		r.object(e.value, "a subresource", map[string]func(node){
			"verbs": r.texts(&sub.Verbs), "schema": r.text(&ref),
			"specReplicas": r.text(&sub.SpecReplicas), "statusReplicas": r.text(&sub.StatusReplicas), "selector": r.text(&sub.Selector),
		})
		if len(sub.Verbs) == 0 && (sub.Name == "status" || sub.Name == "scale") {
			sub.Verbs = []string{"get", "patch", "update"}
		}
		sub.Verbs = r.verbs(sub.Pos, sub.Verbs)
		if sub.Name == "scale" {
			if ref == "" {
				ref = "/autoscaling/v1/Scale"
			}
			if sub.SpecReplicas == "" || sub.StatusReplicas == "" {
				r.fail(sub.Pos, "add specReplicas and statusReplicas, like .spec.replicas", "the scale of %s does not say where its replicas are", res.Plural)
			}
		}
		if ref != "" {
			sub.Type = r.typeAt(sub.Pos, ref, res.GV, types)
		}
		res.Subresources = append(res.Subresources, sub)
	}
	slices.SortFunc(res.Subresources, func(a, b model.Subresource) int { return strings.Compare(a.Name, b.Name) })
}

func (r *reader) columns(n node, res *model.Resource) {
	for _, y := range n.Content {
		item := n.with(y)
		c := model.Column{Pos: item.pos()}
		r.object(item, "a column", map[string]func(node){
			"name": r.text(&c.Name), "type": r.text(&c.Type), "format": r.text(&c.Format), "description": r.text(&c.Description),
			"priority": r.integer(&c.Priority), "path": r.text(&c.Path), "cell": r.text(&c.Cell),
		})
		if (c.Path == "") == (c.Cell == "") {
			r.fail(c.Pos, "give it either path or cell", "the column %q has both or neither of path and cell", c.Name)
		}
		res.Columns = append(res.Columns, c)
	}
}

func (r *reader) selectable(n node, res *model.Resource) {
	for _, y := range n.Content {
		item := n.with(y)
		f := model.Selectable{Pos: item.pos()}
		r.object(item, "a selectable field", map[string]func(node){
			"name": r.text(&f.Name), "path": r.text(&f.Path), "default": r.text(&f.Default), "aliasOf": r.text(&f.AliasOf), "never": r.boolean(&f.Never),
		})
		res.Selectable = append(res.Selectable, f)
	}
}
