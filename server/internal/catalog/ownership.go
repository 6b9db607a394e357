package catalog

import (
	"context"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Ownership is the field ownership of a row's objects.
type Ownership struct {
	Kind   apply.Kind
	Bodies map[string]*apply.Kind // of bodies that are not stored, by subresource

	Replicas apply.Replicas // those that the scale subresource writes

	main   apply.Set            // fields that the object's own endpoint does not write
	status map[string]apply.Set // fields that the status endpoints do not write, by subresource
}

func newOwnership(row *Row) *Ownership {
	o := &Ownership{Kind: apply.Kind{Table: row.Schema.Merging(), Type: row.Type, APIVersion: row.GV.APIVersion(), Name: row.Kind}}
	if len(row.Versions.Rows) > 1 {
		o.Kind.Versions = versions{context.Background(), row.Versions}
	}
	stored := row.Storage()
	o.main = apply.MainReset(stored.HasStatus).Union(apply.NewSet(slices.Concat(stored.Keeps, stored.ReadOnly, stored.WriteOnly)...))
	o.status = map[string]apply.Set{}
	for i := range row.Subresources {
		if sub := stored.Subresource(row.Subresources[i].Name); sub != nil && sub.Endpoint.WritesStatus() {
			unowned := slices.Concat(sub.Keeps, sub.Unowned)
			if row.Definition != nil {
				unowned = sub.Unowned // other metadata is kept, but recorded, as in 1.25
			}
			o.status[sub.Name] = o.Kind.StatusReset(unowned)
		}
	}
	for i := range row.Subresources {
		switch sub := &row.Subresources[i]; sub.Endpoint {
		case api.EndpointRequestToken, api.EndpointEvict, api.EndpointBind, api.EndpointScale, api.EndpointAction:
			if o.Bodies == nil {
				o.Bodies = map[string]*apply.Kind{}
			}
			version := api.GroupVersion{Group: sub.Group, Version: sub.Version}
			o.Bodies[sub.Name] = &apply.Kind{Table: row.SchemaOf(sub).Merging(), Type: sub.Type, APIVersion: version.APIVersion(), Name: sub.Kind}
		}
	}
	o.Replicas = replicasOf(row)
	return o
}

// replicasOf are the replicas of a row's objects, in the versions with a scale.
func replicasOf(row *Row) apply.Replicas {
	all := apply.Replicas{Version: row.GV.APIVersion(), Paths: map[string][]string{}}
	for _, other := range row.Versions.Rows {
		for i := range other.Subresources {
			if sub := &other.Subresources[i]; sub.Scale != nil {
				all.Paths[other.GV.APIVersion()] = sub.Scale.SpecReplicas
			}
		}
	}
	return all
}

// For is the kind, for a call whose conversions may wait until ctx ends.
func (o *Ownership) For(ctx context.Context) *apply.Kind {
	v, ok := o.Kind.Versions.(versions)
	if !ok || !v.t.ConvertsRemotely() {
		return &o.Kind
	}
	kind := o.Kind
	kind.Versions = versions{ctx, v.t}
	return &kind
}

// Reset is the fields that a write through a subresource, nil for the object's own
// endpoint, does not change even if they are sent.
func (o *Ownership) Reset(sub *api.Subresource) apply.Set {
	switch {
	case sub != nil && sub.Endpoint.WritesStatus():
		return o.status[sub.Name]
	case sub != nil && sub.Endpoint.WritesWhole():
		return apply.Set{}
	}
	return o.main
}

// versions converts between the versions of a type, for managers that wrote in another
// version than the present one.
type versions struct {
	ctx context.Context
	t   *Type
}

// Convert implements apply.Versions.
func (v versions) Convert(obj document.Value, from, to string) (*document.Document, bool, error) {
	in, out := v.t.Version(from), v.t.Version(to)
	if in == nil || out == nil || (in.GV.Group == "") != (out.GV.Group == "") { // 1.25 records the core group apart from the others
		return nil, false, nil
	}
	// obj may be untyped and, as a part of an object, incomplete.
	doc, err := document.ReadTyped(in.GV.Types(), in.Type, obj.AppendJSON(nil))
	if err != nil {
		return nil, false, err
	}
	if v.t.ConvertsRemotely() {
		defer doc.Release()
		doc.Root().SetString("kind", in.Kind)
		doc.Root().SetString("apiVersion", in.GV.APIVersion())
		made, err := convert.Remotely(v.ctx, in.Resource, out.Resource, doc.Root())
		return made, err == nil, err
	}
	for _, step := range []struct {
		row  *Row
		turn func(context.Context, *api.Resource, document.Value) (*document.Document, error)
	}{{in, convert.ToStorage}, {out, convert.FromStorage}} {
		if step.row.Conversion == nil {
			continue
		}
		next, err := step.turn(v.ctx, step.row.Resource, doc.Root())
		doc.Release()
		if err != nil {
			return nil, false, err
		}
		doc = next
	}
	return doc, true, nil
}

// Type implements apply.Versions.
func (v versions) Type(version string) (*schema.Table, schema.Ref) {
	row := v.t.Version(version)
	return row.Schema.Merging(), row.Type
}
