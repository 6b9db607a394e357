package verbs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/patch"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Patch is PATCH on an object or on its status. Every kind of patch turns the stored
// bytes into new ones, which then continue like an update.
func (v *Verbs) Patch(r *request.Request) error {
	if r.Applies() {
		return v.apply(r)
	}
	p, err := v.ReadPatch(r)
	if err != nil {
		return err
	}
	t := r.Target
	want := request.KindOf(t.Row)
	want.AnyVersion = true
	p.Check(want)
	r.Span.Event(storing)
	out, err := v.objects.Write(r.Context, &objects.Write{Ref: t.Ref, Opts: p.Opts, Change: func(e *objects.Evaluation) (document.Value, error) {
		if e.Shown == nil {
			return document.Value{}, api.NotFound(t.Row.GroupResource(), t.Name)
		}
		patched, err := p.Apply(e.Shown.Body, want)
		if err != nil {
			return document.Value{}, err
		}
		doc, err := v.decodeVersion(r, patched, e.Was, p, want)
		if err != nil {
			return document.Value{}, err
		}
		obj := e.Keep(doc)
		return obj, objects.MatchPatched(obj, t.Ref)
	}})
	return v.RespondWritten(r, out, err)
}

// DecodePatched decodes the patched form of old.
func (v *Verbs) DecodePatched(r *request.Request, text []byte, old document.Value, p *patchBody, want request.BodyKind) (*document.Document, error) {
	if p.media == request.StrategicPatch { // the object keeps its kind, as in 1.25
		want.AnyKind, want.AnyVersion = true, true
	} else if lacksVersion(text) {
		return nil, p.refuseUnversioned(r, text, want)
	}
	doc, problems, err := v.env.Read(text, want, old)
	if err == nil && p.media != request.StrategicPatch {
		err = v.env.CheckTypeMeta(text, want, problems)
	}
	if err != nil {
		doc.Release()
		return nil, p.refuse(err, want)
	}
	if err := p.report(r, problems, want); err != nil {
		doc.Release()
		if want.Schema.Table().Custom {
			err = p.refuse(err, want)
		}
		return nil, err
	}
	return doc, nil
}

// otherVersion finds the version that a patched object of a built-in type names by its apiVersion, and whose fields
// it has therefore; nil when it stays in its own, or its type has no such version.
func (p *patchBody) otherVersion(row *catalog.Row, text []byte) *catalog.Row {
	version, said := document.Find(text, "apiVersion")
	if !said || p.media == request.StrategicPatch || row.Definition != nil || version[0] != '"' {
		return nil
	}
	if named := row.Versions.Version(document.Unquote(version)); named != row {
		return named
	}
	return nil
}

// decodeVersion is DecodePatched for an object that may name another version of its type: it is read in that version
// and converted to the version of the request.
func (v *Verbs) decodeVersion(r *request.Request, text []byte, old document.Value, p *patchBody, want request.BodyKind) (*document.Document, error) {
	row := r.Target.Row
	named := p.otherVersion(row, text)
	if named == nil {
		return v.DecodePatched(r, text, old, p, want)
	}
	was, err := convert.Between(r.Context, row.Resource, named.Resource, old)
	if err != nil {
		return nil, err
	}
	defer was.Release()
	doc, err := v.DecodePatched(r, text, was.Root(), p, request.KindOf(named))
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	return convert.Between(r.Context, named.Resource, row.Resource, doc.Root())
}

// report reports mistakes in the fields of the patch, and of the patched object: by name,
// as in 1.25, where merged members have no order.
func (p *patchBody) report(r *request.Request, problems []document.Problem, want request.BodyKind) error {
	want.Arrange(problems, p.media != request.JSONPatch)
	return request.Report(r, append(p.problems, request.Describe(problems)...), want, p.Opts.Validation)
}

// refuse is the answer to a patch whose result cannot be decoded: 422, but 400 where 1.25
// would store another value than the patch has, as it does with null in a list, and with
// large numbers in a strategic patch.
func (p *patchBody) refuse(err error, want request.BodyKind) error {
	refused := want.Refused(err)
	if api.IsReason(refused, api.ReasonInvalid) || api.IsReason(refused, api.ReasonRequestEntityTooLarge) {
		return refused
	}
	var wrong *document.TypeError
	if errors.As(err, &wrong) && (wrong.Mistake == document.NullElement || wrong.Mistake == document.OutOfRange && p.media == request.StrategicPatch) {
		return refused
	}
	return api.Invalid("", "", "", []api.Cause{{Reason: schema.CauseInvalid, Field: "patch", Message: "Invalid value: " + refused.Error()}})
}

// lacksVersion reports whether a patched object has no apiVersion.
func lacksVersion(text []byte) bool {
	version, said := document.Find(text, "apiVersion")
	return bytes.HasPrefix(text, []byte("{")) && (!said || string(version) == "null" || string(version) == `""`)
}

