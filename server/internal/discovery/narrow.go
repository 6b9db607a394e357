package discovery

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Off returns a function that reports whether a path in the generated documents is not
// served, since its resource, or all of its group version, is off. It is nil for a catalog
// in which everything is on that the documents describe; rows are turned off at the start only.
func Off(snapshot *catalog.Snapshot) func(path string) bool {
	some := false
	for t := range snapshot.Types() {
		some = some || slices.ContainsFunc(t.Rows, func(row *catalog.Row) bool { return row.Off && !row.GV.Off })
	}
	if !some {
		return nil
	}
	return func(path string) bool {
		steps := strings.FieldsFunc(strings.NewReplacer("{", "", "}", "").Replace(path), func(c rune) bool { return c == '/' })
		if len(steps) == 0 || steps[0] != "api" && steps[0] != "apis" {
			return false
		}
		switch address, ok := catalog.ParsePath("/" + strings.Join(steps, "/")); {
		case ok && address.Resource != "":
			row := snapshot.Resource(address.Group, address.Version, address.Resource)
			return row != nil && row.Off
		case steps[0] == "api":
			return len(steps) > 1 && !snapshot.ServesGroup("")
		case len(steps) == 2:
			return !snapshot.ServesGroup(steps[1])
		case len(steps) == 3:
			return snapshot.ServedVersion(steps[1]+"/"+steps[2]) == nil
		}
		return false
	}
}

// narrowed are generated documents without the paths that are off, and without the schemas
// that only those refer to.
func narrowed(from api.Documents, off func(path string) bool) (to api.Documents, err error) {
	if to.V2, err = narrowedDocument(from.V2, off); err != nil {
		return to, err
	}
	for _, doc := range from.V3 {
		if doc, err = narrowedDocument(doc, off); err != nil {
			return to, err
		}
		to.V3 = append(to.V3, doc)
	}
	return to, nil
}

// allNarrowed are documents without the paths that are off. One that cannot be read, since the
// binary is broken, stays as it is.
func allNarrowed(sources []api.Documents, off func(path string) bool) []api.Documents {
	if off == nil {
		return sources
	}
	all := slices.Clone(sources)
	for i, source := range sources {
		if less, err := narrowed(source, off); err == nil {
			all[i] = less
		}
	}
	return all
}

func narrowedDocument(doc api.Document, off func(path string) bool) (api.Document, error) {
	text, err := doc.JSON.Text()
	if err != nil {
		return doc, err
	}
	less, dropped := narrowedText(text, off)
	if len(dropped) == 0 {
		return doc, nil
	}
	doc.JSON = api.Pack(string(less))
	if doc.Binary != "" {
		if text, err = doc.Binary.Text(); err != nil {
			return doc, err
		}
		if text, err = binaryWithout(text, dropped); err != nil {
			return doc, err
		}
		doc.Binary = api.Pack(string(text))
	}
	doc.Hash = api.HashOf(less)
	return doc, nil
}

// schemaReference is a reference to a schema, in either version of the documents.
var schemaReference = regexp.MustCompile(`"#/(?:definitions|components/schemas)/([^"]+)"`)

// narrowedText drops members of a document, and names them: paths that are off, and schemas that
// nothing else refers to. A generated document has a line for each of them.
func narrowedText(text []byte, off func(path string) bool) (less []byte, dropped map[string]bool) {
	lines, dropped := bytes.Split(text, []byte("\n")), map[string]bool{}
	schemas, pending := map[string][]byte{}, [][]byte(nil) // the lines whose references are not followed yet
	section := ""
	for _, line := range lines {
		name, member := memberOf(line)
		switch {
		case !member:
			section = name
		case section == "paths" && off(name):
			dropped[name] = true
			continue
		case section == "definitions" || section == "schemas":
			schemas[name] = line
			continue
		}
		pending = append(pending, line)
	}
	if len(dropped) == 0 {
		return text, nil
	}
	reached := map[string]bool{}
	for len(pending) > 0 {
		line := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		for _, found := range schemaReference.FindAllSubmatch(line, -1) {
			if name := string(found[1]); !reached[name] {
				reached[name] = true
				pending = append(pending, schemas[name])
			}
		}
	}
	for name := range schemas {
		if !reached[name] {
			dropped[name] = true
		}
	}
	return withoutMembers(lines, dropped), dropped
}

// memberOf is the name at the begin of a line: of a member that is whole in the line, or of
// a section, "" where one ends.
func memberOf(line []byte) (name string, whole bool) {
	rest, named := bytes.CutPrefix(line, []byte(`"`))
	if !named {
		return "", false
	}
	quoted, value, _ := bytes.Cut(rest, []byte(`": `))
	return string(quoted), string(value) != "{"
}

// withoutMembers joins lines without those of some members. The last of an object has no comma.
func withoutMembers(lines [][]byte, dropped map[string]bool) []byte {
	var out [][]byte
	for _, line := range lines {
		if name, whole := memberOf(line); whole && dropped[name] {
			continue
		}
		if last := len(out) - 1; last >= 0 && bytes.HasPrefix(line, []byte("}")) {
			out[last] = bytes.TrimSuffix(out[last], []byte(","))
		}
		out = append(out, line)
	}
	return bytes.Join(out, []byte("\n"))
}
