package request

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// BodyKind is the expected content of a body.
type BodyKind struct {
	GV         *api.GroupVersion // of the default hooks; nil for none
	Schema     *catalog.Schema
	Type       schema.Ref
	APIVersion string
	Kind       string
	// Also reports which other versions have the same kind; nil for none.
	Also func(apiVersion string) bool
	// AnyKind is set if the kind in the body does not matter.
	AnyKind bool
	// AnyVersion is set if another version of a custom object, once patched, is a mistake
	// that validation reports.
	AnyVersion bool
	// KeepNulls is that of the decoder.
	KeepNulls bool
}

// KindOf is the kind of the objects of a row.
func KindOf(res *catalog.Row) BodyKind {
	return BodyKind{GV: res.GV, Schema: res.Schema, Type: res.Type, APIVersion: res.GV.APIVersion(), Kind: res.Kind}
}

func (want BodyKind) defaults() []func(document.Value) {
	if want.GV == nil {
		return nil
	}
	return want.GV.Defaults
}

// ReadObject reads the body as one object of the expected kind, checks unknown and
// duplicate fields as requested (Ignore, Warn, Strict), and applies defaults.
func (env *Env) ReadObject(r *Request, want BodyKind, validation string) (*document.Document, error) {
	text, err := env.ToJSON(r.HTTP.Header.Get("Content-Type"), r.Body, want)
	if err != nil {
		return nil, err
	}
	return env.Decode(r, text, want, document.Value{}, validation)
}

// ToJSON turns a body of any accepted media type into JSON text.
func (env *Env) ToJSON(contentType string, body []byte, want BodyKind) ([]byte, error) {
	binary := codec.BinaryMedia
	if want.Schema.Table().Custom {
		binary = ""
	}
	media, err := codec.ParseContentType(contentType, binary, env.cbor)
	if err != nil {
		return nil, err
	}
	switch media {
	case codec.YAML:
		return FromYAML(body)
	case codec.Binary:
		return env.fromBinary(body, want)
	case codec.CBOR:
		text, err := want.Schema.CBOR().Decode(want.Type, body)
		if err != nil {
			return nil, want.Refuse(err.Error())
		}
		return text, nil
	}
	return body, nil
}

// ReadConfiguration turns the body of an apply into JSON text. Its values have no types yet,
// so that bytes in CBOR become text in base64. Errors: 400.
func (env *Env) ReadConfiguration(r *Request) ([]byte, error) {
	if r.Media() != applyCBOR {
		return FromYAML(r.Body)
	}
	text, err := codec.DecodeCBOR(r.Body)
	if err != nil {
		return nil, api.BadRequest("error decoding YAML: %v", err) // as releases with CBOR call it
	}
	return text, nil
}

// FromYAML turns a YAML body into JSON text. Errors: 400.
func FromYAML(body []byte) ([]byte, error) {
	text, err := yaml.ToJSON(body)
	if err != nil {
		return nil, api.BadRequest("the YAML of the body is wrong: %v", err)
	}
	return text, nil
}

// fromBinary opens the envelope and decodes the object in it.
func (env *Env) fromBinary(body []byte, want BodyKind) ([]byte, error) {
	apiVersion, kind, raw, err := codec.OpenEnvelope(body)
	if err != nil {
		return nil, api.BadRequest("the binary body is wrong: %v", err)
	}
	if err := want.Check(apiVersion, kind); err != nil {
		return nil, err
	}
	text, err := want.Schema.Binary().Decode(want.Type, raw)
	if err != nil {
		return nil, api.BadRequest("the binary body is wrong: %v", err)
	}
	return text, nil
}

// Check refuses a body of another kind. Missing members are taken from the path.
func (want BodyKind) Check(apiVersion, kind string) error {
	if kind != "" && kind != want.Kind {
		return api.BadRequest("%s in version %q cannot be handled as a %s: send a %s of %s to this path", kind, apiVersion, want.Kind, want.Kind, want.APIVersion)
	}
	if apiVersion != "" && apiVersion != want.APIVersion && (want.Also == nil || !want.Also(apiVersion)) {
		return api.BadRequest("the API version in the data (%s) does not match the expected API version (%s)", apiVersion, want.APIVersion)
	}
	return nil
}

