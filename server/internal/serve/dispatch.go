package serve

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/verbs"
)

// table maps the methods of a target to functions.
type table struct {
	object, collection, watch request.Verbs // of stored objects
	endpoints                 map[api.Endpoint]request.Verbs
}

func newTable(v *verbs.Verbs, x *endpoints.Endpoints) *table {
	object := request.Verbs{request.OnDelete: v.Delete, request.OnGet: v.Get, request.OnPatch: v.Patch, request.OnPut: v.Update}
	return &table{
		object:     object,
		collection: request.Verbs{request.OnDelete: v.DeleteCollection, request.OnGet: v.ListOrWatch, request.OnPost: v.Create},
		watch:      request.Verbs{request.OnGet: v.Watch},
		endpoints:  x.Table(object),
	}
}

// The verb that a resource must have for a method.
var (
	objectNeeds = needs{request.OnDelete: api.VerbDelete, request.OnGet: api.VerbGet, request.OnPatch: api.VerbPatch, request.OnPost: api.VerbCreate,
		request.OnPut: api.VerbUpdate}
	collectionNeeds = needs{request.OnDelete: api.VerbDeleteCollection, request.OnGet: api.VerbList, request.OnPost: api.VerbCreate}
	watchNeeds      = needs{request.OnGet: api.VerbWatch}
	everywhereNeeds = needs{request.OnGet: api.VerbList} // of the collections of all namespaces together
)

type needs [len(request.Verbs{})]api.Verbs

// only returns the functions that a resource with these verbs has.
func (n *needs) only(v request.Verbs, has api.Verbs) request.Verbs {
	for i, needed := range n {
		if needed == 0 || !has.Has(needed) {
			v[i] = nil
		}
	}
	return v
}

// of returns the functions of a target.
func (t *table) of(target *request.Target) request.Verbs {
	res := target.Row
	switch {
	case target.Sub != nil:
		return objectNeeds.only(t.endpoints[target.Sub.Endpoint], target.Sub.Verbs)
	case res.Endpoint != "":
		return objectNeeds.only(t.endpoints[res.Endpoint], res.Verbs)
	case target.WatchPath:
		return watchNeeds.only(t.watch, res.Verbs)
	case target.Name != "":
		return objectNeeds.only(t.object, res.Verbs)
	case res.Namespaced && target.Namespace == "":
		return everywhereNeeds.only(t.collection, res.Verbs)
	}
	return collectionNeeds.only(t.collection, res.Verbs)
}

// check finds endpoints of the catalog without a function for a verb.
func (t *table) check(groups []*api.GroupVersion) error {
	check := func(where string, e api.Endpoint, has api.Verbs) error {
		functions := t.endpoints[e]
		for i, needed := range objectNeeds {
			if has.Has(needed) && functions[i] == nil {
				return fmt.Errorf("nothing answers %s on %s: the endpoint %q has no function for it; add it to server/internal/endpoints, or fix the document",
					request.VerbMethods[i], where, e)
			}
		}
		return nil
	}
	for _, gv := range groups {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			if res.Endpoint != "" {
				if err := check(gv.APIVersion()+" "+res.Plural, res.Endpoint, res.Verbs); err != nil {
					return err
				}
			}
			for j := range res.Subresources {
				sub := &res.Subresources[j]
				if err := check(gv.APIVersion()+" "+res.Plural+"/"+sub.Name, sub.Endpoint, sub.Verbs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// verbOf returns the function for a request, or 404 or 405.
func (h *Handler) verbOf(r *request.Request) (request.Verb, error) {
	t := &r.Target
	if t.Endpoint != nil {
		return t.Endpoint, nil
	}
	if t.Row == nil || t.IsMissing() {
		return h.unknown, nil
	}
	allowed := h.table.of(t)
	if v := *allowed.Of(r.Method()); v != nil {
		return v, nil
	}
	refused := api.MethodNotAllowed(allowed.Methods())
	if t.Row.Definition != nil {
		refused.Group, refused.Kind = t.Row.GV.Group, t.Row.Plural
	}
	return nil, refused
}

// unknown answers an unknown path: with a Status if a client looks for a version or a
// resource of an existing group, with plain text elsewhere.
func (h *Handler) unknown(r *request.Request) error {
	if row := h.customAt(&r.Target.Unserved); row != nil {
		if text := row.Definition.Warning; text != "" { // as for all paths of the version
			r.Warn(text)
		}
		return api.NotFound(row.GroupResource(), r.Target.Unserved.Name)
	}
	r.Warn(h.turnedOff(&r.Target.Unserved))
	if h.inGroup(r.HTTP.URL.Path) {
		return api.UnknownPath()
	}
	return h.env.Text(r, http.StatusNotFound, "404 page not found\n")
}

// turnedOff names the flag that turns on the resource of an address, if the server has it and does not serve
// it; "" for all others. The answer itself is that of 1.25.
func (h *Handler) turnedOff(a *catalog.Address) string {
	row := h.catalog.Snapshot().Resource(a.Group, a.Version, a.Resource)
	if row == nil || !row.Off || row.Definition != nil {
		return ""
	}
	setting := row.GV.APIVersion()
	if !row.GV.Off {
		setting += "/" + row.Plural
	}
	return fmt.Sprintf("%s of %s is off on this server; --runtime-config=%s=true turns it on", row.Plural, row.GV.APIVersion(), setting)
}

// inGroup reports whether a path is below that of a served group that has built-in kinds.
func (h *Handler) inGroup(path string) bool {
	rest, named := strings.CutPrefix(path, "/apis/")
	if !named {
		return strings.HasPrefix(path, "/api/")
	}
	group, _, _ := strings.Cut(rest, "/")
	return slices.ContainsFunc(h.catalog.Snapshot().ServedIn(group), func(v *catalog.Version) bool {
		return slices.ContainsFunc(v.Rows, func(row *catalog.Row) bool { return row.Definition == nil })
	})
}

// customAt returns the row of a custom resource without such a subresource; nil for
// addresses of anything else.
func (h *Handler) customAt(a *catalog.Address) *catalog.Row {
	if a.Subresource == "" {
		return nil
	}
	row := h.catalog.Snapshot().Resource(a.Group, a.Version, a.Resource)
	if row == nil || row.Off || row.Definition == nil || row.Namespaced != (a.Namespace != "") {
		return nil
	}
	return row
}
