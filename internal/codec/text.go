package codec

import (
	"bytes"
	stdjson "encoding/json"

	"sigs.k8s.io/yaml"
)

// ToYAML turns JSON into YAML, its keys sorted. An error says that the text is
// not JSON.
func ToYAML(json []byte) ([]byte, error) { return yaml.JSONToYAML(json) }

// Indent gives JSON for people: two spaces per level, one member per line. Text
// that is not JSON is returned as it is.
func Indent(json []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(json) * 2)
	if err := stdjson.Indent(&out, json, "", "  "); err != nil {
		return json
	}
	return out.Bytes()
}
