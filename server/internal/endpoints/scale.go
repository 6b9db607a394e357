package endpoints

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// The scale subresource shows the few fields of an object that concern scaling as a
// Scale, and writes one of them back.

func (x *Endpoints) getScale(r *request.Request) error {
	r.Target.Ref = scaled(r.Target.Ref)
	entry, err := x.verbs.Current(r)
	if err != nil {
		return err
	}
	return x.respondScale(r, entry)
}

func (x *Endpoints) updateScale(r *request.Request) error {
	r.Target.Ref = scaled(r.Target.Ref)
	opts, err := r.WriteOptions("UpdateOptions")
	if err != nil {
		return err
	}
	read := func() (*document.Document, error) { return x.env.ReadObject(r, subKind(r.Target), opts.Validation) }
	doc, err := read()
	if err != nil {
		return err
	}
	defer func() { doc.Release() }()
	return x.writeScale(r, opts, func(e *objects.Evaluation, old document.Value) (document.Value, error) {
		if doc == nil { // the second time
			if doc, err = read(); err != nil {
				return document.Value{}, err
			}
		}
		scale := e.Keep(doc)
		doc = nil
		if err := matchScale(r.Target, scale); err != nil {
			return scale, err
		}
		return scale, objects.CheckUID(r.Target.Row, r.Target.Name, scale.Get("metadata"), old.Get("metadata"), false)
	})
}

func (x *Endpoints) patchScale(r *request.Request) error {
	r.Target.Ref = scaled(r.Target.Ref)
	if r.Applies() {
		return x.applyScale(r)
	}
	p, err := x.verbs.ReadPatch(r)
	if err != nil {
		return err
	}
	want := subKind(r.Target)
	p.Check(want)
	return x.writeScale(r, p.Opts, func(e *objects.Evaluation, old document.Value) (document.Value, error) {
		text, err := p.Apply(old.AppendJSON(nil), want)
		if err != nil {
			return document.Value{}, err
		}
		doc, err := x.verbs.DecodePatched(r, text, document.Value{}, p, want)
		if err != nil {
			return document.Value{}, err
		}
		scale := e.Keep(doc)
		return scale, matchScale(r.Target, scale)
	})
}

// applyScale is PATCH of a scale with an apply configuration.
func (x *Endpoints) applyScale(r *request.Request) error {
	t, want := r.Target, subKind(r.Target)
	a, err := x.verbs.ReadApplied(r, want)
	if err != nil {
		return err
	}
	defer a.Doc.Release()
	if meta := a.Doc.Root().SetObject("metadata"); meta.Get("name").Text() == "" {
		meta.SetString("name", t.Name) // the name may be missing
	}
	if err := objects.MatchPatched(a.Doc.Root(), t.Ref); err != nil {
		return err
	}
	return x.writeScale(r, a.Opts, func(e *objects.Evaluation, old document.Value) (document.Value, error) {
		text, err := a.Merge(r, t.Row.Ownership().Bodies[t.Sub.Name], want, old, x.scaleFields(t, a.Opts))
		if err != nil {
			return document.Value{}, err
		}
		doc, _, err := x.env.Parse(text, want, document.Value{})
		if err != nil {
			return document.Value{}, err
		}
		return e.Keep(doc), nil
	})
}

// scaleFields is the manager of a scale's fields, all of which it may own.
func (x *Endpoints) scaleFields(t request.Target, opts objects.Options) apply.Write {
	w := x.objects.FieldWrite(t.Ref, opts)
	w.Reset = apply.Set{}
	return w
}

