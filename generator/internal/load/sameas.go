package load

import (
	"slices"

	"go.yaml.in/yaml/v3"
)

// sameAs gives the schema document that a document is: itself, or the one that it names in
// x-cluster-same-as, whose types are declared here too then. Mistakes in these are reported
// at their place in the other document.
func (d *documents) sameAs(n node) node {
	if !slices.ContainsFunc(n.Content, func(y *yaml.Node) bool { return y.Value == "x-cluster-same-as" }) {
		return n
	}
	var to string
	at := n
	d.object(n, "a document that is the same as another", map[string]func(node){
		"x-cluster-same-as": func(n node) {
			at = n
			d.text(&to)(n)
		},
	})
	named := []*yaml.Node{}
	if name := "schemas" + to + ".yaml"; !slices.Contains(d.list("schemas", "schemas/examples"), name) {
		d.fail(at.pos(), "write /<group>/<version>/<Kind>", "no schema document for %s", to)
	} else if other, _, ok := d.file(name); ok { // else it is reported where it is read for itself
		for k := 0; k+1 < len(other.Content); k += 2 {
			switch key := other.Content[k]; key.Value {
			case "$id":
			case "x-cluster-same-as":
				d.fail(at.pos(), "name the document that has the types", "%s is the same as another itself", to)
			default:
				named = append(named, key, other.Content[k+1])
			}
		}
		return other.with(&yaml.Node{Kind: yaml.MappingNode, Line: other.Line, Content: named})
	}
	return n.with(&yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Content: named})
}
