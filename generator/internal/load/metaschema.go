package load

import (
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"
)

// metaSchema is the schema of schemas, JSON Schema 2020-12, compiled once. It
// is part of the library: nothing is fetched.
var metaSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile(jsonschema.Draft2020.URL())
})

// validSchema checks that a document is a JSON Schema. Extensions are allowed there.
func (r *reader) validSchema(n node) {
	meta, err := metaSchema()
	if err != nil {
		r.fail(n.pos(), "", "the schema of schemas does not compile: %v", err)
		return
	}
	var value any
	if n.Decode(&value) != nil {
		return // repeated keys and the like, which are reported with their lines
	}
	var wrong *jsonschema.ValidationError
	if err := meta.Validate(value); errors.As(err, &wrong) {
		for len(wrong.Causes) > 0 {
			wrong = wrong.Causes[0]
		}
		at := n.with(follow(n.Node, wrong.InstanceLocation))
		r.fail(at.pos(), "see JSON Schema 2020-12", "not a valid JSON Schema: %s", wrong.Message)
	}
}

// follow gives the node at a JSON pointer, or the last that is there.
func follow(n *yaml.Node, pointer string) *yaml.Node {
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		var next *yaml.Node
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == part {
					next = n.Content[i+1]
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Content) {
				next = n.Content[i]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
