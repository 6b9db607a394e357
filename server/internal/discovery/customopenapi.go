package discovery

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"

	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// CustomOpenAPI makes the OpenAPI documents of custom resources on demand. Their paths
// are those of deployments under other names, since all kinds have the same operations.
// Documents are kept while the rows that they describe are served.
type CustomOpenAPI struct {
	second, third func() *model

	mu   sync.Mutex
	of   *catalog.Snapshot
	made map[string]openapi.Document // of group versions, by hash
	all  openapi.Document            // OpenAPI v2, with the built-in kinds
}

// modelPrefix is the beginning of the paths of the model's group version.
const modelPrefix = "/apis/apps/v1/"

// model is a document of the kind that the paths of custom resources are copied from.
type model struct {
	document node // without paths and schemas
	paths    node
	schemas  node   // all that the document has
	head     node   // the schemas of apiVersion, kind and metadata of an object
	listMeta any    // the schema of the metadata of a list
	kind     string // the name of the schema of the kind
	refs     string // the beginning of references to schemas
}

// NewCustomOpenAPI returns a CustomOpenAPI without documents.
func NewCustomOpenAPI() *CustomOpenAPI {
	return &CustomOpenAPI{made: map[string]openapi.Document{},
		second: sync.OnceValue(func() *model {
			d := decodeNode([]byte(openapi.V2().JSON))
			schemas, _ := d["definitions"].(node)
			return newModel(d, schemas, "#/definitions/")
		}),
		third: sync.OnceValue(func() *model {
			for _, doc := range openapi.V3() {
				if doc.Path == "apis/apps/v1" {
					d := decodeNode([]byte(doc.JSON))
					components, _ := d["components"].(node)
					schemas, _ := components["schemas"].(node)
					return newModel(d, schemas, "#/components/schemas/")
				}
			}
			return &model{}
		})}
}

func newModel(document, schemas node, refs string) *model {
	m := &model{document: document, paths: node{}, schemas: schemas, refs: refs, head: node{}}
	paths, _ := document["paths"].(node)
	for path, item := range paths {
		if strings.HasPrefix(path, modelPrefix) && strings.Contains(path, "/deployments") && !strings.Contains(path, "/watch/") {
			m.paths[path] = item
		}
	}
	delete(document, "paths")
	for name, schema := range schemas {
		schema, _ := schema.(node)
		properties, _ := schema["properties"].(node)
		switch fmt.Sprint(schema[extGVK]) {
		case "[map[group:apps kind:Deployment version:v1]]":
			m.kind = name
			for _, name := range []string{"apiVersion", "kind", "metadata"} {
				m.head[name] = properties[name]
			}
		case "[map[group:apps kind:DeploymentList version:v1]]":
			m.listMeta = properties["metadata"]
		}
	}
	return m
}

// Documents are the OpenAPI v3 documents that describe a snapshot. Those of custom
// resources come without their text, see Version.
func (c *CustomOpenAPI) Documents(snapshot *catalog.Snapshot) iter.Seq[openapi.Document] {
	return func(yield func(openapi.Document) bool) {
		seen := map[string]bool{}
		for doc := range OpenAPI(snapshot) {
			if seen[doc.Path] = true; !yield(doc) {
				return
			}
		}
		for _, v := range snapshot.Served() {
			if len(customRows(v)) > 0 && !seen["apis/"+v.APIVersion()] && !yield(c.version(v, false)) {
				return
			}
		}
	}
}

// Has reports whether there is an OpenAPI v3 document at a path.
func (c *CustomOpenAPI) Has(snapshot *catalog.Snapshot, path string) bool {
	for doc := range OpenAPI(snapshot) {
		if doc.Path == path {
			return true
		}
	}
	v := versionAt(snapshot, path)
	return v != nil && len(customRows(v)) > 0
}

// At is the OpenAPI v3 document at a path, with its text.
func (c *CustomOpenAPI) At(snapshot *catalog.Snapshot, path string) openapi.Document {
	for doc := range OpenAPI(snapshot) {
		if doc.Path == path {
			return doc
		}
	}
	if v := versionAt(snapshot, path); v != nil {
		return c.version(v, true)
	}
	return openapi.Document{}
}

// versionAt is the named group version with its document at a path; nil for none.
func versionAt(snapshot *catalog.Snapshot, path string) *catalog.Version {
	rest, named := strings.CutPrefix(path, "apis/")
	if !named {
		return nil
	}
	return snapshot.ServedVersion(rest)
}

// Index has the path of each document of a snapshot, with its hash, so that clients fetch
// it once.
func (c *CustomOpenAPI) Index(snapshot *catalog.Snapshot) ([]byte, error) {
	type address struct {
		URL string `json:"serverRelativeURL"`
	}
	paths := map[string]address{}
	for doc := range c.Documents(snapshot) {
		paths[doc.Path] = address{"/openapi/v3/" + doc.Path + "?hash=" + doc.Hash}
	}
	return json.Marshal(map[string]any{"paths": paths})
}

// hashOf is a hash of everything that the documents of rows depend on.
func hashOf(rows []*catalog.Row) string {
	h := sha512.New()
	for _, row := range rows {
		fmt.Fprintf(h, "%s %s %s %s %v %d\n", row.GV.APIVersion(), row.Plural, row.Kind, row.ListKind, row.Namespaced, len(row.Subresources))
		h.Write(row.Definition.Schema())
	}
	return strings.ToUpper(hex.EncodeToString(h.Sum(nil)))
}

