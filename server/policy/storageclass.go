package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

const (
	// maxClassParameters is the number of parameters of a storage class.
	maxClassParameters = 512
	// maxClassParametersSize is the size of their names and values, in bytes.
	maxClassParametersSize = 256 << 10
)

// ValidateStorageClass checks the provisioner, its parameters and the places of
// volumes, and that volumes of the class stay alike.
func (Policy) ValidateStorageClass(obj, old document.Value) []schema.Cause {
	var c causes
	if provisioner := obj.Get("provisioner"); !isEmpty(provisioner) {
		for _, problem := range document.CheckFormat("qualified-name", strings.ToLower(provisioner.Text())) {
			c.invalid(provisioner, problem)
		}
	}
	parameters, size := obj.Get("parameters"), 0
	for name, v := range parameters.Members() {
		if name == "" {
			c.invalidText("parameters", name, "field can not be empty.")
		}
		size += len(name) + len(v.Text())
	}
	if parameters.Len() > maxClassParameters {
		c.tooLong("parameters", maxClassParameters)
	}
	if size > maxClassParametersSize {
		c.tooLong("parameters", maxClassParametersSize)
	}
	c.topologyTerms(obj.Get("allowedTopologies"))
	if !old.Exists() {
		return c
	}
	for _, name := range [...]string{"parameters", "provisioner", "reclaimPolicy"} {
		if !same(obj.Get(name), old.Get(name)) {
			c.forbidden(name, "updates to "+name+" are forbidden.")
		}
	}
	return c
}

// topologyTerms checks that the requirements of places can be told apart.
func (c *causes) topologyTerms(terms document.Value) {
	var all names
	for _, term := range terms.Elements() {
		expressions := term.Get("matchLabelExpressions")
		if !all.add(string(expressions.AppendJSON(nil))) {
			c.add(schema.CauseDuplicate, member(term, "matchLabelExpressions"), `Duplicate value: ""`)
		}
		var keys names
		for _, e := range expressions.Elements() {
			name := e.Get("key")
			if !isEmpty(name) {
				c.format(name, "qualified-name")
			}
			if !keys.add(name.Text()) {
				c.duplicate(name)
			}
			var values names
			for _, v := range e.Get("values").Elements() {
				if !values.add(v.Text()) {
					c.duplicate(v)
				}
			}
		}
	}
}

// CellStorageClassName is the name, and whether claims without a class get this
// one.
func (Policy) CellStorageClassName(obj document.Value) any {
	name, annotations := obj.At("metadata", "name").Text(), obj.At("metadata", "annotations")
	for _, domain := range [...]string{"storageclass.", "storageclass.beta."} {
		if annotations.Get(domain + labelDomain + "/is-default-class").Equals("true") {
			return name + " (default)"
		}
	}
	return name
}

// CellStorageClassAllowVolumeExpansion says whether claims may grow.
func (Policy) CellStorageClassAllowVolumeExpansion(obj document.Value) any {
	return obj.Get("allowVolumeExpansion").Bool()
}
