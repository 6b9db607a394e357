package matching

import (
	"context"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

type kindName struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

type resourceName struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// Question is the request of a review.
type Question struct {
	UID                string          `json:"uid"`
	Kind               kindName        `json:"kind"`
	Resource           resourceName    `json:"resource"`
	SubResource        string          `json:"subResource,omitempty"`
	RequestKind        kindName        `json:"requestKind"`
	RequestResource    resourceName    `json:"requestResource"`
	RequestSubResource string          `json:"requestSubResource,omitempty"`
	Name               string          `json:"name,omitempty"`
	Namespace          string          `json:"namespace,omitempty"`
	Operation          string          `json:"operation"`
	User               userInfo        `json:"userInfo"`
	DryRun             bool            `json:"dryRun"`
	Options            json.RawMessage `json:"options"`

	Object, OldObject []byte `json:"-"` // JSON, written as it is
}

type userInfo struct {
	Username string              `json:"username,omitempty"`
	UID      string              `json:"uid,omitempty"`
	Groups   []string            `json:"groups,omitempty"`
	Extra    map[string][]string `json:"extra,omitempty"`
}

// namesOf are the names of a resource in a version, and of the kind of its bodies.
func namesOf(of *api.Resource, subresource string) (kindName, resourceName) {
	kind := kindName{of.GV.Group, of.GV.Version, of.Kind}
	if sub := of.Subresource(subresource); subresource != "" && sub != nil && sub.Kind != "" {
		kind = kindName{sub.Group, sub.Version, sub.Kind}
	}
	return kind, resourceName{of.GV.Group, of.GV.Version, of.Plural}
}

// Ask makes the question about a write for a webhook or a policy that knows the version of
// a row, without the objects.
func Ask(r *admission.Request, in *api.Resource) *Question {
	q := &Question{SubResource: r.Subresource, RequestSubResource: r.Subresource, Name: r.Name, Namespace: r.Namespace, Operation: Words[r.Operation],
		DryRun: r.DryRun, Options: r.By.Options(r)}
	q.Kind, q.Resource = namesOf(in, r.Subresource)
	q.RequestKind, q.RequestResource = namesOf(r.Asked, r.Subresource)
	q.User = userInfo{r.User.Name, r.User.UID, r.User.Groups, r.User.Extra}
	if isNamespaces(in) {
		q.Namespace = q.Name
	}
	return q
}

// View is the objects of a write in one version.
type View struct {
	In          *api.Resource
	Object, Old document.Value
	made        [2]*document.Document
}

// See shows a write in the version of a row. The caller releases the view, which is valid
// while the objects of the write do not change. Bodies of subresources with a kind of their
// own have one version.
func See(ctx context.Context, r *admission.Request, in *api.Resource) (*View, error) {
	v, custom := &View{In: in, Object: r.Object, Old: r.Old}, r.Resource.Definition != nil && !r.OtherKind
	if r.OtherKind || r.Resource.GV.APIVersion() == in.GV.APIVersion() {
		v.showUnset(custom)
		return v, nil
	}
	for i, obj := range [...]*document.Value{&v.Object, &v.Old} {
		if !obj.Exists() {
			continue
		}
		var err error
		if v.made[i], err = convert.Between(ctx, r.Resource, in, *obj); err != nil {
			v.Release()
			return nil, err
		}
		*obj = v.made[i].Root()
	}
	v.showUnset(custom)
	return v, nil
}

// showUnset shows that an object has no creationTimestamp, as 1.25 does: null in one of a
// built-in type, and none in a custom one or from 1.34 on. One that is stored gets its own.
func (v *View) showUnset(custom bool) {
	meta := v.Object.Get("metadata")
	switch {
	case !meta.Exists() || meta.Get("creationTimestamp").Kind() == document.String:
	case custom || !writesUnset(v.In):
		meta.Remove("creationTimestamp")
	default:
		meta.SetNull("creationTimestamp")
	}
}

// writesUnset reports whether metadata are written with the creationTimestamp that they do not have.
func writesUnset(in *api.Resource) bool {
	types := in.GV.Types().Types
	for _, f := range types[in.Type].Fields {
		if f.Name == "metadata" && f.Type >= 0 {
			t := &types[f.Type]
			i := t.Field("creationTimestamp")
			return i >= 0 && t.Fields[i].Presence == schema.Always
		}
	}
	return false
}

// Release releases the converted objects.
func (v *View) Release() {
	for _, doc := range v.made {
		if doc != nil {
			doc.Release()
		}
	}
}
