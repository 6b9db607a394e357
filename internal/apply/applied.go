package apply

import (
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// beforeFirstApply owns the fields that an object had without an owner before its first
// apply.
const beforeFirstApply = "before-first-apply"

// CheckTypeMeta refuses a configuration without a kind or of another version. Other bodies
// may leave both out; a configuration owns the fields of a version.
func CheckTypeMeta(applied document.Value, apiVersion string) error {
	if got := applied.Get("apiVersion").Text(); got != apiVersion {
		return api.BadRequest("Incorrect version specified in apply patch. Specified patch version: %s, expected: %s", got, apiVersion)
	}
	if applied.Get("kind").Text() == "" {
		return api.BadRequest("the configuration must say its kind")
	}
	return nil
}

// Apply merges an applied configuration into an object. It returns the JSON of the merged
// object, with its managedFields and without defaults: the caller decodes it like the
// result of a patch. live is the object, absent for a new one. applied is an untyped
// document (document.DecodeAny) with exactly the fields that were sent; the caller has
// checked their types. Fields that the kind does not have are left out.
//
// Errors are *api.Error: 409 with a cause for each field that another manager owns,
// unless force is set; 400 and 422 for a configuration that cannot be applied; or those
// of Versions.
func (k *Kind) Apply(live, applied document.Value, w Write, force bool) ([]byte, error) {
	if err := CheckTypeMeta(applied, k.APIVersion); err != nil {
		return nil, err
	}
	if list := applied.At("metadata", "managedFields"); list.Exists() && !list.IsNull() {
		return nil, api.BadRequest("metadata.managedFields must be nil")
	}
	if err := k.checkApplied(applied); err != nil {
		return nil, err
	}
	body, err := k.applyOnce(live, applied, w, force)
	var c *conflictError
	if !errors.As(err, &c) {
		return body, err
	}
	if w.Manager == kubectl {
		left, allowed := k.withoutLastApplied(live, c.conflicts)
		if allowed && len(left) == 0 {
			return k.applyOnce(live, applied, w, true)
		}
		if allowed {
			return nil, conflictsError(left)
		}
	}
	return nil, conflictsError(c.conflicts)
}

// Merge merges a configuration over an object and returns the JSON, without owners. A
// configuration with a value that has one owner as a whole is refused, except for scalars:
// its author may not know that the rest of it would go.
func (k *Kind) Merge(live, applied document.Value) ([]byte, error) {
	if err := k.checkApplied(applied); err != nil {
		return nil, err
	}
	g := k.grammar()
	var whole []string
	g.atomics(k.Type, applied, nil, &whole)
	if whole != nil {
		return nil, errors.New("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: " + strings.Join(whole, ", "))
	}
	return g.merge(nil, k.Type, live, applied), nil
}

// atomics finds the objects and lists that have one owner as a whole.
func (g grammar) atomics(typ schema.Ref, v document.Value, at *fieldPath, found *[]string) {
	if v.Kind() < document.Array || len(*found) >= maxProblems {
		return
	}
	if at != nil && g.shapeOf(typ, v) == atomic {
		*found = append(*found, at.String())
	}
	for name, m := range v.Members() {
		if below, _, ok := g.member(typ, name); ok {
			g.atomics(below, m, &fieldPath{above: at, name: name}, found)
		}
	}
	if t := g.typeOf(typ); t != nil && v.Kind() == document.Array {
		for i, m := range v.Elements() {
			g.atomics(t.Elem, m, &fieldPath{above: at, index: i}, found)
		}
	}
}

// applyOnce is Apply after the checks; conflicts are a *conflictError.
func (k *Kind) applyOnce(live, applied document.Value, w Write, force bool) ([]byte, error) {
	managers, err := k.ledgerToApply(live, w)
	if err != nil {
		return nil, err
	}
	g := k.grammar()
	space := g.fieldsWriter()
	defer space.release()
	space.out = g.merge(space.out[:0], k.Type, live, applied)
	merged, err := decoded(space.out)
	if err != nil {
		return nil, err
	}
	defer func() { merged.Release() }()
	id := identity{Manager: named(w.Manager), Operation: opApply, Subresource: w.Subresource}
	me := managers.find(id)
	if me == nil {
		me = &entry{id: id, version: k.APIVersion}
		managers = append(managers, me)
	}
	fields := space.configured(make([]byte, 0, 1024), k.Type, applied, w.Reset)
	if me.version != k.APIVersion || !me.hasFields(fields) {
		last, lastVersion := me.owned(), me.version
		me.ownFields(fields)
		me.version = k.APIVersion
		if !last.Empty() && live.Exists() && (lastVersion != k.APIVersion || !me.owned().Holds(last)) {
			// The manager's set includes fields without an owner.
			me.own(g.collect(k.Type, applied).Without(w.Reset))
			pruned, err := k.prune(merged.Root(), managers, last, lastVersion)
			if err != nil {
				return nil, err
			}
			if pruned != nil {
				merged.Release()
				merged = pruned
			}
			me.own(me.owned().Difference(neverOwned))
		}
	}
	d := g.compare(k.Type, live, merged.Root()).without(w.Reset)
	if !force {
		if found, err := k.conflicts(managers, me, live, merged.Root(), d, w); err != nil || len(found) > 0 {
			if err == nil {
				err = &conflictError{found}
			}
			return nil, err
		}
	}
	if managers, err = k.take(managers, live, merged.Root(), d, me, w); err != nil {
		return nil, err
	}
	if d.empty() && !(w.Lists && live.Exists() && !equal(live, merged.Root())) { // the object stays as it is, in its own order
		merged.Release()
		if merged, err = decoded(live.AppendJSON(nil)); err != nil {
			return nil, err
		}
	} else {
		me.time, me.changed = w.Time, true
	}
	return managers.applied(merged.Root(), applied, w), nil
}

// applied writes the entries into a merged object, and returns its JSON.
func (l ledger) applied(merged, config document.Value, w Write) []byte {
	if w.Manager == kubectl {
		setLastApplied(merged, config)
	}
	l.withoutEmpty().store(merged.SetObject("metadata"))
	return merged.AppendJSON(nil)
}

// ledgerToApply reads the entries of an object. Fields of an object without entries go to
// a manager of their own, so that taking them over is a conflict.
func (k *Kind) ledgerToApply(live document.Value, w Write) (ledger, error) {
	managers, err := readLedger(live.At("metadata", "managedFields"), false)
	if err != nil {
		managers = nil
	}
	if len(managers) == 0 && live.Exists() {
		before := w
		before.Manager = beforeFirstApply
		d := k.grammar().compare(k.Type, document.Value{}, live).without(w.Reset)
		if managers, err = k.update(document.Value{}, live, nil, d, before); err != nil {
			return nil, err
		}
	}
	kept := managers[:0]
	for _, e := range managers {
		g, typ := k.grammar(), k.Type
		if e.version != k.APIVersion {
			v, err := k.view(e.version, document.Value{})
			if err != nil {
				return nil, err
			}
			if v == nil {
				continue
			}
			g, typ = v.grammar, v.typ
		}
		if e.known || g.outdated(typ, e.fields()) {
			e.own(g.reconcile(typ, e.owned()))
		}
		kept = append(kept, e)
	}
	return kept, nil
}

// decoded makes an untyped document from JSON that this package wrote.
func decoded(text []byte) (*document.Document, error) {
	if len(text) == 0 {
		text = []byte("{}")
	}
	return document.ReadStored(nil, schema.None, text)
}
