package policy

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultSecret moves the write-only texts of stringData into data.
func (Policy) DefaultSecret(obj document.Value) {
	if texts := obj.Get("stringData"); !isEmpty(texts) {
		data := obj.SetObject("data")
		for name, text := range texts.Members() {
			data.SetString(name, base64.StdEncoding.EncodeToString([]byte(text.Text())))
		}
	}
	obj.Remove("stringData")
}

// ValidateSecret checks the size of a secret, and the data that its type requires.
func (Policy) ValidateSecret(obj, _ document.Value) []schema.Cause {
	var c causes
	data := obj.Get("data")
	if dataSize(data, true) > maxData {
		c.TooLong("data", maxData)
	}
	before := len(c.Causes)
	switch obj.Get("type").Text() {
	case labelDomain + "/dockercfg":
		c.registryConfig(data, ".dockercfg")
	case labelDomain + "/dockerconfigjson":
		c.registryConfig(data, ".dockerconfigjson")
	}
	c.PlaceAt(before, "metadata.annotations[]") // after all that is wrong in the data
	return c.Causes
}

// WarnSecret warns of a certificate that does not belong to its key.
func (p Policy) WarnSecret(obj, _ document.Value) []string {
	if !p.since("1.27") || !obj.Get("type").Equals(labelDomain+"/tls") {
		return nil
	}
	part := func(name string) []byte {
		b, _ := base64.StdEncoding.DecodeString(obj.At("data", name).Text()) // checked by the schema
		return b
	}
	if _, err := tls.X509KeyPair(part("tls.crt"), part("tls.key")); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// registryConfig checks the credentials of image registries. They are not shown.
func (c *causes) registryConfig(data document.Value, name string) {
	v := data.Get(name)
	text, err := base64.StdEncoding.DecodeString(v.Text())
	if !v.Exists() || err != nil {
		return // reported by the schema, or when it was read
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		c.InvalidText("data["+name+"]", "<secret contents redacted>", err.Error())
	}
}
