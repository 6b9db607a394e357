package emit

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Expressions of columns that JSON paths can say.
var (
	shownFilter = regexp.MustCompile(`^self((?:\.\w+)+)\.filter\(e, e\.(\w+) == ("(?:[^"\\]|\\.)*")\)\.map\(e, string\(e\.(\w+)\)\)\.join\(" "\)$`)
	shownKey    = regexp.MustCompile(`^("(?:[^"\\]|\\.)*") in self((?:\.\w+)+) \? self(?:\.\w+)+\[("(?:[^"\\]|\\.)*")\] : ""$`)
	shownFirst  = regexp.MustCompile(`^self((?:\.\w+)+)\.size\(\) == 0 \? "" : string\(self((?:\.\w+)+)\[0\]((?:\.\w+)+)\)$`)
	shownTexts  = regexp.MustCompile(`^self((?:\.\w+)+)\.size\(\) == 0 \? "" : "\[\\"" \+ self((?:\.\w+)+)\.join\("\\",\\""\) \+ "\\"\]"$`)
)

// jsonPath is the JSON path that an expression stands for, "" for none.
func jsonPath(shows string) string {
	if p := shownFilter.FindStringSubmatch(shows); p != nil {
		return p[1] + "[?(@." + p[2] + "==" + p[3] + ")]." + p[4]
	}
	if p := shownKey.FindStringSubmatch(shows); p != nil && p[1] == p[3] {
		key, _ := strconv.Unquote(p[1])
		return p[2] + "." + strings.ReplaceAll(key, ".", `\.`)
	}
	if p := shownFirst.FindStringSubmatch(shows); p != nil && p[1] == p[2] {
		return p[1] + "[*]" + p[3]
	}
	if p := shownTexts.FindStringSubmatch(shows); p != nil && p[1] == p[2] {
		return p[1]
	}
	return ""
}

// columns are the columns besides the name, and the age if it is the only one.
func (d *definitions) columns(r *model.Resource) (all []object) {
	for _, c := range r.Columns {
		if c.Name == "Name" && c.Path == ".metadata.name" || len(r.Columns) == 2 && c.Name == "Age" && c.Path == ".metadata.creationTimestamp" {
			continue
		}
		path := c.Path
		if c.Shows != "" {
			path = jsonPath(c.Shows)
		}
		if path == "" || c.Cell != "" || c.Absent != "" {
			d.lose(c.Pos, "write path, or an expression that a JSON path can say", "a definition cannot show the column %q", c.Name)
			continue
		}
		kind := c.Type
		if d.isTime(r, path) {
			kind = map[string]string{"string": "date", "date": "string"}[c.Type]
		}
		o := object{"name": c.Name, "type": kind, "jsonPath": path}
		if c.Description != "" && c.Description != "Shows "+path+"." && !strings.HasPrefix(c.Description, "Time since the ") {
			o["description"] = c.Description
		}
		if c.Format != "" {
			o["format"] = c.Format
		}
		if c.Priority != 0 {
			o["priority"] = c.Priority
		}
		all = append(all, o)
	}
	return all
}

// isTime reports whether a path leads to a point in time, which columns show as such or as
// the time since.
func (d *definitions) isTime(r *model.Resource, path string) bool {
	t, s := r.Type, r.Type.Schema
	for _, step := range schema.Steps(strings.TrimPrefix(path, ".")) {
		next := s.Additional
		for _, p := range s.Properties {
			if p.Name == step {
				next = p.Schema
			}
		}
		if next == nil {
			return false
		}
		if s = next; s.Ref != "" {
			target, err := d.types.resolve(t, s)
			if err != nil {
				return false
			}
			t, s = target, target.Schema
		}
	}
	return s.Format == "date-time" || s.Format == "micro-time"
}
