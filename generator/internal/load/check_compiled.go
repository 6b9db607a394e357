package load

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// checkCompiled finds the mistakes that the compiled tables show: paths that no
// field has, defaults that do not fit, types without an end.
func (d *documents) checkCompiled() {
	d.checkUsed()
	for _, gv := range d.model.GroupVersions {
		for _, t := range gv.Types {
			ref := gv.Table.Root(t.Name)
			if needs(gv.Table, ref, ref, map[schema.Ref]bool{}) {
				d.fail(t.Schema.Pos, "make one of the fields on the way optional", "every %s must hold another %s, without end", t.Name, t.Name)
			}
			d.checkEndless(gv.Table, ref, t.Schema)
		}
	}
	if len(d.errs) > 0 {
		return // a default of such a type could not be read to its end
	}
	for _, gv := range d.model.GroupVersions {
		d.of(gv.Dir, func() {
			for _, t := range gv.Types {
				d.checkDefaults(gv.Table, gv.Table.Root(t.Name), t.Schema)
			}
			d.checkFinds(gv)
		})
		for _, res := range gv.Resources {
			d.checkPaths(gv.Table, gv.Table.Root(res.Type.Name), res)
		}
	}
	for _, s := range d.stored {
		d.convert(s)
	}
	d.checkRenames()
}

// mostLoops is the greatest depth of loops in the expression of a rule.
const mostLoops = 2

// checkFinds compiles the expressions of rules, and judges what they cost: evaluations are
// ended when they take too long, which the author of an object cannot help.
func (d *documents) checkFinds(gv *model.GroupVersion) {
	finder := expression.NewFinder(gv.Table)
	for _, t := range gv.Types {
		ref := gv.Table.Root(t.Name)
		for i := range t.Schema.Rules {
			if r := &t.Schema.Rules[i]; r.Finds != "" {
				if err := finder.Compile(ref, r); err != nil {
					d.failOf(model.OfRule, d.at(t.Schema, ruleKey(i)), "fix the expression; self is the object", "a rule of %s finds nothing: %s", t.Name, oneLine(err))
				} else if depth := finder.Loops(ref, r); depth > mostLoops {
					d.failOf(model.OfRule, d.at(t.Schema, ruleKey(i)), "split it into rules for the elements (each), or write a hook",
						"a rule of %s has %d loops in each other: with 100 elements in each list it takes 100^%d steps", t.Name, depth, depth)
				}
			}
		}
	}
}

// needs reports whether a value of the type from has to hold one of the type
// to, at any depth.
func needs(t *schema.Table, from, to schema.Ref, seen map[schema.Ref]bool) bool {
	if from < 0 || seen[from] || t.Types[from].Kind != schema.Object {
		return false
	}
	seen[from] = true
	for _, f := range t.Types[from].Fields {
		if (f.Required || f.Presence == schema.Always) && (f.Type == to || needs(t, f.Type, to, seen)) {
			return true
		}
	}
	return false
}

// checkDefaults reads every default, example and allowed value below a schema as the server
// will.
func (d *documents) checkDefaults(t *schema.Table, ref schema.Ref, s *schema.Schema) {
	if ref < 0 {
		return
	}
	d.checkExamples(t, ref, s)
	if s.Ref != "" {
		return // a type of its own, which is checked where it is declared
	}
	d.checkConstants(t, ref, s)
	typ := &t.Types[ref]
	for _, p := range s.Properties {
		i := typ.Field(p.Name)
		if i < 0 {
			continue
		}
		if p.Schema.Default != nil {
			if word := string(p.Schema.Default); t.Types[typ.Fields[i].Type].Kind == schema.Boolean && yamlWords[strings.ToLower(strings.Trim(word, `"`))] != "" {
				d.fail(d.at(p.Schema, "default"), "write "+yamlWords[strings.ToLower(strings.Trim(word, `"`))],
					"the default of %s is the text %s: only older YAML reads it as true or false", p.Name, word)
				continue
			}
			if why := unfit(t, typ.Fields[i].Type, p.Schema.Default); why != "" {
				d.fail(d.at(p.Schema, "default"), "change the default or the rule", "the default of %s does not fit: %s", p.Name, why)
			}
		}
		d.checkDefaults(t, typ.Fields[i].Type, p.Schema)
	}
	for _, part := range []*schema.Schema{s.Items, s.Additional} {
		if part != nil {
			d.checkDefaults(t, typ.Elem, part)
		}
	}
}

