package discovery

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// generated are the OpenAPI v3 documents that were generated, of what a snapshot serves.
func (c *CustomOpenAPI) generated(snapshot *catalog.Snapshot) iter.Seq[api.Document] {
	return func(yield func(api.Document) bool) {
		for _, source := range c.sources() {
			for _, doc := range source.V3 {
				if servesOpenAPI(snapshot, doc.Path) && !yield(doc) {
					return
				}
			}
		}
	}
}

// servesOpenAPI reports whether the group or group version that a document describes is
// served: its path is apis/<group>/<version>, apis/<group>, or neither of these.
func servesOpenAPI(snapshot *catalog.Snapshot, path string) bool {
	rest, named := strings.CutPrefix(path, "apis/")
	if !named {
		return path != "api/v1" || snapshot.ServesGroup("")
	}
	return snapshot.ServesGroup(rest) || snapshot.ServedVersion(rest) != nil
}

// Third visits the paths of the OpenAPI v3 documents that describe a snapshot, with their
// hashes.
func (c *CustomOpenAPI) Third(snapshot *catalog.Snapshot) iter.Seq2[string, string] {
	return func(yield func(path, hash string) bool) {
		seen := map[string]bool{}
		for doc := range c.generated(snapshot) {
			if seen[doc.Path] = true; !yield(doc.Path, doc.Hash) {
				return
			}
		}
		for _, v := range snapshot.Discovered() {
			hash := hashOf(v)
			if v.Remote != nil && v.Remote.Documents != nil {
				hash = v.Remote.Documents.OpenAPI3
			}
			if path := "apis/" + v.APIVersion(); hash != "" && !seen[path] && !yield(path, hash) {
				return
			}
		}
	}
}

// ThirdAt is the OpenAPI v3 document at a path; false when there is none.
func (c *CustomOpenAPI) ThirdAt(snapshot *catalog.Snapshot, path string) (Text, bool) {
	for doc := range c.generated(snapshot) {
		if doc.Path == path {
			return c.generatedText(doc.Hash, doc.JSON), true
		}
	}
	rest, named := strings.CutPrefix(path, "apis/")
	if !named {
		return Text{}, false
	}
	v := snapshot.ServedVersion(rest)
	if v == nil || hashOf(v) == "" {
		return Text{}, false
	}
	return Text{Hash: hashOf(v), Parts: func() ([][]byte, error) {
		return c.made.get("v3 "+hashOf(v), func() ([][]byte, error) { return c.third().whole(customRows(v)) })
	}}, true
}

// Index has the path of each document of a snapshot, with its hash, so that clients fetch
// it once.
func (c *CustomOpenAPI) Index(snapshot *catalog.Snapshot) ([]byte, error) {
	type address struct {
		URL string `json:"serverRelativeURL"`
	}
	paths := map[string]address{}
	for path, hash := range c.Third(snapshot) {
		paths[path] = address{"/openapi/v3/" + path + "?hash=" + hash}
	}
	return json.Marshal(map[string]any{"paths": paths})
}

// addition is added to the first generated OpenAPI v2 document.
type addition struct {
	hash string
	make func(binary bool) ([][]byte, error)
}

// added are the additions of a snapshot: the documents of other modules, versions that are turned
// on, custom resources, and extension servers.
func (c *CustomOpenAPI) added(snapshot *catalog.Snapshot) (all []addition) {
	for _, source := range c.sources()[1:] {
		all = append(all, addition{source.V2.Hash, func(binary bool) ([][]byte, error) { return c.without(source.V2, binary) }})
	}
	if on := c.turnedOn(snapshot); len(on) > 0 {
		hash := ""
		for _, doc := range on {
			hash += doc.Hash
		}
		all = append(all, addition{hash, func(binary bool) ([][]byte, error) { return c.turnedOnPart(on, binary) }})
	}
	for _, v := range snapshot.Discovered() {
		if hash := hashOf(v); hash != "" {
			all = append(all, addition{hash, func(binary bool) ([][]byte, error) { return c.part(customRows(v), binary) }})
		}
	}
	if remotes, hash := describedRemotes(snapshot); len(remotes) > 0 {
		all = append(all, addition{"remote " + hash, func(binary bool) ([][]byte, error) { return c.remotePart(remotes, binary) }})
	}
	return all
}

