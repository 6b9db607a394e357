package discovery

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// The generated document of the second version has the versions that are on by default, while
// each version has a document of the third. The part of a version that the configuration turns
// on is made of that.

// turnedOn are the documents of the third version of served versions that are off by default, and
// of their groups.
func (c *CustomOpenAPI) turnedOn(snapshot *catalog.Snapshot) (all []api.Document) {
	on := map[string]bool{}
	for _, v := range snapshot.Discovered() {
		if v.Off {
			on["apis/"+v.APIVersion()], on["apis/"+v.Group] = true, true
		}
	}
	if len(on) == 0 {
		return nil
	}
	for doc := range c.generated(snapshot) {
		if on[doc.Path] {
			all = append(all, doc)
		}
	}
	return all
}

// turnedOnPart is the addition of documents of the third version to the generated documents of
// the second, without what those have too.
func (c *CustomOpenAPI) turnedOnPart(docs []api.Document, binary bool) ([][]byte, error) {
	has, err := inSecond(c.sources())
	if err != nil {
		return nil, err
	}
	paths, definitions := node{}, node{}
	for _, doc := range docs {
		ofDoc, schemas, err := secondOf(doc)
		if err != nil {
			return nil, err
		}
		maps.Copy(paths, ofDoc)
		maps.Copy(definitions, schemas)
	}
	dropMembers(paths, has)
	dropMembers(definitions, has)
	if binary {
		text, err := c.binaryOf(paths, definitions)
		return [][]byte{text}, err
	}
	return textsOf([...]node{definitions, paths})
}

// secondOf are the paths and definitions of the second version that say what a document of the
// third says.
func secondOf(doc api.Document) (paths, definitions node, err error) {
	text, err := doc.JSON.Text()
	if err != nil {
		return nil, nil, err
	}
	text = bytes.ReplaceAll(text, []byte(`"#/components/schemas/`), []byte(`"#/definitions/`))
	text = bytes.ReplaceAll(text, []byte(`"#/components/responses/`), []byte(`"#/responses/`))
	whole := decodeNode(text)
	paths, _ = whole["paths"].(node)
	components, _ := whole["components"].(node)
	definitions, _ = components["schemas"].(node)
	for _, item := range paths {
		secondPath(item)
	}
	for _, schema := range definitions {
		secondSchema(schema)
	}
	return paths, definitions, nil
}

// secondPath rewrites a path: its parameters and its operations.
func secondPath(v any) {
	item, _ := v.(node)
	secondParameters(item["parameters"])
	for name, v := range item {
		if operation, ok := v.(node); ok && name != "parameters" {
			secondOperation(operation)
		}
	}
}

// secondParameters moves the schema of each parameter into it.
func secondParameters(v any) {
	list, _ := v.([]any)
	for _, v := range list {
		parameter, _ := v.(node)
		schema, _ := parameter["schema"].(node)
		maps.Copy(parameter, schema)
		delete(parameter, "schema")
	}
}

// secondOperation rewrites an operation: its body is a parameter, and its media types are those
// of the body and of the first answer that has contents.
func secondOperation(operation node) {
	secondParameters(operation["parameters"])
	consumes, produces := []any{"*/*"}, []any(nil)
	if body, ok := operation["requestBody"].(node); ok {
		parameter := node{"name": "body", "in": "body"}
		consumes = moveContent(body, parameter)
		if body["required"] == true {
			parameter["required"] = true
		}
		parameters, _ := operation["parameters"].([]any)
		operation["parameters"] = slices.Concat([]any{parameter}, parameters)
		delete(operation, "requestBody")
	}
	responses, _ := operation["responses"].(node)
	for _, code := range slices.Sorted(maps.Keys(responses)) {
		response, _ := responses[code].(node)
		if types := moveContent(response, response); produces == nil && types != nil {
			produces = types
		}
	}
	operation["consumes"], operation["produces"], operation["schemes"] = consumes, produces, []any{"https"}
}

// moveContent moves the schema of contents, which is the same for each media type, and returns
// the types.
func moveContent(from, to node) []any {
	contents, ok := from["content"].(node)
	if !ok {
		return nil
	}
	delete(from, "content")
	types := slices.SortedFunc(maps.Keys(contents), compareMedia)
	all := make([]any, len(types))
	for i, media := range types {
		all[i] = media
		content, _ := contents[media].(node)
		secondSchema(content["schema"])
		to["schema"] = content["schema"]
	}
	return all
}

// mediaOrder are the media types that the second version names in another order than that of their
// names: "" stands for all others.
var mediaOrder = []string{"text/plain", "", codec.BinaryMedia, codec.CBORMedia, "application/json" + streamed,
	codec.BinaryMedia + streamed, cborSequence, applyYAML, applyCBOR}

// compareMedia orders media types as the second version names them.
func compareMedia(a, b string) int {
	place := func(media string) int {
		if at := slices.Index(mediaOrder, media); at >= 0 {
			return at
		}
		return slices.Index(mediaOrder, "")
	}
	return cmp.Or(place(a)-place(b), strings.Compare(a, b))
}

// onlyThird are members of schemas that the second version lacks.
var onlyThird = []string{"default", "deprecated", "writeOnly", "nullable", "anyOf", "oneOf", "allOf", "not"}

// secondSchema rewrites a schema: a reference stands next to the members that describe it, and
// what may be one of several types is a string.
func secondSchema(v any) {
	schema, ok := v.(node)
	if !ok {
		return
	}
	if all, ok := schema["allOf"].([]any); ok && len(all) > 0 {
		if first, ok := all[0].(node); ok && first["$ref"] != nil {
			schema["$ref"] = first["$ref"]
		}
	}
	if _, several := schema["oneOf"]; several && schema["type"] == nil && schema["$ref"] == nil {
		schema["type"] = "string"
	}
	maps.DeleteFunc(schema, func(member string, _ any) bool { return slices.Contains(onlyThird, member) })
	secondSchema(schema["items"])
	secondSchema(schema["additionalProperties"])
	properties, _ := schema["properties"].(node)
	for _, property := range properties {
		secondSchema(property)
	}
}