// writeScale stores the replicas of the Scale that wanted returns in place of the old one.
// Both have the owners of the replicas as theirs.
func (x *Endpoints) writeScale(r *request.Request, opts objects.Options, wanted func(e *objects.Evaluation, old document.Value) (document.Value, error)) error {
	t := r.Target
	main, owners := t.Ref, t.Row.Ownership()
	main.Sub = nil
	opts.Subresource = t.Sub.Name
	out, err := x.objects.Write(r.Context, &objects.Write{Ref: main, Opts: opts, Change: func(e *objects.Evaluation) (document.Value, error) {
		obj, err := objects.Editing(func(document.Value) error { return nil })(e)
		if err != nil { // the read of a scale alone names the subresource
			return obj, err
		}
		show := func(obj document.Value) (document.Value, error) { return shownScale(e, t, obj) }
		old, err := show(obj)
		if err != nil {
			return obj, err
		}
		owners.Replicas.Show(old, obj, subKind(t).APIVersion)
		scale, err := wanted(e, old)
		if err != nil {
			return obj, err
		}
		if !opts.Applied {
			if err := owners.Bodies[t.Sub.Name].Update(old, scale, x.scaleFields(t, opts)); err != nil {
				return obj, err
			}
		}
		e.Via = &objects.Via{Subresource: t.Sub.Name, Obj: scale, Old: old, Apply: func() error { return setReplicas(t, obj, scale) }, Made: show}
		return obj, nil
	}})
	if err != nil {
		return err
	}
	return x.respondScale(r, out.Entry)
}

// shownScale is the scale of an object, as a document of the evaluation.
func shownScale(e *objects.Evaluation, t request.Target, obj document.Value) (document.Value, error) {
	text, err := scaleOf(t, obj)
	if err != nil {
		return document.Value{}, err
	}
	doc, err := document.ReadStored(t.Sub.Table, t.Sub.Type, text)
	if err != nil {
		return document.Value{}, err
	}
	return e.Keep(doc), nil
}

// setReplicas writes the replicas of an admitted scale, and their owners, into the object.
func setReplicas(t request.Target, obj, scale document.Value) error {
	if causes := objects.ValidateScale(scale); len(causes) > 0 && t.Row.Definition == nil { // custom objects are checked themselves
		return api.Invalid("autoscaling", "Scale", t.Name, causes)
	}
	meta, old := scale.Get("metadata"), obj.Get("metadata")
	gr := t.Row.GroupResource()
	if uid := meta.Get("uid").Text(); uid != "" && uid != old.Get("uid").Text() {
		gr.Resource += "/" + t.Sub.Name
		return api.Conflict(gr, t.Name, "Precondition failed: UID in precondition: "+uid+", UID in object meta: "+old.Get("uid").Text())
	}
	if err := objects.CheckRevision(t.Row, t.Name, meta, old); err != nil {
		return err
	}
	copyReplicas(t, obj, scale)
	t.Row.Ownership().Replicas.Take(obj, scale)
	return nil
}

func copyReplicas(t request.Target, obj, scale document.Value) {
	replicas, _ := scale.At("spec", "replicas").Int()
	path := t.Sub.Scale.SpecReplicas
	for _, name := range path[:len(path)-1] {
		obj = obj.SetObject(name)
	}
	obj.SetInt(path[len(path)-1], replicas)
}

// scaled is the target of a scale: the object in its storage version, but each version of
// a custom resource has a scale of its own.
func scaled(of objects.Ref) objects.Ref {
	if of.Row.Definition != nil {
		return of
	}
	return of.Stored()
}

func (x *Endpoints) respondScale(r *request.Request, entry store.Entry) error {
	body, err := stored.Served(r.Context, r.Target.Row.Resource, entry.Body)
	if err != nil {
		return err
	}
	doc, err := document.ReadStored(r.Target.Row.GV.Types(), r.Target.Row.Type, body)
	if err != nil {
		return err
	}
	defer doc.Release()
	if path := r.Target.Sub.Scale.SpecReplicas; r.Target.Row.Definition != nil && !doc.Root().At(path...).Exists() {
		return api.BadRequest("%s %q cannot be shown as a Scale: it has no field %s", r.Target.Row.Resource.Plural, r.Target.Name, strings.Join(path, "."))
	}
	text, err := scaleOf(r.Target, doc.Root())
	if err != nil {
		return err
	}
	if r.Accept.As == codec.AsTable {
		if text, err = x.scaleTable(r, text); err != nil {
			return err
		}
		return x.env.RespondText(r, http.StatusOK, text)
	}
	return x.env.RespondObject(r, http.StatusOK, subKind(r.Target), text)
}

