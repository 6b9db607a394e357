package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxClassParameters bounds the parameters of a storage class.
const maxClassParameters = 512

// ValidateStorageClass checks the provisioner, its parameters and the topologies of
// volumes.
func (Policy) ValidateStorageClass(obj, _ document.Value) []schema.Cause {
	var c causes
	if provisioner := strings.ToLower(obj.Get("provisioner").Text()); provisioner != "" {
		c.FormatText("provisioner", provisioner, "qualified-name")
	}
	c.classParameters(obj.Get("parameters"))
	c.topologyTerms(obj.Get("allowedTopologies"))
	return c.Causes
}

func (c *causes) classParameters(parameters document.Value) {
	if parameters.Len() > maxClassParameters {
		c.TooLong("parameters", maxClassParameters)
		return
	}
	if parameters.Get("").Exists() {
		c.InvalidText("parameters", "", "field can not be empty.")
	}
}

// topologyTerms checks that topology terms are distinct. A term without requirements
// equals all others, as often as there are terms.
func (c *causes) topologyTerms(terms document.Value) {
	seen := map[string]int{"": terms.Len()}
	for _, term := range terms.Elements() {
		text := topologyTerm(term)
		for range seen[text] {
			c.Add(schema.CauseDuplicate, member(term, "matchLabelExpressions"), `Duplicate value: ""`)
		}
		seen[text]++
	}
}

// topologyTerm is the requirements of a term as text, the same for equal terms.
func topologyTerm(term document.Value) string {
	required := map[string]string{}
	for _, e := range term.Get("matchLabelExpressions").Elements() {
		name, values := e.Get("key"), document.TextsIn(e.Get("values"))
		required[name.Text()] = fmt.Sprintf("%q", slices.Sorted(maps.Keys(values)))
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(required)) {
		fmt.Fprintf(&text, "%q in %s;", name, required[name])
	}
	return text.String()
}
