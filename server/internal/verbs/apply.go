package verbs

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// applied is an applied configuration.
type applied struct {
	Doc      *document.Document // untyped
	Opts     objects.Options
	problems []string // unknown and duplicate fields
	wrong    error    // for a value that its field cannot hold, or nil
}

// ReadApplied reads a configuration of the wanted kind. Its fields are checked like those
// of any body; wrong numbers and strings are reported after conflicts, as in 1.25.
func (v *Verbs) ReadApplied(r *request.Request, want request.BodyKind) (*applied, error) {
	opts, err := r.WriteOptions("PatchOptions")
	if err != nil {
		return nil, err
	}
	opts.Applied, opts.Patched = true, true
	text, err := v.env.ReadConfiguration(r)
	if err != nil {
		return nil, err
	}
	r.RecordText(text)
	plain := want
	plain.GV = nil // without defaults
	doc, err := document.DecodeAny(text, v.decodeLimits)
	if err != nil {
		return nil, want.Refuse(err.Error())
	}
	a := &applied{Doc: doc, Opts: opts}
	if err := v.checkApplied(r, a, text, plain); err != nil {
		doc.Release()
		return nil, err
	}
	return a, nil
}

// checkApplied checks the fields of a configuration.
func (v *Verbs) checkApplied(r *request.Request, a *applied, text []byte, want request.BodyKind) error {
	typed, found, err := v.env.Read(text, want, document.Value{})
	typed.Release()
	if err != nil {
		var wrong *document.TypeError
		if !errors.As(err, &wrong) || wrong.Mistake != document.NotInteger && wrong.Mistake != document.OutOfRange && wrong.Mistake != document.Malformed {
			return want.Refused(err)
		}
		a.wrong = want.Refused(err)
	}
	if want.Schema.Table().Custom {
		if err := undeclared(a.Doc.Root(), found, want); err != nil && typed != nil {
			return err
		}
		if kind := a.Doc.Root().Get("kind").Text(); kind != want.Kind && v.cfg.Since("1.28") {
			return api.BadRequest("invalid object type: %s, Kind=%s: send a %s to this path", want.APIVersion, kind, want.Kind)
		}
		found = slices.DeleteFunc(found, func(p document.Problem) bool { return !p.Duplicate })
	}
	if document.HasOtherSpelling(text) {
		document.Respell(a.Doc.Root(), want.Schema.Table(), want.Type)
	}
	a.problems = r.Describe(found)
	return nil
}

// undeclared refuses a configuration of a custom resource with fields that its schema does
// not have, whatever validation is asked for: nobody could own them.
func undeclared(config document.Value, found []document.Problem, want request.BodyKind) error {
	var all []string
	for _, p := range found {
		if !p.Duplicate && !p.Alien && !p.Loose { // an alien is another mistake, and members of loose objects are pruned
			all = append(all, "."+p.Path+": field not declared in schema")
		}
	}
	if len(all) == 0 {
		return nil
	}
	meta := config.Get("metadata")
	return api.BadRequest("failed to create typed patch object (%s/%s; %s, Kind=%s): %s", meta.Get("namespace").Text(), meta.Get("name").Text(),
		want.APIVersion, want.Kind, lines(all))
}

// lines are several mistakes in the form of 1.25.
func lines(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return "errors:\n  " + strings.Join(all, "\n  ")
}

// apply is PATCH with an apply configuration, on an object or on its status. It creates a
// missing object.
func (v *Verbs) apply(r *request.Request) error {
	t := r.Target
	want := request.KindOf(t.Row)
	a, err := v.ReadApplied(r, want)
	if err != nil {
		return err
	}
	defer a.Doc.Release()
	r.Span.Event(storing)
	kind, as := t.Row.Ownership().For(r.Context), v.objects.FieldWrite(t.Ref, a.Opts)
	out, err := v.objects.Write(r.Context, &objects.Write{Ref: t.Ref, Opts: a.Opts, Asks: true, Change: func(e *objects.Evaluation) (document.Value, error) {
		var missing error
		if e.Shown == nil {
			if missing = mayApply(e, a.Doc.Root().Get("metadata")); missing == nil {
				missing = v.env.MayCreate(r)
			}
			if missing != nil && !t.Row.CheckedWhenMissing {
				return document.Value{}, missing
			}
		}
		text, err := a.Merge(r, kind, want, e.Was, as)
		if err != nil {
			return document.Value{}, err
		}
		obj, err := v.decodeMerged(e, text)
		if err != nil {
			return document.Value{}, err
		}
		if err := objects.MatchPatched(obj, t.Ref); err != nil {
			return document.Value{}, err
		}
		return obj, missing
	}})
	return v.RespondWritten(r, out, err)
}

// Merge merges the configuration into a live object of the wanted kind and returns the
// JSON. Mistakes in its fields are reported if there is no conflict.
func (a *applied) Merge(r *request.Request, kind *apply.Kind, want request.BodyKind, live document.Value, as apply.Write) ([]byte, error) {
	text, err := kind.Apply(live, a.Doc.Root(), as, a.Opts.Force)
	if answer := (*api.Error)(nil); a.wrong != nil && !errors.As(err, &answer) {
		return nil, a.wrong // unless there is another answer, such as a conflict
	}
	if err != nil {
		return nil, err
	}
	return text, request.Report(r, a.problems, want, a.Opts.Validation)
}

// decodeMerged decodes an object merged with a configuration, with its defaults. A custom
// object may lack those of a version in which it is not stored: it gets them with a
// change, so not if only the ownership of fields is new.
func (v *Verbs) decodeMerged(e *objects.Evaluation, text []byte) (document.Value, error) {
	res := e.Row
	if res.Definition != nil && res.Conversion != nil && e.Shown != nil {
		now, err := document.ReadMerged(res.GV.Types(), res.Type, text)
		if err != nil {
			return document.Value{}, err
		}
		merged := e.Keep(now)
		if unchanged, err := sameButOwnership(res, merged, e.Was); unchanged || err != nil {
			return merged, err
		}
	}
	want := request.KindOf(res)
	want.KeepNulls = true
	doc, _, err := v.env.Parse(text, want, e.Was)
	if err != nil {
		return document.Value{}, err
	}
	return e.Keep(doc), nil
}

// sameButOwnership reports whether two objects differ in managedFields at most.
func sameButOwnership(res *catalog.Row, a, b document.Value) (bool, error) {
	var texts [2][]byte
	for i, v := range [...]document.Value{a, b} {
		doc, err := document.ReadMerged(res.GV.Types(), res.Type, v.AppendJSON(nil))
		if err != nil {
			return false, err
		}
		doc.Root().SetObject("metadata").Remove("managedFields")
		texts[i] = doc.Root().AppendJSON(nil)
		doc.Release()
	}
	return bytes.Equal(texts[0], texts[1]), nil
}

// mayApply decides whether an apply may create the object. It may with a resourceVersion,
// which a manifest of a deleted object has, as in 1.25.
func mayApply(e *objects.Evaluation, meta document.Value) error {
	t, gr := e.Ref, e.Row.GroupResource()
	if t.Sub != nil || t.Row.Verbs&api.VerbCreate == 0 {
		return api.NotFound(gr, t.Name)
	}
	if uid := meta.Get("uid").Text(); uid != "" {
		return api.Conflict(gr, t.Name, "uid mismatch: the provided object specified uid "+uid+", and no existing object was found")
	}
	if _, _, err := api.ParseRevision(meta.Get("resourceVersion").Text()); err != nil {
		return err
	}
	return e.OpenNamespace(t.Name)
}