// custom checks the kind and version of a decoded custom object: unlike those of others,
// they have to be said. Another kind is a mistake that validation reports; an object of
// another version is refused, and has problems too.
func (want BodyKind) custom(text []byte, doc *document.Document, found []document.Problem) (*document.Document, []document.Problem, error) {
	apiVersion, kind := doc.Root().Get("apiVersion").Text(), doc.Root().Get("kind").Text()
	if !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) || kind == "" {
		doc.Release()
		return nil, nil, api.BadRequest("the object provided is unrecognized (must be of type %s): Object 'Kind' is missing", want.Kind)
	}
	if kind != want.Kind || apiVersion != want.APIVersion { // whose fields are not known
		found = slices.DeleteFunc(found, func(p document.Problem) bool { return !p.Duplicate && !ownMeta(p) })
	}
	if apiVersion != want.APIVersion && !want.AnyVersion {
		if doc.Release(); apiVersion == "" && nullVersion(text) {
			found = nil
		}
		return nil, found, api.BadRequest("the API version in the data (%s) does not match the expected API version (%s)", apiVersion, want.APIVersion)
	}
	return doc, found, nil
}

// nullVersion reports whether a body says null for its version, of which 1.25 reads no
// further. Without any it finds what else is wrong.
func nullVersion(text []byte) bool {
	doc, err := document.DecodeAny(text, document.Limits{})
	defer doc.Release()
	return err == nil && doc.Root().Get("apiVersion").IsNull()
}

// Refuse is the error of a body that is not of the kind. Clients show the version in it
// without the group.
func (want BodyKind) Refuse(why string) error {
	return api.BadRequest("%s in version %q cannot be handled as a %s: %s", want.Kind, path.Base(want.APIVersion), want.Kind, why)
}

// Refused turns an error of Read into the answer to a request with such a body.
func (want BodyKind) Refused(err error) error {
	var known *api.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return want.Refuse(err.Error())
}

// Decode makes the typed tree of an object that replaces old, absent for a new one, and
// reports unknown and duplicate fields.
func (env *Env) Decode(r *Request, text []byte, want BodyKind, old document.Value, validation string) (*document.Document, error) {
	r.Span.Event("About to convert to expected version")
	doc, found, err := env.Parse(text, want, old)
	want.Arrange(found, r.Media() == "application/yaml")
	if err != nil {
		return nil, cmp.Or(Report(r, r.Describe(found), want, validation), err)
	}
	if len(found) > 0 {
		if doc, err = env.decodeOdd(r, text, want, old, doc, found); err != nil {
			return nil, err
		}
	}
	if err := Report(r, r.Describe(found), want, validation); err != nil {
		doc.Release()
		return nil, err
	}
	r.Span.Event("Conversion done")
	env.recordBody(r, doc.Root())
	return doc, nil
}

// decodeOdd decodes a body with unknown or duplicate members again, as 1.25 reads it: the
// case of letters does not matter where it finds the kind of the body, and duplicate
// members of JSON are joined.
func (env *Env) decodeOdd(r *Request, text []byte, want BodyKind, old document.Value, doc *document.Document,
	found []document.Problem) (*document.Document, error) {
	if err := env.CheckTypeMeta(text, want, found); err != nil {
		doc.Release()
		return nil, err
	}
	if r.Media() == "application/yaml" || want.Schema.Table().Custom || !slices.ContainsFunc(found, isDuplicate) {
		return doc, nil
	}
	doc.Release()
	doc, _, err := env.Parse(document.JoinRepeated(text, want.Schema.Table(), want.Type), want, old)
	return doc, err
}

func isDuplicate(p document.Problem) bool { return p.Duplicate }

// ownMeta reports a problem in the metadata of a custom object itself.
func ownMeta(p document.Problem) bool { return p.Meta && strings.HasPrefix(p.Path, "metadata.") }

