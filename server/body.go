package server

import (
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

// bodyKind is what a body is expected to hold.
type bodyKind struct {
	gv         *api.GroupVersion // whose default hooks apply; nil for none
	schema     *catalog.Schema
	typ        schema.Ref
	apiVersion string
	kind       string
	// also says which other versions have the same kind; nil for none.
	also func(apiVersion string) bool
	// unsaid is set where it does not count which kind the body says it is.
	unsaid bool
}

func kindOf(res *catalog.Row) bodyKind {
	return bodyKind{gv: res.GV, schema: res.Schema, typ: res.Type, apiVersion: res.GV.APIVersion(), kind: res.Kind}
}

func (want bodyKind) defaults() []func(document.Value) {
	if want.gv == nil {
		return nil
	}
	return want.gv.Defaults
}

// readObject reads the body as one object of the expected kind, checks unknown
// and duplicate fields as asked (Ignore, Warn, Strict), and applies defaults.
func (s *Server) readObject(r *request, want bodyKind, validation string) (*document.Document, error) {
	text, err := s.toJSON(r.http.Header.Get("Content-Type"), r.body, want)
	if err != nil {
		return nil, err
	}
	return s.decode(r, text, want, document.Value{}, validation)
}

// toJSON turns a body of any accepted media type into JSON text.
func (s *Server) toJSON(contentType string, body []byte, want bodyKind) ([]byte, error) {
	media, err := codec.ParseContentType(contentType, codec.BinaryMedia)
	if err != nil {
		return nil, err
	}
	switch media {
	case codec.YAML:
		return fromYAML(body)
	case codec.Binary:
		return s.fromBinary(body, want)
	}
	return body, nil
}

func fromYAML(body []byte) ([]byte, error) {
	text, err := yaml.ToJSON(body)
	if err != nil {
		return nil, api.BadRequest("the YAML of the body is wrong: %v", err)
	}
	return text, nil
}

// fromBinary opens the envelope and decodes the object in it.
func (s *Server) fromBinary(body []byte, want bodyKind) ([]byte, error) {
	apiVersion, kind, raw, err := codec.OpenEnvelope(body)
	if err != nil {
		return nil, api.BadRequest("the binary body is wrong: %v", err)
	}
	if err := want.check(apiVersion, kind); err != nil {
		return nil, err
	}
	text, err := want.schema.Binary().Decode(want.typ, raw)
	if err != nil {
		return nil, api.BadRequest("the binary body is wrong: %v", err)
	}
	return text, nil
}

// check refuses a body of another kind. What the body does not say is taken
// from the path.
func (want bodyKind) check(apiVersion, kind string) error {
	if kind != "" && kind != want.kind {
		return api.BadRequest("%s in version %q cannot be handled as a %s: send a %s of %s to this path", kind, apiVersion, want.kind, want.kind, want.apiVersion)
	}
	if apiVersion != "" && apiVersion != want.apiVersion && (want.also == nil || !want.also(apiVersion)) {
		return api.BadRequest("the API version in the data (%s) does not match the expected API version (%s)", apiVersion, want.apiVersion)
	}
	return nil
}

// refuse is the error of a body that is not what the kind says. Clients show the
// version in it without the group.
func (want bodyKind) refuse(why string) error {
	return api.BadRequest("%s in version %q cannot be handled as a %s: %s", want.kind, path.Base(want.apiVersion), want.kind, why)
}

// refused is an error of read as the answer to a request with such a body.
func (want bodyKind) refused(err error) error {
	var known *api.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	return want.refuse(err.Error())
}

// decode makes the typed tree of what is to replace old, absent for something
// new, and says what was unknown or given twice.
func (s *Server) decode(r *request, text []byte, want bodyKind, old document.Value, validation string) (*document.Document, error) {
	doc, found, err := s.parse(text, want, old)
	if err != nil {
		return nil, err
	}
	if len(found) > 0 {
		if doc, err = s.decodeOdd(r, text, want, old, doc, found); err != nil {
			return nil, err
		}
	}
	if len(found) > 1 && r.media() == "application/yaml" { // whose members have no order: by name, as in 1.25
		slices.SortStableFunc(found, func(a, b document.Problem) int { return strings.Compare(a.Path, b.Path) })
	}
	if err := report(r, r.describe(found), want, validation); err != nil {
		doc.Release()
		return nil, err
	}
	return doc, nil
}

// decodeOdd looks again at a body with members that are unknown or there twice, as
// 1.25 reads it: the case of letters does not matter where it finds out what the body
// is, and members of JSON that are there twice are joined.
func (s *Server) decodeOdd(r *request, text []byte, want bodyKind, old document.Value, doc *document.Document, found []document.Problem) (*document.Document, error) {
	if err := s.checkStated(text, want, found); err != nil {
		doc.Release()
		return nil, err
	}
	if r.media() == "application/yaml" || !slices.ContainsFunc(found, isDuplicate) {
		return doc, nil
	}
	doc.Release()
	doc, _, err := s.parse(document.JoinRepeated(text, want.schema.Table(), want.typ), want, old)
	return doc, err
}

func isDuplicate(p document.Problem) bool { return p.Duplicate }

// checkStated refuses a body in which a member that is called apiVersion or kind but for
// the case of letters says something else.
func (s *Server) checkStated(text []byte, want bodyKind, found []document.Problem) error {
	states := func(p document.Problem) bool {
		return strings.EqualFold(p.Path, "apiVersion") || strings.EqualFold(p.Path, "kind")
	}
	if !slices.ContainsFunc(found, states) {
		return nil
	}
	doc, err := document.DecodeAny(text, s.decodeLimits)
	if err != nil {
		return want.refuse(err.Error())
	}
	defer doc.Release()
	var apiVersion, kind string // the last one counts
	for name, value := range doc.Root().Members() {
		switch {
		case !states(document.Problem{Path: name}) || value.IsNull():
		case value.Kind() != document.String:
			return api.BadRequest("the object provided is unrecognized (must be of type %s): %s has to be a string", want.kind, name)
		case strings.EqualFold(name, "kind"):
			kind = value.Text()
		default:
			apiVersion = value.Text()
		}
	}
	return want.check(apiVersion, kind)
}

// parse makes the typed tree of an object of the wanted kind, which is to
// replace old.
func (s *Server) parse(text []byte, want bodyKind, old document.Value) (*document.Document, []document.Problem, error) {
	doc, found, err := s.read(text, want, old)
	return doc, found, want.refused(err)
}

// read is parse, with the errors of the decoder as they are.
func (s *Server) read(text []byte, want bodyKind, old document.Value) (*document.Document, []document.Problem, error) {
	if string(text) == "null" {
		text = []byte("{}")
	}
	decoder := document.Decoder{Table: want.schema.Table(), Defaults: want.defaults(), Limits: s.decodeLimits}
	doc, found, err := decoder.DecodeOver(old, want.typ, text)
	if err != nil {
		if mismatch := s.otherKind(text, want); mismatch != nil {
			return nil, nil, mismatch
		}
		return nil, nil, err
	}
	root := doc.Root()
	if !want.unsaid {
		if err := want.check(root.Get("apiVersion").Text(), root.Get("kind").Text()); err != nil {
			doc.Release()
			return nil, nil, err
		}
	}
	root.SetString("kind", want.kind)
	root.SetString("apiVersion", want.apiVersion)
	return doc, found, nil
}

// otherKind finds the better message for a body that does not decode because it
// holds another kind.
func (s *Server) otherKind(text []byte, want bodyKind) error {
	doc, err := document.DecodeAny(text, s.decodeLimits)
	if err != nil {
		return nil
	}
	defer doc.Release()
	return want.check(doc.Root().Get("apiVersion").Text(), doc.Root().Get("kind").Text())
}

// describe puts problems into the words that clients know.
func describe(problems []document.Problem) []string {
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

// describe puts problems in the body of the request into words. In YAML keys that a
// mapping has already are told by their lines, and first; in JSON those in a value whose
// type allows anything are not told, as in 1.25.
func (r *request) describe(problems []document.Problem) []string {
	switch media := r.media(); {
	case media != "application/yaml" && media != applyPatch:
		return describe(slices.DeleteFunc(problems, func(p document.Problem) bool { return p.Untyped }))
	case !slices.ContainsFunc(problems, isDuplicate):
		return describe(problems)
	}
	var texts []string
	for _, k := range yaml.Repeated(r.body) {
		texts = append(texts, fmt.Sprintf("line %d: key %s already set in map", k.Line, k.Key))
	}
	return append(texts, describe(slices.DeleteFunc(problems, isDuplicate))...)
}

// report says which fields were unknown or given twice, each once, in the way
// that was asked for (specification, fieldValidation).
func report(r *request, problems []string, want bodyKind, validation string) error {
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
	return want.refuse("strict decoding error: " + strings.Join(texts, ", "))
}