// scaleColumns are those of a Scale as a table.
var scaleColumns = []api.Column{
	{Name: "Name", Type: "string", Path: ".metadata.name", Description: "Name of the scaled object."},
	{Name: "Desired", Type: "integer", Path: ".spec.replicas", Description: "Replicas that are wanted."},
	{Name: "Available", Type: "integer", Path: ".status.replicas", Description: "Replicas that there are."},
	{Name: "Age", Type: "string", Path: ".metadata.creationTimestamp", Description: "Time since the object was created."},
}

// scaleColumnsOf are the columns of the scales of a resource: those of custom resources
// have more exact types, and show no number where none is wanted.
func scaleColumnsOf(row *catalog.Row) []api.Column {
	if row.Definition == nil {
		return scaleColumns
	}
	columns := slices.Clone(scaleColumns)
	name, wanted, created := &columns[0], &columns[1], &columns[len(columns)-1]
	name.Format, created.Type = "name", "date"
	wanted.Cell = func(v document.Value) any {
		if n, ok := v.Int(); ok && n != 0 {
			return n
		}
		return nil
	}
	created.Cell = func(v document.Value) any { return api.Ago{Since: v.Text()} }
	return columns
}

// scaleTable is a Scale, given as canonical JSON, as a table.
func (x *Endpoints) scaleTable(r *request.Request, text []byte) ([]byte, error) {
	sub := r.Target.Sub
	return x.env.TableOf(r, &api.Resource{GV: &api.GroupVersion{Table: sub.Table}, Type: sub.Type, Columns: scaleColumnsOf(r.Target.Row)},
		&store.Entry{Value: store.Value{Body: text}})
}

func matchScale(t request.Target, scale document.Value) error {
	meta := scale.SetObject("metadata")
	if err := objects.MatchName(meta, t.Name); err != nil {
		return err
	}
	return objects.MatchNamespace(t.Row, meta, t.Namespace)
}

// scaleOf returns the Scale of an object as canonical JSON.
func scaleOf(t request.Target, obj document.Value) ([]byte, error) {
	decoder := document.Decoder{Table: t.Sub.Table}
	doc, _, err := decoder.Decode(t.Sub.Type, []byte("{}"))
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	scale, kind := doc.Root(), subKind(t)
	scale.SetString("kind", kind.Kind)
	scale.SetString("apiVersion", kind.APIVersion)
	meta := scale.SetObject("metadata")
	for _, field := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"} {
		if v := obj.At("metadata", field); v.Exists() {
			meta.Put(field, v)
		}
	}
	paths := t.Sub.Scale
	spec, status := scale.SetObject("spec"), scale.SetObject("status")
	if n, _ := obj.At(paths.SpecReplicas...).Int(); n != 0 {
		spec.SetInt("replicas", n)
	}
	n, _ := obj.At(paths.StatusReplicas...).Int()
	status.SetInt("replicas", n)
	var selector document.Value
	if len(paths.Selector) > 0 {
		selector = obj.At(paths.Selector...)
	}
	text, err := selectorText(selector)
	if err != nil {
		return nil, err
	}
	if text != "" {
		status.SetString("selector", text)
	}
	return scale.AppendJSON(nil), nil
}

// selectorText writes a label selector, or a plain map of labels, as the text of a
// selector in a query.
func selectorText(v document.Value) (string, error) {
	if v.Kind() == document.String {
		return v.Text(), nil
	}
	if v.Get("matchLabels").Exists() || v.Get("matchExpressions").Exists() {
		chosen, err := selector.Checked(v)
		if err != nil {
			return "", api.BadRequest("the object's selector cannot be written as text: %v", err)
		}
		return chosen.String(), nil
	}
	plain := labels.Set{}
	for key, value := range v.Members() {
		plain[key] = value.Text()
	}
	return labels.SelectorFromSet(plain).String(), nil
}