// yamlWords are the words for booleans in YAML 1.1.
var yamlWords = map[string]string{"yes": "true", "on": "true", "y": "true", "no": "false", "off": "false", "n": "false"}

// checkEndless refuses the default of a field of a type that has such a value again.
func (d *documents) checkEndless(t *schema.Table, ref schema.Ref, s *schema.Schema) {
	for _, p := range s.Properties {
		i := t.Types[ref].Field(p.Name)
		if i < 0 || p.Schema.Default == nil {
			continue
		}
		if f := &t.Types[ref].Fields[i]; t.Types[f.Type].Kind == schema.Object && (f.Type == ref || fills(t, f.Type, ref, map[schema.Ref]bool{})) {
			d.fail(d.at(p.Schema, "default"), "drop the default", "the default of %s holds another %s, without end", p.Name, p.Name)
		}
	}
}

// fills reports whether a value of the type from has one of the type to without being
// sent, at any depth.
func fills(t *schema.Table, from, to schema.Ref, seen map[schema.Ref]bool) bool {
	if from < 0 || seen[from] || t.Types[from].Kind != schema.Object {
		return false
	}
	seen[from] = true
	for _, f := range t.Types[from].Fields {
		if (f.Default != "" || f.Presence == schema.Always) && (f.Type == to || fills(t, f.Type, to, seen)) {
			return true
		}
	}
	return false
}

// unfit is the reason why a type refuses a default, or "".
func unfit(t *schema.Table, ref schema.Ref, value []byte) string {
	decoder := document.Decoder{Table: t, Defaults: noHooks(t)}
	doc, problems, err := decoder.Decode(ref, value)
	if err != nil {
		return err.Error()
	}
	defer doc.Release()
	switch kind := t.Types[ref].Kind; {
	case string(value) == "null":
		return "null is no value"
	case len(problems) > 0:
		return "there is no field " + problems[0].Path
	case kind != schema.Object && kind != schema.Any && kind != schema.List && kind != schema.Map:
		if canonical := doc.Root().AppendJSON(nil); string(canonical) != string(value) {
			return fmt.Sprintf("write it as %s", canonical)
		}
	}
	for _, cause := range document.Validate(doc.Root(), nil) {
		if cause.Reason != schema.CauseRequired { // a default object may need more from its user
			return strings.TrimPrefix(cause.Field+": ", ": ") + cause.Message
		}
	}
	return ""
}

func noHooks(t *schema.Table) []func(document.Value) {
	var hooks []func(document.Value)
	for i := range t.Types {
		if t.Types[i].Hook > 0 {
			hooks = append(hooks, func(document.Value) {})
		}
	}
	return hooks
}