// refuseUnversioned is the answer to a patch that removes the object's apiVersion, and so
// its name and other fields, which a version defines: without one, members of metadata
// are those of the object.
func (p *patchBody) refuseUnversioned(r *request.Request, text []byte, want request.BodyKind) error {
	kind, said := document.Find(text, "kind")
	if said = said && string(kind) != "null"; !said && want.Schema.Table().Custom {
		return p.refuse(want.Refuse("the patch leaves no kind"), want)
	}
	if said {
		if name := document.Unquote(kind); kind[0] != '"' || name != "" && name != want.Kind {
			return p.refuse(want.Refuse("the patch makes another kind of it: "+string(kind)), want)
		}
	}
	if want.Schema.Table().Custom {
		if _, said := document.Find(text, "apiVersion"); said { // null, which is no text
			return p.refuse(unversioned(want), want)
		}
		return unversioned(want)
	}
	var problems []document.Problem
	types := want.Schema.Table().Types
	root := &types[want.Type]
	meta := &types[root.Fields[root.Field("metadata")].Type]
	document.EachMember(text, func(name, _ []byte) bool {
		if string(name) != "apiVersion" && string(name) != "kind" && meta.Field(string(name)) < 0 {
			problems = append(problems, document.Problem{Path: string(name)})
		}
		return len(problems) < maxPatchProblems
	})
	if err := p.report(r, problems, want); err != nil {
		return err
	}
	return unversioned(want)
}

func unversioned(want request.BodyKind) error {
	return api.BadRequest("the patch leaves the object without apiVersion; it has to stay %s", want.APIVersion)
}

// patchBody is a patch as it was sent.
type patchBody struct {
	media    string
	text     []byte   // JSON
	problems []string // duplicate fields, and those that no patch has
	Opts     objects.Options
	limits   document.Limits
	since    func(release string) bool // as of Config
}

// ReadPatch reads the body of a PATCH.
func (v *Verbs) ReadPatch(r *request.Request) (*patchBody, error) {
	opts, err := r.WriteOptions("PatchOptions")
	if err != nil {
		return nil, err
	}
	opts.Patched = true
	r.RecordText(r.Body)
	return &patchBody{media: r.Media(), text: r.Body, Opts: opts, limits: v.decodeLimits, since: v.cfg.Since}, nil
}

// Check checks the fields of the patch itself, apart from its result. An unreadable patch
// is left to Apply.
func (p *patchBody) Check(want request.BodyKind) {
	if p.Opts.Validation == "Ignore" {
		return
	}
	if p.media == request.JSONPatch {
		p.checkOperations()
		return
	}
	p.problems = append(p.problems, request.Describe(document.Repeated(p.text, p.limits))...)
}

// maxPatchProblems bounds the problems reported for one patch.
const maxPatchProblems = 100

// checkOperations finds unknown and duplicate members in the operations of a JSON patch.
func (p *patchBody) checkOperations() {
	var compact bytes.Buffer
	if err := json.Compact(&compact, p.text); err != nil {
		return
	}
	i := -1
	document.EachElement(compact.Bytes(), func(operation []byte) bool {
		i++
		var known [len(operationFields)]bool
		document.EachMember(operation, func(name, value []byte) bool {
			switch field := slices.Index(operationFields[:], string(name)); {
			case field < 0:
				p.problems = append(p.problems, fmt.Sprintf("json patch unknown field \"[%d].%s\"", i, name))
			case known[field]:
				p.problems = append(p.problems, fmt.Sprintf("json patch duplicate field \"[%d].%s\"", i, name))
			default:
				known[field] = true
				for _, repeated := range document.Repeated(value, p.limits) {
					dot := "."
					if strings.HasPrefix(repeated.Path, "[") {
						dot = ""
					}
					p.problems = append(p.problems, fmt.Sprintf("json patch duplicate field \"[%d].%s%s%s\"", i, name, dot, repeated.Path))
				}
			}
			return len(p.problems) < maxPatchProblems
		})
		return len(p.problems) < maxPatchProblems
	})
}

// operationFields are the members of an operation of a JSON patch.
var operationFields = [...]string{"op", "path", "from", "value"}

// Apply returns the patched JSON text of an object of the wanted kind.
func (p *patchBody) Apply(current []byte, want request.BodyKind) ([]byte, error) {
	switch p.media {
	case request.JSONPatch:
		return patch.JSON(current, p.text, p.limits, p.since)
	case request.MergePatch:
		if p.Opts.Validation == "Ignore" && bytes.HasPrefix(bytes.TrimSpace(p.text), []byte("[")) { // which replaces the object, as in 1.25
			return nil, p.refuse(want.Refuse("the patch makes a list of it"), want)
		}
		return patch.Merge(current, p.text, p.limits)
	}
	return patch.Strategic(current, p.text, want.Schema.Table(), want.Type, p.limits, p.since)
}
