package policy

import (
	"encoding/base64"
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxData is the limit of all data of a config map or a secret, in bytes.
const maxData = 1 << 20

// DefaultSecret moves the write-only texts of stringData into data.
func (Policy) DefaultSecret(secret document.Value) {
	texts := secret.Get("stringData")
	if texts.Len() > 0 {
		data := secret.SetObject("data")
		for key, text := range texts.Members() {
			data.SetString(key, base64.StdEncoding.EncodeToString([]byte(text.Text())))
		}
	}
	secret.Remove("stringData")
}

// ValidateSecret checks the data of a secret, what its type needs, and that an
// immutable one stays as it is.
func (Policy) ValidateSecret(secret, old document.Value) []schema.Cause {
	var c causes
	c.data(secret, "data")
	for _, key := range secretKeys[secret.Get("type").Text()] {
		if !secret.Get("data").Get(key).Exists() {
			c.required("data["+key+"]", "")
		}
	}
	c.immutable(secret, old, "data")
	if old.Exists() && !same(secret.Get("type"), old.Get("type")) {
		c.invalid("type", secret.Get("type"), "field is immutable")
	}
	return c
}

// secretKeys are the keys that the types of secrets need.
var secretKeys = map[string][]string{
	"kubernetes.io/dockercfg":        {".dockercfg"},
	"kubernetes.io/dockerconfigjson": {".dockerconfigjson"},
	"kubernetes.io/ssh-auth":         {"ssh-privatekey"},
	"kubernetes.io/tls":              {"tls.crt", "tls.key"},
}

// ValidateConfigMap checks the data of a config map.
func (Policy) ValidateConfigMap(m, old document.Value) []schema.Cause {
	var c causes
	c.data(m, "data", "binaryData")
	for key := range m.Get("data").Members() {
		if m.Get("binaryData").Get(key).Exists() {
			c.invalid("data["+key+"]", m.Get("data").Get(key), "duplicate of key present in binaryData")
		}
	}
	c.immutable(m, old, "data", "binaryData")
	return c
}

// data checks keys and the size of all values together.
func (c *causes) data(obj document.Value, members ...string) {
	total := 0
	for _, member := range members {
		for key, value := range obj.Get(member).Members() {
			for _, problem := range document.CheckFormat("config-key", key) {
				c.add(schema.CauseInvalid, member+"["+key+"]", fmt.Sprintf("Invalid value: %q: %s", key, problem))
			}
			size := len(value.Text())
			if member == "binaryData" || obj.Get("kind").Equals("Secret") {
				size = base64.StdEncoding.DecodedLen(size)
			}
			total += size
		}
	}
	if total > maxData {
		c.add(schema.CauseTooLong, "", fmt.Sprintf("Too long: must have at most %d bytes", maxData))
	}
}

// immutable holds an object that declared itself immutable to it.
func (c *causes) immutable(obj, old document.Value, members ...string) {
	if !old.Get("immutable").Bool() {
		return
	}
	if !obj.Get("immutable").Bool() {
		c.forbidden("immutable", "field is immutable when `immutable` is set")
	}
	for _, member := range members {
		if !same(obj.Get(member), old.Get(member)) {
			c.forbidden(member, "field is immutable when `immutable` is set")
		}
	}
}
