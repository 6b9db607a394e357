package policy

import (
	"encoding/base64"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxData bounds all data of a config map or a secret, in bytes.
const maxData = 1 << 20

// ValidateConfigMap checks that the data of a config map has each key once, and its size.
func (Policy) ValidateConfigMap(obj, _ document.Value) []schema.Cause {
	var c causes
	data, binary := obj.Get("data"), obj.Get("binaryData")
	for name := range binary.Members() {
		if data.Get(name).Exists() {
			c.InvalidText(key(data, name), name, "duplicate of key present in binaryData")
		}
	}
	if dataSize(data, false)+dataSize(binary, true) > maxData {
		c.TooLong("[]", maxData) // all of the object
	}
	return c.Causes
}

// dataSize is the size of the values of data, in bytes.
func dataSize(data document.Value, encoded bool) int {
	total := 0
	for _, v := range data.Members() {
		if !encoded {
			total += v.TextSize()
			continue
		}
		text := v.Text()
		padding := len(text) - len(strings.TrimRight(text, "="))
		total += base64.StdEncoding.DecodedLen(len(text)) - padding
	}
	return total
}
