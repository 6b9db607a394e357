package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// causes compares the causes of two refusals, then takes them away so that the rest can be compared.
func (d *stepDiff) causes(want, got *Answer, wv, gv any) {
	w, g, status := causes(wv), causes(gv), want.Status
	if wc, gc := conflicts(d.session.want, want.JSON), conflicts(d.session.got, got.JSON); wc != nil && gc != nil {
		w, g = alikeConflicts(wc, gc)
	}
	missing, extra := minus(w, g), minus(g, w)
	var parts []string
	for _, m := range missing {
		paired := false
		f, r, _ := strings.Cut(m, "/")
		for i, e := range extra {
			if ef, er, _ := strings.Cut(e, "/"); ef == f {
				parts = append(parts, fmt.Sprintf("~%s %s, got %s", f, r, er))
				extra = append(extra[:i:i], extra[i+1:]...)
				paired = true
				break
			}
		}
		if !paired {
			parts = append(parts, "-"+m)
		}
	}
	for _, e := range extra {
		parts = append(parts, "+"+e)
	}
	all := func(l []string) string { return strings.Join(limit(l, 8), ", ") }
	for i, p := range parts {
		if i == 6 {
			break
		}
		d.add("causes", fmt.Sprintf("%d causes %s", status, p), all(w), all(g)).Causes = w
	}
	if w, g := anyOrder(d.target.Resource, w), anyOrder(d.target.Resource, g); len(parts) == 0 && strings.Join(w, ";") != strings.Join(g, ";") {
		d.add("order", fmt.Sprintf("%d causes in another order", status), all(w), all(g)).Causes = w
	}
	if !d.session.want.messages || len(parts) > 0 {
		for _, v := range []any{wv, gv} {
			if m, ok := v.(map[string]any); ok {
				if det, ok := m["details"].(map[string]any); ok {
					delete(det, "causes")
					if len(det) == 0 {
						delete(m, "details")
					}
				}
				if len(parts) > 0 {
					delete(m, "message")
				}
			}
		}
	}
}

// anyOrder sorts causes that follow each other and that the reference lists as a Go map yields them: of custom resources, of
// their schemas, and of the sources that a metric has too many of.
func anyOrder(resource string, list []string) []string {
	unordered := func(cause string) bool {
		switch {
		case strings.HasPrefix(resource, "customresourcedefinitions."):
			return strings.Contains(cause, ".openAPIV3Schema.")
		case strings.HasPrefix(resource, "horizontalpodautoscalers."):
			return strings.HasPrefix(cause, "spec.metrics[].") && strings.HasSuffix(cause, "/FieldValueForbidden")
		}
		custom, _, _ := strings.Cut(resource, "/") // of a subresource too
		return strings.HasSuffix(custom, "differ.example.com")
	}
	list = slices.Clone(list)
	for start := 0; start < len(list); {
		end := start
		for end < len(list) && unordered(list[end]) {
			end++
		}
		slices.Sort(list[start:end])
		start = end + 1
	}
	return list
}

// causes lists field/reason of a Status.
func causes(v any) []string {
	if !isStatus(v) {
		return nil
	}
	l, _ := scenario.Get(v, "details.causes")
	items, _ := l.([]any)
	var out []string
	for _, x := range items {
		m, _ := x.(map[string]any)
		f, _ := m["field"].(string)
		r, _ := m["reason"].(string)
		if f == "<nil>" || f == "" {
			f = "(object)"
		}
		out = append(out, generalField(f)+"/"+r)
	}
	return out
}

// conflicts are the fields of an apply's conflicts by manager. It is nil for any other refusal.
func conflicts(n *normalizer, v any) map[string][]string {
	m, _ := v.(map[string]any)
	d, _ := m["details"].(map[string]any)
	l, _ := d["causes"].([]any)
	out := map[string][]string{}
	for _, x := range l {
		c, _ := x.(map[string]any)
		manager, _ := c["message"].(string)
		field, _ := c["field"].(string)
		if c["reason"] != "FieldManagerConflict" {
			return nil
		}
		manager = reWhen.ReplaceAllString(n.text(manager), "<time>")
		out[manager] = append(out[manager], n.text(field))
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// alikeConflicts lists the causes of two apply conflicts without the accidents of the
// reference. Its managers come in the order of a Go map, so they are sorted on both
// sides. Its paths share memory, so that the neighbours of a field may all be reported
// under the name of the last of them, or of the value around that: where it names a field
// of a manager more than once, or two of which one holds the other, the server under test
// must report as many fields, and for each that the reference names this one or one in it.
func alikeConflicts(want, got map[string][]string) (w, g []string) {
	for _, manager := range sortedKeys(want, got) {
		wf, gf := want[manager], got[manager]
		if len(wf) == len(gf) && overwritten(wf) && within(wf, gf) {
			wf = gf
		}
		w, g = append(w, causesAt(wf)...), append(g, causesAt(gf)...)
	}
	return w, g
}

func causesAt(fields []string) []string {
	var out []string
	for _, f := range fields {
		out = append(out, generalField(f)+"/FieldManagerConflict")
	}
	return out
}

// overwritten reports whether a list names something twice, or in two fields of which one holds the other.
func overwritten(fields []string) bool {
	for i, f := range fields {
		for j, other := range fields {
			if i != j && holds(f, other) {
				return true
			}
		}
	}
	return false
}

// holds reports whether a path is another one, or leads to it.
func holds(path, other string) bool {
	rest, ok := strings.CutPrefix(other, path)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// within reports whether all of a are in b, or hold something that is.
func within(a, b []string) bool {
	for _, x := range a {
		if !slices.ContainsFunc(b, func(y string) bool { return holds(x, y) }) {
			return false
		}
	}
	return true
}
