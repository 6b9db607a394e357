package policy

import (
	"encoding/base64"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxData is the limit of all data of a config map or a secret, in bytes.
const maxData = 1 << 20

// ValidateConfigMap checks the data of a config map, and that an immutable one
// stays as it is.
func (Policy) ValidateConfigMap(obj, old document.Value) []schema.Cause {
	var c causes
	data, binary := obj.Get("data"), obj.Get("binaryData")
	total := c.dataKeys(data, false) + c.dataKeys(binary, true)
	for name := range binary.Members() {
		if data.Get(name).Exists() {
			c.invalidText(key(data, name), name, "duplicate of key present in binaryData")
		}
	}
	if total > maxData {
		c.tooLong("", maxData)
	}
	c.immutable(obj, old, "data", "binaryData")
	return c
}

// dataKeys checks the keys of data and returns the size of the values, in bytes.
func (c *causes) dataKeys(data document.Value, encoded bool) int {
	total := 0
	for name, v := range data.Members() {
		for _, problem := range document.CheckFormat("config-key", name) {
			c.invalidText(key(data, name), name, problem)
		}
		text := v.Text()
		if encoded {
			padding := len(text) - len(strings.TrimRight(text, "="))
			total += base64.StdEncoding.DecodedLen(len(text)) - padding
		} else {
			total += len(text)
		}
	}
	return total
}

// immutable holds an object that declared itself immutable to it.
func (c *causes) immutable(obj, old document.Value, members ...string) {
	if !old.Get("immutable").Bool() {
		return
	}
	const why = "field is immutable when `immutable` is set"
	if !obj.Get("immutable").Bool() {
		c.forbidden("immutable", why)
	}
	for _, name := range members {
		if !same(obj.Get(name), old.Get(name)) {
			c.forbidden(name, why)
		}
	}
}

// CellConfigMapData is the number of keys.
func (Policy) CellConfigMapData(obj document.Value) any {
	return int64(obj.Get("data").Len() + obj.Get("binaryData").Len())
}