// Arrange orders problems as 1.25 reports them: as they were found, unless the members of
// the body have no order, as in YAML; then by name. In a custom object repeated members
// come first, then its metadata, its other fields, and the metadata of objects in it.
func (want BodyKind) Arrange(found []document.Problem, unordered bool) {
	if len(found) < 2 || !unordered && !want.Schema.Table().Custom {
		return
	}
	place := func(p document.Problem) int {
		switch {
		case !want.Schema.Table().Custom || p.Duplicate:
			return 0
		case ownMeta(p):
			return 1
		case p.Meta:
			return 3
		}
		return 2
	}
	slices.SortStableFunc(found, func(a, b document.Problem) int {
		if c := cmp.Compare(place(a), place(b)); c != 0 || a.Duplicate && !unordered {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
}

// CheckTypeMeta refuses a body with a member that differs from apiVersion or kind only in
// the case of letters and has another value.
func (env *Env) CheckTypeMeta(text []byte, want BodyKind, found []document.Problem) error {
	states := func(p document.Problem) bool {
		return strings.EqualFold(p.Path, "apiVersion") || strings.EqualFold(p.Path, "kind")
	}
	spelled := func(p document.Problem) bool { // repeated members of a custom object are read already
		return states(p) && !(p.Duplicate && want.Schema.Table().Custom)
	}
	if !slices.ContainsFunc(found, spelled) {
		return nil
	}
	doc, err := document.DecodeAny(text, env.decodeLimits)
	if err != nil {
		return want.Refuse(err.Error())
	}
	defer doc.Release()
	var apiVersion, kind string // the last one counts
	for name, value := range doc.Root().Members() {
		switch {
		case !states(document.Problem{Path: name}) || value.IsNull():
		case value.Kind() != document.String:
			return api.BadRequest("the object provided is unrecognized (must be of type %s): %s has to be a string", want.Kind, name)
		case strings.EqualFold(name, "kind"):
			kind = value.Text()
		default:
			apiVersion = value.Text()
		}
	}
	return want.Check(apiVersion, kind)
}

// Parse makes the typed tree of an object of the wanted kind, which replaces old.
func (env *Env) Parse(text []byte, want BodyKind, old document.Value) (*document.Document, []document.Problem, error) {
	doc, found, err := env.Read(text, want, old)
	return doc, found, want.Refused(err)
}

// Read is Parse, with the decoder's own errors. A custom object of another version has
// problems too.
func (env *Env) Read(text []byte, want BodyKind, old document.Value) (*document.Document, []document.Problem, error) {
	if string(text) == "null" {
		text = []byte("{}")
	}
	decoder := document.Decoder{Table: want.Schema.Table(), Defaults: want.defaults(), Limits: env.decodeLimits, KeepNulls: want.KeepNulls}
	doc, found, err := decoder.DecodeOver(old, want.Type, text)
	if err != nil {
		var limit *document.LimitError
		if errors.As(err, &limit) && limit.What == document.FilledBytes {
			return nil, nil, api.TooLarge(int64(limit.Limit))
		}
		if mismatch := env.otherKind(text, want); mismatch != nil {
			return nil, nil, mismatch
		}
		return nil, nil, err
	}
	root := doc.Root()
	switch {
	case want.AnyKind:
	case want.Schema.Table().Custom:
		return want.custom(text, doc, found)
	default:
		if err := want.Check(root.Get("apiVersion").Text(), root.Get("kind").Text()); err != nil {
			doc.Release()
			return nil, nil, err
		}
	}
	root.SetString("kind", want.Kind)
	root.SetString("apiVersion", want.APIVersion)
	return doc, found, nil
}

// otherKind finds the better message for a body that does not decode because it
// holds another kind.
func (env *Env) otherKind(text []byte, want BodyKind) error {
	doc, err := document.DecodeAny(text, env.decodeLimits)
	if err != nil {
		return nil
	}
	defer doc.Release()
	return want.Check(doc.Root().Get("apiVersion").Text(), doc.Root().Get("kind").Text())
}

// Describe formats problems as clients know them.
func Describe(problems []document.Problem) []string {
	var texts []string
	for _, p := range problems {
		what := "unknown"
		if p.Duplicate {
			what = "duplicate"
		}
		texts = append(texts, fmt.Sprintf("%s field %q", what, p.Path))
	}
	return texts
}

// Describe formats problems in the body of the request. In YAML repeated keys of a
// mapping are reported by their lines, and first; in JSON those in a value whose type
// allows anything are not reported, as in 1.25.
func (r *Request) Describe(problems []document.Problem) []string {
	switch media := r.Media(); {
	case media != "application/yaml" && media != applyPatch:
		return Describe(slices.DeleteFunc(slices.Clone(problems), func(p document.Problem) bool { return p.Untyped }))
	case !slices.ContainsFunc(problems, isDuplicate):
		return Describe(problems)
	}
	var texts []string
	for _, k := range yaml.Repeated(r.Body) {
		texts = append(texts, fmt.Sprintf("line %d: key %s already set in map", k.Line, k.Key))
	}
	return append(texts, Describe(slices.DeleteFunc(slices.Clone(problems), isDuplicate))...)
}

// Report reports unknown and duplicate fields, each once, in the requested way
// (specification, fieldValidation).
func Report(r *Request, problems []string, want BodyKind, validation string) error {
	if len(problems) == 0 || validation == "Ignore" {
		return nil
	}
	var texts []string
	for _, p := range problems {
		if !slices.Contains(texts, p) {
			texts = append(texts, p)
		}
	}
	if validation == "Warn" {
		for _, t := range texts {
			r.Warn(t)
		}
		return nil
	}
	return want.Refuse("strict decoding error: " + strings.Join(texts, ", "))
}
