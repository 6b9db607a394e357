package server

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// serverManager is the manager of what the server writes of its own accord.
const serverManager = "kube-apiserver"

// owner is what is needed to record who owns the fields of a resource's objects.
type owner struct {
	kind   apply.Kind
	main   apply.Set            // what the endpoint of the object does not write
	status map[string]apply.Set // what those that write the status do not, by subresource
	tokens *apply.Kind          // the requests for tokens of an account; nil for other kinds
}

type owners map[*api.Resource]*owner

func newOwners(groups []*api.GroupVersion) owners {
	all := owners{}
	tables := map[*schema.Table]*schema.Table{}
	for _, gv := range groups {
		if tables[gv.Table] == nil {
			tables[gv.Table] = apply.Merging(gv.Table)
		}
		for i := range gv.Resources {
			res := &gv.Resources[i]
			o := &owner{kind: apply.Kind{Table: tables[gv.Table], Type: res.Type, APIVersion: gv.APIVersion(), Name: res.Kind}}
			o.resets(res.Storage())
			for _, sub := range res.Subresources {
				if sub.Endpoint == api.EndpointRequestToken {
					version := api.GroupVersion{Group: sub.Group, Version: sub.Version}
					o.tokens = &apply.Kind{Table: apply.Merging(sub.Table), Type: sub.Type, APIVersion: version.APIVersion(), Name: sub.Kind}
				}
			}
			all[res] = o
		}
	}
	versions := map[*api.Resource]*kindVersions{}
	for res := range all {
		if row := res.Storage(); row != res {
			if versions[row] == nil {
				versions[row] = &kindVersions{rows: map[string]*api.Resource{row.GV.APIVersion(): row}, owners: all}
				all[row].kind.Versions = versions[row]
			}
			versions[row].rows[res.GV.APIVersion()] = res
			all[res].kind.Versions = versions[row]
		}
	}
	return all
}

// resets finds what the endpoints of a resource do not write.
func (o *owner) resets(res *api.Resource) {
	o.main = apply.MainReset(res.HasStatus).Union(apply.NewSet(res.Keeps...))
	o.status = map[string]apply.Set{}
	for _, sub := range res.Subresources {
		if sub.Endpoint.WritesStatus() {
			o.status[sub.Name] = o.kind.StatusReset(slices.Concat(sub.Keeps, sub.Unowned))
		}
	}
}

// write says in whose name and where a write happens.
func (o *owner) write(s *Server, t target, opts writeOptions) apply.Write {
	w := apply.Write{Manager: opts.manager, Subresource: opts.subresource, Time: s.now(), Reset: o.main}
	if w.Manager == "" {
		w.Manager = serverManager
	}
	if t.sub != nil {
		w.Subresource = t.sub.Name
		if t.writesStatus() {
			w.Reset = o.status[w.Subresource]
		}
	}
	return w
}

// own records in obj who owns what, after a write that is no apply. old is the
// object that it replaces, absent on create.
func (s *Server) own(t target, old, obj document.Value, opts writeOptions) error {
	if opts.applied {
		return nil
	}
	o := s.owners[t.resource]
	return o.kind.Update(old, obj, o.write(s, t, opts))
}
