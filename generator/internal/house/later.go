package house

import (
	"regexp"
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// The words of names whose texts have a form, with its format.
var formed = []struct {
	name   *regexp.Regexp
	format string
}{
	{regexp.MustCompile(`(?:^url|URL|Url|^uri|URI|Uri)s?$`), "format: uri"},
	{regexp.MustCompile(`(?:^e|E)[mM]ail(?:Address)?$`), "format: email"},
	{regexp.MustCompile(`(?:^ip|IP|Ip)(?:Address)?$`), "x-cluster-format: ip"},
	{regexp.MustCompile(`(?:^cidr|CIDR|Cidr)$`), "x-cluster-format: cidr"},
	{regexp.MustCompile(`(?:^uuid|UUID|Uuid)$`), "format: uuid"},
	{regexp.MustCompile(`(?:^timestamp|[tT]imestamp|[a-z]At|Time)$`), "format: date-time"},
}

var (
	port    = regexp.MustCompile(`(?:^p|P)ort$`)
	percent = regexp.MustCompile(`(?:^p|P)ercent(?:age)?$`)
	keyName = regexp.MustCompile(`^(?:name|key|id|type)$`)
)

// later finds what nobody can mend after a release: then the gate refuses tighter bounds, formats and keys of lists.
func (c *checker) later(in *schema.Schema, p schema.Property, status bool) {
	s := p.Schema
	if status {
		return
	}
	plain := s.Type == "string" && s.Ref == "" && s.Format+s.FormatCheck+s.Pattern == "" && len(s.Enum) == 0 && s.Further == nil
	for _, f := range formed {
		if plain && f.name.MatchString(p.Name) {
			c.add(p.Pos, "text-format", true, "write "+f.format+", or a pattern; after a release the gate refuses it",
				"accepts every text, though its name promises a form")
			return
		}
	}
	bounded := s.Maximum != nil || s.ExclusiveMaximum != nil || s.Further != nil
	switch {
	case integer(s) && !bounded && port.MatchString(p.Name):
		c.add(p.Pos, "bounds", true, "write minimum: 1 and maximum: 65535; after a release the gate refuses them", "accepts numbers that no port has")
	case integer(s) && !bounded && percent.MatchString(p.Name):
		c.add(p.Pos, "bounds", true, "write minimum: 0 and maximum: 100; after a release the gate refuses them", "has no bounds")
	case integer(s) && !bounded && s.Minimum == nil && s.ExclusiveMinimum == nil && s.Ref == "" && (s.Default != nil || s.Presence != "" || in.Enforces(p.Name)):
		c.add(p.Pos, "bounds", true, "write minimum: 0, or a minimum that is meant; after a release the gate refuses it", "accepts negative numbers")
	}
	if s.Type == "array" && s.ListType == "" && s.Items != nil && !slices.Contains(s.PatchStrategy, "merge") {
		if key := c.keyOf(s.Items); key != "" {
			c.add(p.Pos, "list-type", true,
				"write x-cluster-list-type: map and x-cluster-list-map-keys: ["+key+"], or x-cluster-list-type: atomic; after a release the gate refuses it",
				"is a list of objects with a %s, of which every writer replaces all", key)
		}
	}
}

// keyOf is the required member that tells the elements of a list apart; "" for none.
func (c *checker) keyOf(items *schema.Schema) string {
	items = c.resolve(place{items, c.in}).s
	for _, p := range items.Properties {
		if keyName.MatchString(p.Name) && items.Enforces(p.Name) && p.Schema.Type == "string" {
			return p.Name
		}
	}
	return ""
}