func customRows(v *catalog.Version) (rows []*catalog.Row) {
	for _, row := range v.Rows {
		if row.Definition != nil {
			rows = append(rows, row)
		}
	}
	return rows
}

// version is the document of a group version of a snapshot, with its text on request.
func (c *CustomOpenAPI) version(v *catalog.Version, text bool) openapi.Document {
	rows := customRows(v)
	doc := openapi.Document{Path: "apis/" + v.APIVersion(), Hash: hashOf(rows)}
	if !text {
		return doc
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, known := c.made[doc.Hash]; known {
		return made
	}
	if len(c.made) >= mostKept {
		clear(c.made)
	}
	m := c.third()
	out := node{"paths": node{}}
	for name, member := range m.document {
		if name != "components" {
			out[name] = member
		}
	}
	schemas := node{}
	for _, row := range rows {
		m.add(row, out["paths"].(node), schemas, false)
	}
	m.close(schemas, out["paths"])
	m.close(schemas, schemas)
	components := node{"schemas": schemas}
	if all, ok := m.document["components"].(node); ok {
		components["securitySchemes"] = all["securitySchemes"]
	}
	out["components"] = components
	made, err := json.Marshal(out)
	if err == nil {
		doc.JSON = string(made)
		c.made[doc.Hash] = doc
	}
	return doc
}

// mostKept bounds the documents that are kept.
const mostKept = 64

// Second is the OpenAPI v2 document of a snapshot: that of the built-in kinds with the
// parts of custom resources added.
func (c *CustomOpenAPI) Second(snapshot *catalog.Snapshot) openapi.Document {
	var rows []*catalog.Row
	for _, v := range snapshot.Served() {
		rows = append(rows, customRows(v)...)
	}
	doc := openapi.V2()
	if len(rows) == 0 {
		return doc
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == snapshot {
		return c.all
	}
	m := c.second()
	paths, schemas := node{}, node{}
	for _, row := range rows {
		m.add(row, paths, schemas, true)
	}
	text, err := spliced(doc.JSON, paths, schemas)
	if err != nil {
		return doc
	}
	hash := sha512.Sum512([]byte(doc.Hash + hashOf(rows)))
	made := openapi.Document{JSON: text, Binary: doc.Binary + binaryOf(paths, schemas), Hash: strings.ToUpper(hex.EncodeToString(hash[:]))}
	c.of, c.all = snapshot, made
	return made
}

// spliced adds paths and definitions to the text of a document.
func spliced(text string, paths, definitions node) (string, error) {
	for name, more := range map[string]node{"paths": paths, "definitions": definitions} {
		added, err := json.Marshal(more)
		if err != nil {
			return "", err
		}
		at := strings.Index(text, "\n"+`"`+name+`": {`)
		if at < 0 {
			return "", fmt.Errorf("the document has no %s", name)
		}
		at += len("\n" + `"` + name + `": {`)
		text = text[:at] + string(added[1:len(added)-1]) + "," + text[at:]
	}
	return text, nil
}

// binaryOf is the binary form of paths and definitions. Appended to that of a document it
// adds them: messages of the same field are merged.
func binaryOf(paths, definitions node) string {
	text, err := json.Marshal(node{"swagger": "2.0", "info": node{"title": "", "version": ""}, "paths": paths, "definitions": definitions})
	if err != nil {
		return ""
	}
	doc, err := openapi_v2.ParseDocument(text)
	if err != nil {
		return ""
	}
	binary, err := proto.MarshalOptions{Deterministic: true}.Marshal(&openapi_v2.Document{Paths: doc.Paths, Definitions: doc.Definitions})
	if err != nil {
		return ""
	}
	return string(binary)
}

// schemaName is the name of a kind's schema: the group backwards, the version, the kind.
func schemaName(row *catalog.Row, kind string) string {
	parts := strings.Split(row.GV.Group, ".")
	slices.Reverse(parts)
	return strings.Join(parts, ".") + "." + row.GV.Version + "." + kind
}

// add adds the paths and schemas of a row.
func (m *model) add(row *catalog.Row, paths, schemas node, v2 bool) {
	r := newRenamer(row, m)
	for path, item := range m.paths {
		last := path[strings.LastIndexByte(path, '/')+1:]
		if (last == "scale" || last == "status") && row.Subresource(last) == nil || !row.Namespaced && path == modelPrefix+"deployments" {
			continue
		}
		paths[r.path(path)] = r.renamed(item)
	}
	name, head := schemaName(row, row.Kind), r.renamed(m.head).(node)
	schemas[name] = customSchema(row, head, v2)
	schemas[schemaName(row, row.ListKind)] = node{"type": "object", "description": row.ListKind + " is a list of " + row.Kind, "required": []any{"items"}, extGVK: gvk(row, row.ListKind),
		"properties": node{"apiVersion": head["apiVersion"], "kind": head["kind"],
			"metadata": r.renamed(m.listMeta),
			"items":    node{"description": "The objects.", "type": "array", "items": node{"$ref": m.refs + name}}}}
}

// close adds the schemas that parts of a document refer to.
func (m *model) close(schemas node, v any) {
	switch v := v.(type) {
	case node:
		for key, below := range v {
			if text, ok := below.(string); ok && key == "$ref" {
				name := strings.TrimPrefix(text, m.refs)
				if schema, ok := m.schemas[name]; ok && schemas[name] == nil {
					schemas[name] = schema
					m.close(schemas, schema)
				}
				continue
			}
			m.close(schemas, below)
		}
	case []any:
		for _, below := range v {
			m.close(schemas, below)
		}
	}
}