// Second is the OpenAPI v2 document of a snapshot, as JSON or in the binary form: that of
// the built-in kinds with all additions.
func (c *CustomOpenAPI) Second(snapshot *catalog.Snapshot, binary bool) Text {
	doc, added := c.sources()[0].V2, c.added(snapshot)
	first, form, join := c.generatedText(doc.Hash, doc.JSON), "v2 ", splice
	if binary {
		first, form, join = c.binaryText(doc), "v2 binary ", appendParts
	}
	if len(added) == 0 {
		return first
	}
	hash := sha512.New()
	hash.Write([]byte(doc.Hash))
	for _, a := range added {
		hash.Write([]byte(a.hash))
	}
	return Text{Hash: strings.ToUpper(hex.EncodeToString(hash.Sum(nil))), Parts: func() ([][]byte, error) {
		text, err := first.Parts()
		if err != nil {
			return nil, err
		}
		var parts [][][]byte
		for _, a := range added {
			part, err := c.made.get(form+a.hash, func() ([][]byte, error) { return a.make(binary) })
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
		return join(text[0], parts)
	}}
}

// additions are the members of the OpenAPI v2 document that have parts of custom
// resources.
var additions = [...]string{"definitions", "paths"}

// splice adds the parts of custom resources, their definitions and their paths, to the
// text of a document.
func splice(text []byte, parts [][][]byte) (all [][]byte, err error) {
	type place struct{ at, part int }
	var places []place
	for i, name := range additions {
		head := "\n" + `"` + name + `": {`
		at := bytes.Index(text, []byte(head))
		if at < 0 {
			return nil, fmt.Errorf("the document has no %s", name)
		}
		places = append(places, place{at + len(head), i})
	}
	slices.SortFunc(places, func(a, b place) int { return a.at - b.at })
	from := 0
	for _, p := range places {
		all = append(all, text[from:p.at])
		for _, part := range parts {
			all = append(all, part[p.part])
		}
		from = p.at
	}
	return append(all, text[from:]), nil
}

// appendParts appends the parts of custom resources to the binary form of a document:
// messages of the same field are merged.
func appendParts(text []byte, parts [][][]byte) ([][]byte, error) {
	all := [][]byte{text}
	for _, part := range parts {
		all = append(all, part...)
	}
	return all, nil
}

// part is the addition of some rows to the OpenAPI v2 document: in the binary form, or
// the members to be added to definitions and to paths, each followed by a comma. A row
// that cannot be described is left out.
func (c *CustomOpenAPI) part(rows []*catalog.Row, binary bool) ([][]byte, error) {
	m := c.second()
	all := make([][]byte, len(additions))
	for _, row := range rows {
		added := [len(additions)]node{{}, {}}
		m.add(row, added[1], added[0], true)
		if binary {
			if text, err := c.binaryOf(added[1], added[0]); err == nil {
				all[0] = append(all[0], text...)
			}
			continue
		}
		texts, err := textsOf(added)
		if err != nil {
			return nil, err
		}
		for i, text := range texts {
			all[i] = append(all[i], text...)
		}
	}
	return all, nil
}

// textsOf are the members to be added to a document in JSON.
func textsOf(added [len(additions)]node) (all [][]byte, err error) {
	all = make([][]byte, len(additions))
	for i, members := range added {
		if all[i], err = membersOf(members); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// membersOf are the members of an object, each followed by a comma.
func membersOf(n node) ([]byte, error) {
	text, err := json.Marshal(n)
	if err != nil || len(n) == 0 {
		return nil, err
	}
	text[len(text)-1] = ','
	return text[1:], nil
}

// inSecond are the paths and definitions that generated documents of the second version have.
func inSecond(sources []api.Documents) (map[string]bool, error) {
	has := map[string]bool{}
	for _, source := range sources {
		text, err := source.V2.JSON.Text()
		if err != nil {
			return nil, err
		}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			if name, whole := memberOf(line); whole {
				has[name] = true
			}
		}
	}
	return has, nil
}

// without is a generated document of the second version as an addition to the first one,
// without what that has too.
func (c *CustomOpenAPI) without(doc api.Document, binary bool) ([][]byte, error) {
	has, err := inSecond(c.sources()[:1])
	if err != nil {
		return nil, err
	}
	if binary {
		form, err := binaryOfGenerated(doc)
		if err != nil {
			return nil, err
		}
		text, err := binaryWithout(form, has)
		return [][]byte{text}, err
	}
	var added [len(additions)]node
	from := unpackedNode(doc.JSON)
	for i, name := range additions {
		added[i], _ = from[name].(node)
		dropMembers(added[i], has)
	}
	return textsOf(added)
}

// dropMembers takes members out of a section of a document.
func dropMembers(section node, dropped map[string]bool) {
	maps.DeleteFunc(section, func(member string, _ any) bool { return dropped[member] })
}

// Numbers of fields in the binary form of the second version.
const (
	documentPaths       = 8
	documentDefinitions = 9
	pathsPath           = 2
	definitionsSchema   = 1
	memberName          = 1
)

// binaryWithout is the paths and definitions of a document in the binary form, without
// those that another one has.
func binaryWithout(text []byte, has map[string]bool) (out []byte, err error) {
	fields := func(text []byte, visit func(number protowire.Number, value, whole []byte)) {
		for len(text) > 0 && err == nil {
			number, kind, n := protowire.ConsumeField(text)
			if n < 0 {
				err = protowire.ParseError(n)
				return
			}
			if kind == protowire.BytesType {
				_, _, tag := protowire.ConsumeTag(text)
				value, _ := protowire.ConsumeBytes(text[tag:n])
				visit(number, value, text[:n])
			}
			text = text[n:]
		}
	}
	fields(text, func(number protowire.Number, members, _ []byte) {
		member := map[protowire.Number]protowire.Number{documentPaths: pathsPath, documentDefinitions: definitionsSchema}[number]
		if member == 0 {
			return
		}
		var kept []byte
		fields(members, func(number protowire.Number, value, whole []byte) {
			name := ""
			fields(value, func(number protowire.Number, value, _ []byte) {
				if number == memberName {
					name = string(value)
				}
			})
			if number == member && !has[name] {
				kept = append(kept, whole...)
			}
		})
		out = protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), kept)
	})
	return out, err
}

