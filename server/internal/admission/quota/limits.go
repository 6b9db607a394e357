package quota

import (
	"context"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/quantity"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// limitRange is a stored limit range.
type limitRange struct{ limits []limit }

// limit holds the bounds for one type of things, and the defaults for containers.
type limit struct {
	kind                    string // Pod, Container, PersistentVolumeClaim
	least, most, ratio      []bound
	defaults, requestedElse []bound // limits and requests of containers that have none
}

// bound is the amount of a resource in a limit range.
type bound struct {
	resource string
	quantity.Quantity
	text string
}

func readLimitRange(obj document.Value) *limitRange {
	out := &limitRange{}
	for _, item := range obj.At("spec", "limits").Elements() {
		out.limits = append(out.limits, limit{kind: item.Get("type").Text(), least: readBounds(item.Get("min")), most: readBounds(item.Get("max")),
			ratio: readBounds(item.Get("maxLimitRequestRatio")), defaults: readBounds(item.Get("default")), requestedElse: readBounds(item.Get("defaultRequest"))})
	}
	return out
}

func readBounds(v document.Value) (all []bound) {
	for name, q := range v.Members() {
		all = append(all, bound{name, amount(q), q.Text()})
	}
	return all
}

// limited reports whether limit ranges apply to a write.
func limited(r *admission.Request) bool {
	switch {
	case resizes(r):
		return true
	case r.Subresource != "" || r.Resource.GV.Group != "":
		return false
	case r.Resource.Plural == "pods":
		return r.Operation == admission.Create
	}
	return r.Resource.Plural == "persistentvolumeclaims" && !r.Old.At("metadata", "deletionTimestamp").Exists()
}

// resizes reports whether a write changes the resources of a running pod.
func resizes(r *admission.Request) bool {
	return r.Subresource == "resize" && r.Resource.Plural == "pods" && r.Resource.GV.Group == "" && r.Operation == admission.Update
}

// rangesIn are the limit ranges of a namespace, in the order of their names.
func (q *Quotas) rangesIn(namespace string) (all []*limitRange) {
	for _, ranged := range q.limits.View().Under(q.limitRow.Prefix(namespace)) {
		all = append(all, ranged)
	}
	return all
}

// FillLimits implements admission.Quotas.
func (q *Quotas) FillLimits(_ context.Context, r *admission.Request) error {
	if !limited(r) || r.Resource.Plural != "pods" {
		return nil
	}
	ranges := q.rangesIn(r.Namespace)
	for _, ranged := range ranges {
		ranged.fill(r.Object)
	}
	r.Ranges = ranges
	return nil
}

// fill gives the containers of a pod the requests and limits that they do not have, and
// notes them in an annotation.
func (l *limitRange) fill(pod document.Value) {
	requests, limits := map[string]bound{}, map[string]bound{}
	for _, item := range l.limits {
		if item.kind != "Container" {
			continue
		}
		for _, b := range item.requestedElse {
			requests[b.resource] = b
		}
		for _, b := range item.defaults {
			limits[b.resource] = b
		}
	}
	var notes []string
	for _, list := range [...]struct{ member, what string }{{"containers", "container"}, {"initContainers", "init container"}} {
		for _, c := range pod.At("spec", list.member).Elements() {
			notes = fillMissing(notes, c, "requests", requests, " request for "+list.what+" ")
			notes = fillMissing(notes, c, "limits", limits, " limit for "+list.what+" ")
		}
	}
	if len(notes) > 0 {
		pod.SetObject("metadata").SetObject("annotations").SetString(profile.LabelDomain+"/limit-ranger", "LimitRanger plugin set: "+strings.Join(notes, "; "))
	}
}

// fillMissing adds amounts that a container does not have, and a note of them.
func fillMissing(notes []string, container document.Value, member string, defaults map[string]bound, note string) []string {
	var added []string
	own := container.At("resources", member)
	for name := range defaults {
		if !own.Get(name).Exists() {
			added = append(added, name)
		}
	}
	if len(added) == 0 {
		return notes
	}
	slices.Sort(added)
	own = container.SetObject("resources").SetObject(member)
	for _, name := range added {
		own.SetString(name, defaults[name].text)
	}
	return append(notes, strings.Join(added, ", ")+note+container.Get("name").Text())
}

// CheckLimits implements admission.Quotas.
func (q *Quotas) CheckLimits(_ context.Context, r *admission.Request) error {
	if !limited(r) {
		return nil
	}
	ranges, seen := r.Ranges.([]*limitRange)
	if !seen {
		ranges = q.rangesIn(r.Namespace)
	}
	for _, ranged := range ranges {
		if broken := ranged.check(r.Object, r.Resource.Plural == "pods"); len(broken) > 0 {
			return api.Forbidden(r.Resource.GroupResource(), nameOf(r.Object), together(broken))
		}
	}
	return nil
}

// together is the text of several mistakes, each once.
func together(all []string) string {
	var once []string
	for _, text := range all {
		if !slices.Contains(once, text) {
			once = append(once, text)
		}
	}
	if len(once) == 1 {
		return once[0]
	}
	return "[" + strings.Join(once, ", ") + "]"
}
