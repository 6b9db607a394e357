package patch

import (
	"github.com/capstan-dev/capstan/internal/schema"
)

// The types of the table below.
const (
	rootType schema.Ref = iota
	textType
	numberType
	textMapType
	itemType
	itemsType
	portType
	portsType
	textsType
	numbersType
	strategyType
	selectorType
	anyType
	itemMapType
)

// testTable has every sort of field that a strategic merge patch distinguishes.
func testTable() *schema.Table {
	object := func(name string, fields ...schema.Field) schema.Type {
		return schema.Type{Name: name, Kind: schema.Object, Elem: schema.None, Fields: fields}
	}
	of := func(kind schema.Kind, elem schema.Ref) schema.Type { return schema.Type{Kind: kind, Elem: elem} }
	types := make([]schema.Type, itemMapType+1)
	types[rootType] = object("Root",
		schema.Field{Name: "name", Type: textType},
		schema.Field{Name: "count", Type: numberType},
		schema.Field{Name: "labels", Type: textMapType},
		schema.Field{Name: "item", Type: itemType},
		schema.Field{Name: "strategy", Type: strategyType, Patch: schema.PatchRetainKeys},
		schema.Field{Name: "selector", Type: selectorType, Patch: schema.PatchReplace},
		schema.Field{Name: "set", Type: textsType, Patch: schema.PatchMerge},
		schema.Field{Name: "numbers", Type: numbersType, Patch: schema.PatchMerge},
		schema.Field{Name: "plain", Type: textsType},
		schema.Field{Name: "items", Type: itemsType, Patch: schema.PatchMerge, More: &schema.More{PatchKey: "name"}},
		schema.Field{Name: "volumes", Type: itemsType, Patch: schema.PatchMerge | schema.PatchRetainKeys, More: &schema.More{PatchKey: "name"}},
		schema.Field{Name: "ports", Type: portsType, Patch: schema.PatchMerge, More: &schema.More{PatchKey: "port"}},
		schema.Field{Name: "atomic", Type: itemsType},
		schema.Field{Name: "keyless", Type: itemsType, Patch: schema.PatchMerge},
		schema.Field{Name: "any", Type: anyType},
		schema.Field{Name: "byName", Type: itemMapType},
	)
	types[itemType] = object("Item",
		schema.Field{Name: "name", Type: textType},
		schema.Field{Name: "value", Type: textType},
		schema.Field{Name: "labels", Type: textMapType},
		schema.Field{Name: "set", Type: textsType, Patch: schema.PatchMerge},
		schema.Field{Name: "ports", Type: portsType, Patch: schema.PatchMerge, More: &schema.More{PatchKey: "port"}},
		schema.Field{Name: "item", Type: itemType},
	)
	types[portType] = object("Port",
		schema.Field{Name: "port", Type: numberType},
		schema.Field{Name: "protocol", Type: textType},
	)
	types[strategyType] = object("Strategy",
		schema.Field{Name: "type", Type: textType},
		schema.Field{Name: "rolling", Type: itemType},
		schema.Field{Name: "other", Type: textType},
	)
	types[selectorType] = object("Selector", schema.Field{Name: "matchLabels", Type: textMapType})
	types[textType] = of(schema.String, schema.None)
	types[numberType] = of(schema.Integer, schema.None)
	types[textMapType] = of(schema.Map, textType)
	types[itemsType] = of(schema.List, itemType)
	types[portsType] = of(schema.List, portType)
	types[textsType] = of(schema.List, textType)
	types[numbersType] = of(schema.List, numberType)
	types[anyType] = of(schema.Any, schema.None)
	types[itemMapType] = of(schema.Map, itemType)
	table := &schema.Table{Types: types, Roots: []schema.Root{{Name: "Root", Type: rootType}}}
	table.MakeIndex()
	return table
}