// checkPaths checks the paths of columns, selectable fields and scales.
func (d *documents) checkPaths(t *schema.Table, root schema.Ref, res *model.Resource) {
	for _, c := range res.Columns {
		if res.StoredAs != nil { // tables show the storage version
			break
		}
		if c.Shows != "" {
			if err := expression.NewCell(t, root, c.Shows).Compile(); err != nil {
				d.failOf(model.OfColumn, c.Pos, "fix the expression; self is the object", "the column %q shows nothing: %s", c.Name, oneLine(err))
			}
		}
		if c.Path == "" {
			continue
		}
		fits := shown
		if c.Cell != "" {
			fits = func(schema.Kind) bool { return true }
		}
		if why := unreachable(t, root, c.Path, fits); why != "" && (c.Path != "." || c.Cell == "") {
			of := model.OfColumn
			if why == wrongType {
				of = model.OfColumnType
			}
			d.failOf(of, c.Pos, "fix the path, or use a cell", "the column %q shows %s: %s", c.Name, c.Path, why)
		} else if c.Cell == "" {
			d.checkColumnType(t, root, c)
		}
	}
	for _, f := range res.Selectable {
		if f.Path == "" || res.StoredAs != nil {
			continue
		}
		for _, path := range []string{f.Path, f.Else} {
			if why := unreachable(t, root, path, shown); path != "" && why != "" {
				d.failOf(model.OfSelectable, f.Pos, "fix the path", "the selectable field %s is at %s: %s", f.Name, path, why)
			}
		}
	}
	d.checkKept(t, root, res)
	d.checkGrace(t, root, res)
	for _, sub := range res.Subresources {
		for _, p := range []struct {
			name, path string
			fits       func(schema.Kind) bool
		}{
			{"specReplicas", sub.SpecReplicas, func(k schema.Kind) bool { return k == schema.Integer }},
			{"statusReplicas", sub.StatusReplicas, func(k schema.Kind) bool { return k == schema.Integer }},
			{"selector", sub.Selector, func(k schema.Kind) bool { return k == schema.String || k == schema.Map || k == schema.Object }},
		} {
			if p.path == "" {
				continue
			}
			if why := unreachable(t, root, p.path, p.fits); why != "" {
				d.fail(sub.Pos, "fix the path", "%s of the scale of %s is at %s: %s", p.name, res.Plural, p.path, why)
			}
		}
	}
}

// oneLine is the first line of a mistake in an expression, with the names of types as designers know them.
func oneLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return numbered.ReplaceAllString(strings.TrimPrefix(line, "ERROR: <input>:"), "$1")
}

// numbered is the name of a type in expressions, which ends with its number in a table.
var numbered = regexp.MustCompile(`([A-Za-z])#[0-9]+`)

// checkKept checks the paths that updates and endpoints leave alone.
func (d *documents) checkKept(t *schema.Table, root schema.Ref, res *model.Resource) {
	check := func(pos schema.Position, what string, paths []string) {
		for _, path := range paths {
			if why := unreachable(t, root, path, func(schema.Kind) bool { return true }); why != "" {
				d.fail(pos, "fix the path", "%s keeps or does not own %s: %s", what, path, why)
			}
		}
	}
	check(res.Pos, res.Plural, res.Keeps)
	for _, sub := range res.Subresources {
		check(sub.Pos, res.Plural+"/"+sub.Name, append(sub.Keeps, sub.Unowned...))
	}
}

// checkGrace checks the paths that decide how long the end of an object takes.
func (d *documents) checkGrace(t *schema.Table, root schema.Ref, res *model.Resource) {
	g := res.Graceful
	if g == nil {
		return
	}
	if why := unreachable(t, root, g.Period, func(k schema.Kind) bool { return k == schema.Integer }); why != "" {
		d.fail(g.Pos, "fix the path", "the period of %s is at %s: %s", res.Plural, g.Period, why)
	}
	if g.Needs == "" {
		return
	}
	if why := unreachable(t, root, g.Needs, shown); why != "" {
		d.fail(g.Pos, "fix the path", "the end of %s takes time while there is something at %s: %s", res.Plural, g.Needs, why)
	}
}

// wrongType is the reason for which a path to a list or an object is not shown.
const wrongType = "what is there has the wrong type"

// shown reports whether values of a kind fit into a table cell or a selector.
func shown(k schema.Kind) bool { return k != schema.Object && k != schema.List && k != schema.Map }

// unreachable is the reason why a path like .status.phase leads to no fitting value, or
// "".
func unreachable(t *schema.Table, ref schema.Ref, path string, fits func(schema.Kind) bool) string {
	rest, ok := strings.CutPrefix(path, ".")
	if !ok {
		return "a path begins with a dot"
	}
	for _, name := range strings.Split(rest, ".") {
		typ := &t.Types[ref]
		switch typ.Kind {
		case schema.Map:
			ref = typ.Elem
			continue
		case schema.Any:
			return ""
		case schema.List:
			return "it leads through a list"
		}
		i := typ.Field(name)
		if i < 0 {
			return "there is no field " + name
		}
		ref = typ.Fields[i].Type
	}
	if !fits(t.Types[ref].Kind) {
		return wrongType
	}
	return ""
}
