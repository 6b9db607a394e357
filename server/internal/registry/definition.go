package registry

import (
	"bytes"
	"errors"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// definitionForm is the form of custom resource definitions in apiextensions/v1beta1. What
// all versions of a definition have in common stands above them there.
func definitionForm() *older {
	return &older{version: "v1beta1", encode: encodeDefinition, decode: decodeDefinition}
}

// shared are the members of versions that stand above them when all versions have the same,
// by their names in apiextensions/v1 and above the versions.
var shared = [...]struct{ name, above string }{
	{"schema", "validation"}, {"subresources", "subresources"},
	{"additionalPrinterColumns", "additionalPrinterColumns"}, {"selectableFields", "selectableFields"},
}

// textObject is the text of an object that grows by members.
type textObject []byte

// put adds a member; one without a value is left out.
func (o *textObject) put(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	separator := byte(',')
	if len(*o) == 0 {
		separator = '{'
	}
	*o = append(append(append(*o, separator, '"'), name...), '"', ':')
	*o = append(*o, value...)
}

func (o textObject) text() []byte {
	if len(o) == 0 {
		return []byte("{}")
	}
	return append(o, '}')
}

func encodeDefinition(_ *catalog.Row, text []byte) ([]byte, error) {
	doc, err := document.ReadStored(nil, schema.None, text)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	root, spec := doc.Root(), doc.Root().Get("spec")
	versions := spec.Get("versions")
	above := map[string][]byte{}
	for _, s := range shared {
		if first := sharedText(versions.Index(0), s.name); first != nil && sameInAll(versions, s.name, first) {
			above[s.above] = first
		}
	}
	var into textObject
	into.put("group", spec.Get("group").AppendJSON(nil))
	into.put("version", versions.Index(0).Get("name").AppendJSON(nil))
	into.put("names", spec.Get("names").AppendJSON(nil))
	into.put("scope", spec.Get("scope").AppendJSON(nil))
	into.put("validation", above["validation"])
	into.put("subresources", above["subresources"])
	into.put("versions", versionTexts(versions, above))
	into.put("additionalPrinterColumns", above["additionalPrinterColumns"])
	into.put("selectableFields", above["selectableFields"])
	into.put("conversion", conversionText(spec.Get("conversion")))
	keep := []byte("false")
	if spec.Get("preserveUnknownFields").Bool() {
		keep = []byte("true")
	}
	into.put("preserveUnknownFields", keep)
	var whole textObject
	for name, value := range root.Members() {
		switch name {
		case "apiVersion":
			whole.put(name, []byte(`"`+definitionGroup+`/v1beta1"`))
		case "spec":
			whole.put(name, into.text())
		default:
			whole.put(name, value.AppendJSON(nil))
		}
	}
	return whole.text(), nil
}

func sameInAll(versions document.Value, name string, first []byte) bool {
	for _, v := range versions.Elements() {
		if !bytes.Equal(sharedText(v, name), first) {
			return false
		}
	}
	return true
}

// sharedText is the text of a member that versions may share; nil for none.
func sharedText(version document.Value, name string) []byte {
	value := version.Get(name)
	switch {
	case !value.Exists():
		return nil
	case name == "schema":
		var o textObject
		if s := value.Get("openAPIV3Schema"); s.Exists() {
			o.put("openAPIV3Schema", appendSchema(nil, s))
		}
		return o.text()
	case name == "additionalPrinterColumns":
		dst := []byte{'['}
		for i, column := range value.Elements() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, renamed(column, "jsonPath", "JSONPath")...)
		}
		return append(dst, ']')
	}
	return value.AppendJSON(nil)
}

// renamed is the text of an object with another name of a member.
func renamed(v document.Value, from, to string) []byte {
	var o textObject
	for name, value := range v.Members() {
		if name == from {
			name = to
		}
		o.put(name, value.AppendJSON(nil))
	}
	return o.text()
}

// versionTexts is the text of the versions without what stands above them.
func versionTexts(versions document.Value, above map[string][]byte) []byte {
	dst := []byte{'['}
	for i, v := range versions.Elements() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var o textObject
		for _, name := range [...]string{"name", "served", "storage", "deprecated", "deprecationWarning"} {
			o.put(name, v.Get(name).AppendJSON(nil))
		}
		for _, s := range shared {
			if above[s.above] == nil {
				o.put(s.name, sharedText(v, s.name))
			}
		}
		dst = append(dst, o.text()...)
	}
	return append(dst, ']')
}

func conversionText(v document.Value) []byte {
	if !v.Exists() {
		return nil
	}
	var o textObject
	o.put("strategy", v.Get("strategy").AppendJSON(nil))
	o.put("webhookClientConfig", v.At("webhook", "clientConfig").AppendJSON(nil))
	o.put("conversionReviewVersions", v.At("webhook", "conversionReviewVersions").AppendJSON(nil))
	return o.text()
}

var errVersions = errors.New("what its versions share is too large for so many versions; remove some")

func decodeDefinition(text []byte) ([]byte, error) {
	return edited(text, func(root document.Value) error {
		spec := root.Get("spec")
		versions := spec.Get("versions")
		if name := spec.Get("version"); versions.Len() == 0 && name.Text() != "" {
			only := spec.SetArray("versions").AppendObject()
			only.Put("name", name)
			only.SetBool("served", true)
			only.SetBool("storage", true)
			versions = spec.Get("versions")
		}
		for _, s := range shared {
			value := spec.Get(s.above)
			if len(value.AppendJSON(nil))*versions.Len() > maxValue {
				return errVersions
			}
			for _, v := range versions.Elements() {
				if value.Exists() && !value.IsNull() {
					v.Put(s.name, value)
				}
			}
		}
		for _, v := range versions.Elements() {
			for _, column := range v.Get("additionalPrinterColumns").Elements() {
				if path := column.Get("JSONPath"); path.Exists() {
					column.Put("jsonPath", path)
				}
			}
		}
		if conversion := spec.Get("conversion"); conversion.Get("webhookClientConfig").Kind() == document.Object {
			webhook := conversion.SetObject("webhook")
			webhook.Put("clientConfig", conversion.Get("webhookClientConfig"))
			webhook.Put("conversionReviewVersions", conversion.Get("conversionReviewVersions"))
		}
		if !spec.Get("preserveUnknownFields").Exists() && spec.Exists() {
			spec.SetBool("preserveUnknownFields", true)
		}
		return nil
	})
}
