package discovery

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// describedRemotes are the group versions of extension servers with an OpenAPI v2
// document, and a hash of these documents.
func describedRemotes(snapshot *catalog.Snapshot) (all []*catalog.Version, hash string) {
	h := sha512.New()
	for _, v := range snapshot.Discovered() {
		if v.Remote != nil && v.Remote.Documents != nil && v.Remote.Documents.OpenAPI2 != nil {
			all = append(all, v)
			h.Write(v.Remote.Documents.OpenAPI2)
		}
	}
	return all, strings.ToUpper(hex.EncodeToString(h.Sum(nil)))
}

// remotePart is the addition of extension servers to the OpenAPI v2 document, as part is
// that of custom resources. Definitions that the document, or another server, has under
// the same name are the same, or get another name, as in 1.25.
func (c *CustomOpenAPI) remotePart(remotes []*catalog.Version, binary bool) ([][]byte, error) {
	m := c.second()
	paths, definitions := node{}, node{}
	for _, v := range remotes {
		part := decodeNode(v.Remote.Documents.OpenAPI2)
		own, _ := part["definitions"].(node)
		names := m.namesFor(own, definitions)
		for name, definition := range own {
			if to := names[name]; m.schemas[to] == nil {
				definitions[to] = withNames(definition, names)
			}
		}
		items, _ := part["paths"].(node)
		for path, item := range items {
			paths[path] = withNames(item, names)
		}
	}
	if binary {
		text, err := c.binaryOf(paths, definitions)
		return [][]byte{text, nil}, err
	}
	all := make([][]byte, len(additions))
	for i, members := range [...]node{definitions, paths} {
		text, err := json.Marshal(members)
		if err != nil {
			return nil, err
		}
		if len(members) > 0 {
			text[len(text)-1] = ','
			all[i] = text[1:]
		}
	}
	return all, nil
}

// namesFor chooses the names of a server's definitions among the present ones.
func (m *model) namesFor(own, others node) map[string]string {
	names := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		to := name
		for n := 2; ; n++ {
			have := m.schemas[to]
			if have == nil {
				have = others[to]
			}
			if have == nil || sameShape(have, own[name]) {
				break
			}
			to = fmt.Sprintf("%s_v%d", name, n)
		}
		names[name] = to
	}
	return names
}

// withNames is a part of a document with other names of definitions.
func withNames(v any, names map[string]string) any {
	const refs = "#/definitions/"
	switch v := v.(type) {
	case node:
		out := make(node, len(v))
		for key, below := range v {
			if text, ok := below.(string); ok && key == "$ref" && names[strings.TrimPrefix(text, refs)] != "" {
				out[key] = refs + names[strings.TrimPrefix(text, refs)]
				continue
			}
			out[key] = withNames(below, names)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = withNames(below, names)
		}
		return out
	}
	return v
}

// sameShape reports whether two definitions describe the same values: their texts, and the
// kinds that they are published for, may differ.
func sameShape(a, b any) bool {
	plain := func(v any) []byte {
		text, _ := json.Marshal(withoutWords(v))
		return text
	}
	return bytes.Equal(plain(a), plain(b))
}

func withoutWords(v any) any {
	switch v := v.(type) {
	case node:
		out := make(node, len(v))
		for key, below := range v {
			if text, ok := below.(string); key == "description" && ok && text != "" || key == extGVK || key == "default" {
				continue
			}
			out[key] = withoutWords(below)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, below := range v {
			out[i] = withoutWords(below)
		}
		return out
	}
	return v
}
