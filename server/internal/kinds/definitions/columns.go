package definitions

import (
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// nameColumn is the first column of every table.
var nameColumn = api.Column{Name: "Name", Type: "string", Format: "name", Path: ".metadata.name",
	Description: "Name of the object, unique among those of its kind in a namespace."}

// columns are the columns of the table of a version: the name, and those of the
// definition or else the age. An unreadable column ends the list, as in 1.25.
func columns(list document.Value) []api.Column {
	all := []api.Column{nameColumn}
	if list.Len() == 0 {
		path, _ := parsePath(".metadata.creationTimestamp")
		return append(all, api.Column{Name: "Age", Type: "date", Description: "Time of the object's creation.", Cell: cellOf("date", path)})
	}
	for _, c := range list.Elements() {
		text := c.Get("jsonPath").Text()
		path, err := parsePath(text)
		if err != nil {
			break
		}
		priority, _ := c.Get("priority").Int()
		column := api.Column{Name: c.Get("name").Text(), Type: c.Get("type").Text(), Format: c.Get("format").Text(), Priority: int(priority),
			Description: c.Get("description").Text()}
		if column.Description == "" {
			column.Description = "Custom resource definition column (in JSONPath format): " + text
		}
		column.Cell = cellOf(column.Type, path)
		all = append(all, column)
	}
	return all
}

// cellOf computes the cells of a column: of several values at the path the first. A value
// of another type than the column's gives no cell.
func cellOf(kind string, path jsonPath) api.CellFunc {
	return func(obj document.Value) any {
		v := path.first(obj)
		if !v.Exists() {
			return nil
		}
		switch kind {
		case "string":
			return cellText(v)
		case "integer":
			if n, ok := v.Int(); ok {
				return n
			}
			if f, ok := v.Float(); ok {
				return int64(f)
			}
		case "number":
			if f, ok := v.Float(); ok {
				return f
			}
		case "boolean":
			if v.Kind() == document.Bool {
				return v.Bool()
			}
		case "date":
			if v.Kind() == document.String {
				return age(v.Text())
			}
		}
		return nil
	}
}

// cellText writes any value as the text of a cell.
func cellText(v document.Value) string {
	switch v.Kind() {
	case document.String:
		return v.Text()
	case document.Null:
		return "<no value>" // as in 1.25
	case document.Number:
		if n, whole := v.Int(); whole {
			return strconv.FormatInt(n, 10)
		}
		f, _ := v.Float()
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return string(v.AppendJSON(nil))
}

// age is the time since a time, as in a table.
func age(text string) any {
	_, err := time.Parse(time.RFC3339, text)
	if err != nil && text != "" && text != "null" {
		return "<invalid>"
	}
	return api.Ago{Since: text}
}
