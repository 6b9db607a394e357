package policy

import (
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
	c.secretType(obj, data)
	c.PlaceAt(before, "metadata.annotations[]") // after all that is wrong in the data
	return c.Causes
}

// secretType checks that a secret has the data of its type.
func (c *causes) secretType(obj, data document.Value) {
	switch obj.Get("type").Text() {
	case labelDomain + "/service-account-token":
		const account = labelDomain + "/service-account.name"
		if obj.At("metadata", "annotations", account).Text() == "" {
			c.Required("metadata.annotations["+account+"]", "")
		}
	case labelDomain + "/dockercfg":
		c.registryConfig(data, ".dockercfg")
	case labelDomain + "/dockerconfigjson":
		c.registryConfig(data, ".dockerconfigjson")
	case labelDomain + "/basic-auth":
		if !data.Get("username").Exists() && !data.Get("password").Exists() {
			c.Required("data[username]", "")
			c.Required("data[password]", "")
		}
	case labelDomain + "/ssh-auth":
		if data.Get("ssh-privatekey").Text() == "" {
			c.Required("data[ssh-privatekey]", "")
		}
	case labelDomain + "/tls":
		for _, name := range [...]string{"tls.crt", "tls.key"} {
			if !data.Get(name).Exists() {
				c.Required("data["+name+"]", "")
			}
		}
	}
}

// registryConfig checks the credentials of image registries. They are not shown.
func (c *causes) registryConfig(data document.Value, name string) {
	v := data.Get(name)
	if !v.Exists() {
		c.Required("data["+name+"]", "")
		return
	}
	text, err := base64.StdEncoding.DecodeString(v.Text())
	if err != nil {
		return // reported when it was read
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		c.InvalidText("data["+name+"]", "<secret contents redacted>", err.Error())
	}
}
