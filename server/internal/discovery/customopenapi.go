package discovery

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// CustomOpenAPI has the OpenAPI documents that were generated, those of the built-in
// resources first, and makes those of custom resources on demand. Their paths
// are those of deployments under other names, since all kinds have the same operations.
// Each group version is a part that is made once while it is requested, so that a change
// of one costs nothing for the others.
type CustomOpenAPI struct {
	sources       func() []api.Documents // made when the first is asked for
	second, third func() *model
	made          shelf
}

// Text is a published document.
type Text struct {
	Hash   string
	Packed api.Packed               // the text as it was generated; "" when it is made of parts
	Parts  func() ([][]byte, error) // which follow each other
}

// generatedText is a text that was generated.
func (c *CustomOpenAPI) generatedText(hash string, packed api.Packed) Text {
	return Text{hash, packed, func() ([][]byte, error) { return c.unpacked(packed) }}
}

// unpacked is a text that was generated, which clients that do not read gzip share.
func (c *CustomOpenAPI) unpacked(packed api.Packed) ([][]byte, error) {
	return c.made.get(string(packed), func() ([][]byte, error) {
		text, err := packed.Text()
		return [][]byte{text}, err
	})
}

// unpackedNode is the tree of a generated text.
func unpackedNode(packed api.Packed) node {
	text, _ := packed.Text() // an empty tree, if the binary is broken
	return decodeNode(text)
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

// NewCustomOpenAPI returns a CustomOpenAPI with generated documents, which generated makes when the first is asked for. Their
// paths that are off are left out; off is nil when none is. With inCBOR those that remain have CBOR, and custom resources do
// not, as in the releases that have it.
func NewCustomOpenAPI(off func(path string) bool, inCBOR bool, generated func() []api.Documents) *CustomOpenAPI {
	generated = sync.OnceValue(generated)
	return &CustomOpenAPI{
		sources: sync.OnceValue(func() []api.Documents {
			all := allNarrowed(generated(), off)
			if inCBOR {
				all = allInCBOR(all)
			}
			return all
		}),
		second: sync.OnceValue(func() *model {
			d := unpackedNode(generated()[0].V2.JSON)
			schemas, _ := d["definitions"].(node)
			return newModel(d, schemas, "#/definitions/")
		}),
		third: sync.OnceValue(func() *model {
			for _, doc := range generated()[0].V3 {
				if doc.Path == "apis/apps/v1" {
					d := unpackedNode(doc.JSON)
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
			if metadata, ok := m.head["metadata"].(node); ok {
				metadata = maps.Clone(metadata)
				metadata["description"] = "Name, labels, annotations and other identifying metadata of the object."
				m.head["metadata"] = metadata
			}
		case "[map[group:apps kind:DeploymentList version:v1]]":
			m.listMeta = properties["metadata"]
		}
	}
	return m
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
	object, list := customSchema(row, head, v2), node{"type": "object", "description": row.ListKind + " is a list of " + row.Kind, "required": []any{"items"},
		extGVK: gvk(row, row.ListKind),
		"properties": node{"apiVersion": head["apiVersion"], "kind": head["kind"],
			"metadata": r.renamed(m.listMeta),
			"items":    node{"description": "The objects.", "type": "array", "items": node{"$ref": m.refs + name}}}}
	publishSelectable(object, row)
	publishSelectable(list, row)
	schemas[name], schemas[schemaName(row, row.ListKind)] = object, list
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
