package codec

import (
	"bytes"
	stdjson "encoding/json"
)

// Indent returns JSON with two spaces per level, one member per line. Text that is not
// JSON is returned as it is.
func Indent(json []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(json) * 2)
	if err := stdjson.Indent(&out, json, "", "  "); err != nil {
		return json
	}
	return out.Bytes()
}
