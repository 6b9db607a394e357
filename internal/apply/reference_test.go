package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/capstan-dev/capstan/internal/schema"
)

// reference implements Kind with structured-merge-diff.
type reference struct {
	kind     *Kind
	schema   *smd.Schema
	managers fieldpath.ManagedFields // by identity.String
	times    map[string]string
}

func newReference(k *Kind) *reference {
	return &reference{kind: k, schema: referenceSchema(k.Table), managers: fieldpath.ManagedFields{}, times: map[string]string{}}
}

func typeName(r schema.Ref) smd.TypeRef {
	name := fmt.Sprintf("t%d", r)
	if r < 0 {
		name = "deduced"
	}
	return smd.TypeRef{NamedType: &name}
}

// referenceSchema is a table in the form of structured-merge-diff.
func referenceSchema(t *schema.Table) *smd.Schema {
	untyped := smd.Scalar("untyped")
	atomicRef := "atomic"
	whole := smd.TypeRef{NamedType: &atomicRef}
	deduced := typeName(schema.None)
	list := &smd.List{ElementType: whole, ElementRelationship: smd.Atomic}
	s := &smd.Schema{Types: []smd.TypeDef{
		{Name: "atomic", Atom: smd.Atom{Scalar: &untyped, List: list, Map: &smd.Map{ElementType: whole, ElementRelationship: smd.Atomic}}},
		{Name: "deduced", Atom: smd.Atom{Scalar: &untyped, List: list, Map: &smd.Map{ElementType: deduced, ElementRelationship: smd.Separable}}},
	}}
	for i := range t.Types {
		typ := &t.Types[i]
		def := smd.TypeDef{Name: *typeName(schema.Ref(i)).NamedType}
		rel := smd.Separable
		if typ.AtomicMap {
			rel = smd.Atomic
		}
		scalar := untyped
		switch typ.Kind {
		case schema.Object:
			m := &smd.Map{ElementRelationship: rel}
			for _, f := range typ.Fields {
				field := smd.StructField{Name: f.Name, Type: typeName(f.Type)}
				if f.Default != "" {
					field.Default = fromJSON([]byte(f.Default))
				}
				m.Fields = append(m.Fields, field)
			}
			def.Map = m
		case schema.Map:
			def.Map = &smd.Map{ElementType: typeName(typ.Elem), ElementRelationship: rel}
		case schema.List:
			def.List = &smd.List{ElementType: typeName(typ.Elem), ElementRelationship: smd.Atomic}
			if typ.ListType != schema.ListAtomic {
				def.List.ElementRelationship = smd.Associative
				def.List.Keys = typ.ListKeys
			}
		case schema.Any:
			if def.Atom = s.Types[1].Atom; typ.Binary == schema.BinaryRaw {
				def.Atom = s.Types[0].Atom
			}
		default:
			def.Scalar = &scalar
		}
		s.Types = append(s.Types, def)
	}
	return s
}

func fromJSON(text []byte) any {
	v, err := value.FromJSON(text)
	if err != nil {
		panic(err)
	}
	return v.Unstructured()
}

func (r *reference) typed(v any, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return typed.AsTyped(value.NewValueInterface(v), r.schema, typeName(r.kind.Type), opts...)
}

// oneVersion is a converter for kinds with a single version.
type oneVersion struct{}

func (oneVersion) Convert(v *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return v, nil
}
func (oneVersion) IsMissingVersionError(error) bool { return false }

func toReference(s Set) *fieldpath.Set {
	out := fieldpath.NewSet()
	if err := out.FromJSON(newReader(s.AppendFields(nil))); err != nil {
		panic(err)
	}
	return out
}

func (r *reference) updater(w Write) *merge.Updater {
	b := merge.UpdaterBuilder{Converter: oneVersion{}, IgnoreFilter: map[fieldpath.APIVersion]fieldpath.Filter{
		fieldpath.APIVersion(r.kind.APIVersion): fieldpath.NewExcludeSetFilter(toReference(w.Reset))}}
	return b.BuildUpdater()
}

func (r *reference) strip(manager string) {
	if set, ok := r.managers[manager]; ok {
		left := set.Set().Difference(toReference(neverOwned))
		if left.Empty() {
			delete(r.managers, manager)
			return
		}
		r.managers[manager] = fieldpath.NewVersionedSet(left, set.APIVersion(), set.Applied())
	}
}

func (r *reference) update(live, obj any, w Write, track bool, opts ...typed.ValidationOptions) error {
	if len(r.managers) == 0 && !track {
		return nil
	}
	l, err1 := r.typed(live, opts...)
	o, err2 := r.typed(obj, opts...)
	if err1 != nil || err2 != nil {
		r.managers = fieldpath.ManagedFields{} // ownership was reset
		return nil
	}
	const self = "current-operation"
	_, managers, err := r.updater(w).Update(l, o, fieldpath.APIVersion(r.kind.APIVersion), r.managers, self)
	if err != nil {
		return err
	}
	r.managers = managers
	r.strip(self)
	if mine, ok := r.managers[self]; ok {
		delete(r.managers, self)
		id := r.kind.updater(w).String()
		set := mine.Set()
		if before, ok := r.managers[id]; ok {
			set = set.Union(before.Set())
		}
		r.managers[id] = fieldpath.NewVersionedSet(set, mine.APIVersion(), false)
		r.times[id] = w.Time
	}
	return nil
}

// apply returns the merged object, or the conflicts: manager and path.
func (r *reference) apply(live, zero, config any, w Write, force bool) (any, []string, error) {
	kept, times := maps.Clone(r.managers), maps.Clone(r.times)
	if len(r.managers) == 0 && live != nil {
		before := w
		before.Manager = beforeFirstApply
		if err := r.update(zero, live, before, true, typed.AllowDuplicates); err != nil {
			return nil, nil, err
		}
	}
	if live == nil {
		live = zero
	}
	l, err := r.typed(live, typed.AllowDuplicates)
	if err != nil {
		return nil, nil, fmt.Errorf("live: %w", err)
	}
	c, err := r.typed(config)
	if err != nil {
		return nil, nil, fmt.Errorf("applied: %w", err)
	}
	id := identity{Manager: w.Manager, Operation: opApply, Subresource: w.Subresource}.String()
	out, managers, err := r.updater(w).Apply(l, c, fieldpath.APIVersion(r.kind.APIVersion), r.managers, id, force)
	if conflicts, ok := err.(merge.Conflicts); ok {
		r.managers, r.times = kept, times
		var list []string
		for _, c := range conflicts {
			list = append(list, c.Manager+" "+c.Path.String())
		}
		slices.Sort(list)
		return nil, list, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r.managers = managers
	r.strip(id)
	if out == nil {
		return live, nil, nil
	}
	if d, err := l.Compare(out); err != nil || d.ExcludeFields(toReference(w.Reset)).IsSame() {
		return live, nil, err // 1.25 does not change an object in which only the order of lists differs
	}
	r.times[id] = w.Time
	return out.AsValue().Unstructured(), nil, nil
}

// entries is the state as text: identity, time and fields.
func (r *reference) entries(t *testing.T) []string {
	maps.DeleteFunc(r.times, func(id, _ string) bool { return r.managers[id] == nil })
	var out []string
	for id, set := range r.managers {
		text, err := set.Set().ToJSON()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, id+" "+r.times[id]+" "+string(text))
	}
	slices.Sort(out)
	return out
}

// normal is a value in a form that reflect.DeepEqual compares well.
func normal(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		panic(err)
	}
	return out
}

func sameValue(a, b any) bool { return reflect.DeepEqual(normal(a), normal(b)) }
