package policy

import (
	"fmt"
	"maps"
	"slices"
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
// volumes.
func (Policy) ValidateStorageClass(obj, _ document.Value) []schema.Cause {
	var c causes
	if provisioner := obj.Get("provisioner"); !isEmpty(provisioner) {
		for _, problem := range document.CheckFormat("qualified-name", strings.ToLower(provisioner.Text())) {
			c.invalid(provisioner, problem)
		}
	}
	c.classParameters(obj.Get("parameters"))
	c.topologyTerms(obj.Get("allowedTopologies"))
	return c
}

func (c *causes) classParameters(parameters document.Value) {
	if parameters.Len() > maxClassParameters {
		c.tooLong("parameters", maxClassParameters)
		return
	}
	size := 0
	for name, v := range parameters.Members() {
		if name == "" {
			c.invalidText("parameters", name, "field can not be empty.")
		}
		size += len(name) + len(v.Text())
	}
	if size > maxClassParametersSize {
		c.tooLong("parameters", maxClassParametersSize)
	}
}

// topologyTerms checks that the requirements of places can be told apart. A term
// that requires nothing is told from none of the others, as often as there are
// terms.
func (c *causes) topologyTerms(terms document.Value) {
	seen := map[string]int{"": terms.Len()}
	for _, term := range terms.Elements() {
		text := c.topologyTerm(term)
		for range seen[text] {
			c.add(schema.CauseDuplicate, member(term, "matchLabelExpressions"), `Duplicate value: ""`)
		}
		seen[text]++
	}
}

// topologyTerm checks one term and returns what it requires as text, the same for
// all terms that require the same.
func (c *causes) topologyTerm(term document.Value) string {
	required := map[string]string{}
	for _, e := range term.Get("matchLabelExpressions").Elements() {
		name, list := e.Get("key"), e.Get("values")
		if list.Len() == 0 {
			c.required(member(e, "values"), "")
		}
		var values names
		for _, v := range list.Elements() {
			if !values.add(v.Text()) {
				c.duplicate(v)
			}
		}
		c.formatText(member(e, "key"), name.Text(), "qualified-name")
		if _, twice := required[name.Text()]; twice {
			c.add(schema.CauseDuplicate, member(e, "key"), "Duplicate value: "+show(name))
		}
		required[name.Text()] = fmt.Sprintf("%q", slices.Sorted(maps.Keys(values)))
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(required)) {
		fmt.Fprintf(&text, "%q in %s;", name, required[name])
	}
	return text.String()
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
