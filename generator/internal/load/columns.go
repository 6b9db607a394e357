package load

import (
	"cmp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

const creation = ".metadata.creationTimestamp"

// columns reads a list of columns, in which age stands for the usual one.
func (d *documents) columns(n node, res *model.Resource) {
	res.Columns = []model.Column{}
	for _, item := range d.items(n) {
		c := model.Column{Pos: item.pos()}
		switch {
		case item.Kind == yaml.MappingNode:
			d.column(item, &c, res.GV.Imported)
		case item.Value == "age":
			c.Name, c.Type, c.Path = "Age", "string", creation // described by usualColumns
		default:
			continue
		}
		if slices.ContainsFunc(res.Columns, func(o model.Column) bool { return o.Name == c.Name }) {
			d.fail(c.Pos, "rename one of them", "%s has two columns %q", res.Plural, c.Name)
		}
		res.Columns = append(res.Columns, c)
	}
}

func (d *documents) column(n node, c *model.Column, imported bool) {
	d.object(n, d.columnKeys(c))
	switch {
	case c.Path == "" && c.Cell == "" && c.Shows == "":
		d.failOf(model.OfColumn, c.Pos, "give it one of them", "the column %q has neither path, shows nor cell", c.Name)
	case c.Shows != "" && c.Path+c.Cell != "":
		d.failOf(model.OfColumn, c.Pos, "drop one of them: self.spec.x in shows is .spec.x", "the column %q has shows, and a path or cell", c.Name)
	case c.Orders && c.Path == "":
		d.failOf(model.OfColumn, c.Pos, "give it the path of a number", "the column %q orders rows without a path", c.Name)
	case c.Absent != "" && c.Cell+c.Shows != "":
		d.failOf(model.OfColumn, c.Pos, "let the cell say it", "the column %q has both cell and absent", c.Name)
	}
	if c.Type = cmp.Or(c.Type, "string"); !imported && c.Description != "" && repeats(c.Description, c.Name) {
		d.fail(c.Pos, "say what it shows", "the description of the column %q only repeats its name", c.Name)
	}
	if c.Cell != "" && !fieldName.MatchString(c.Cell) {
		d.fail(c.Pos, "write a name in camelCase", "%q cannot be the name of a cell", c.Cell)
	}
}

func (d *documents) columnKeys(c *model.Column) map[string]func(node) {
	return map[string]func(node){
		"name": d.text(&c.Name), "type": d.text(&c.Type), "format": d.text(&c.Format), "description": d.text(&c.Description), "priority": d.integer(&c.Priority),
		"path": d.text(&c.Path), "cell": d.text(&c.Cell), "shows": d.text(&c.Shows), "absent": d.text(&c.Absent), "orders": d.boolean(&c.Orders),
		"lifecycle": d.readLifecycle(new(schema.Lifecycle)), // present has applied it
	}
}

// columnKinds are the kinds of values that a column of a type can show; others show any.
var columnKinds = map[string][]schema.Kind{
	"integer": {schema.Integer, schema.IntOrString}, "number": {schema.Number, schema.Integer, schema.Quantity}, "boolean": {schema.Boolean},
	"date": {schema.Time, schema.MicroTime},
}

// checkColumnType checks that a column has the type of the field that it shows.
func (d *documents) checkColumnType(t *schema.Table, root schema.Ref, c model.Column) {
	kinds := columnKinds[c.Type]
	unfits := func(k schema.Kind) bool { return k != schema.Any && !slices.Contains(kinds, k) }
	if kinds == nil || unreachable(t, root, c.Path, unfits) != "" {
		return
	}
	d.failOf(model.OfColumn, c.Pos, "write the type of the field, or string", "the column %q of type %s shows %s, which has another type", c.Name, c.Type, c.Path)
}

// usualColumns adds the columns that a resource need not describe: Name in front, Age at
// the end. A resource that describes none shows the time of creation instead of an age.
func (d *documents) usualColumns(res *model.Resource, age bool) {
	if res.Columns == nil && !res.Stored {
		return
	}
	indexOf := func(name string) int {
		return slices.IndexFunc(res.Columns, func(c model.Column) bool { return c.Name == name })
	}
	of := kindWords(res.Kind)
	switch i := indexOf("Age"); {
	case i >= 0 && !age:
		d.fail(res.Columns[i].Pos, "drop one of them", "%s has a column Age, and age: false", res.Plural)
	case i < 0 && age && res.Columns == nil:
		res.Columns = append(res.Columns, model.Column{Pos: res.Pos, Name: "Created At", Type: "date", Path: creation,
			Description: "When the " + of + " was created."})
	case i < 0 && age:
		res.Columns = append(res.Columns, model.Column{Pos: res.Pos, Name: "Age", Type: "string", Path: creation})
	}
	if i := indexOf("Age"); i >= 0 && res.Columns[i].Description == "" {
		res.Columns[i].Description = "Time since the " + of + " was created."
	}
	if indexOf("Name") < 0 {
		res.Columns = slices.Insert(res.Columns, 0, model.Column{Pos: res.Pos, Name: "Name", Type: "string", Format: "name", Path: ".metadata.name",
			Description: "Name of the " + of + "."})
	}
}