// binaryOf is the binary form of paths and definitions.
func (c *CustomOpenAPI) binaryOf(paths, definitions node) ([]byte, error) {
	text, err := json.Marshal(node{"swagger": "2.0", "info": node{"title": "", "version": ""}, "paths": paths, "definitions": definitions})
	if err != nil {
		return nil, err
	}
	return binaryForm(text)
}

// whole is the OpenAPI v3 document of some rows.
func (m *model) whole(rows []*catalog.Row) ([][]byte, error) {
	out, paths, schemas := node{}, node{}, node{}
	for name, member := range m.document {
		out[name] = member
	}
	for _, row := range rows {
		m.add(row, paths, schemas, false)
	}
	components := node{"schemas": schemas}
	if all, ok := m.document["components"].(node); ok && len(rows) > 0 {
		components["securitySchemes"], components["responses"] = all["securitySchemes"], newRenamer(rows[0], m).renamed(all["responses"])
	}
	m.close(schemas, paths)
	m.close(schemas, components["responses"])
	m.close(schemas, schemas)
	out["paths"], out["components"] = paths, components
	text, err := json.Marshal(out)
	return [][]byte{text}, err
}

// hashKey is the key of the hash of the custom resources of a group version.
type hashKey struct{}

// hashOf is a hash of the custom resources of a group version; "" when it has none.
func hashOf(v *catalog.Version) string {
	return catalog.Derived(v, hashKey{}, func() string {
		rows := customRows(v)
		if len(rows) == 0 {
			return ""
		}
		h := sha512.New()
		for _, row := range rows {
			h.Write(row.Definition.Hash[:])
			fmt.Fprintf(h, "%s %s %d\n", v.APIVersion(), row.Plural, len(row.Subresources))
		}
		return strings.ToUpper(hex.EncodeToString(h.Sum(nil)))
	})
}

func customRows(v *catalog.Version) (rows []*catalog.Row) {
	for _, row := range v.Rows {
		if row.Definition != nil {
			rows = append(rows, row)
		}
	}
	return rows
}
