package emit

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// conversionLiteral is the api.Conversion of a resource that is stored as
// another, as Go.
func conversionLiteral(res *model.Resource, outside bool, hook func(method string) string) string {
	to, c := res.StoredAs, res.Conversion
	var b strings.Builder
	fmt.Fprintf(&b, "&api.Conversion{Group: %q, Version: %q, Plural: %q", to.GV.Group, to.GV.Version, to.Plural)
	if c.Same {
		b.WriteString(", Same: true}")
		return b.String()
	}
	toName, fromName := conversionNames(res, outside)
	here, there := carriedLiteral(res.GV.Version, c.OnlyHere), carriedLiteral(to.GV.Version, c.OnlyInStored)
	for _, way := range []struct {
		field          string
		copies         []model.Copy
		carry, restore string
		method         string
	}{{"ToStorage", c.To, here, there, toName}, {"FromStorage", c.From, there, here, fromName}} {
		fmt.Fprintf(&b, ",\n%s: api.Plan{Copy: %s", way.field, copiesLiteral(way.copies))
		if way.carry != "" {
			b.WriteString(", Carry: " + way.carry)
		}
		if way.restore != "" {
			b.WriteString(", Restore: " + way.restore)
		}
		if c.Hook {
			b.WriteString(", Hook: " + hook(way.method))
		}
		b.WriteString("}")
	}
	b.WriteString("}")
	return b.String()
}

// carriedLiteral is the fields at the paths, which a version has and another lacks; "" for
// none.
func carriedLiteral(version string, paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("[]api.Carried{")
	for _, path := range paths {
		fmt.Fprintf(&b, "{Key: %q, Path: %#v}, ", version+":"+path, strings.Split(path, "."))
	}
	return strings.TrimSuffix(b.String(), ", ") + "}"
}

func copiesLiteral(copies []model.Copy) string {
	var b strings.Builder
	b.WriteString("[]api.Copy{")
	for i, c := range copies {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{Name: %q", c.Name)
		if c.From != "" {
			fmt.Fprintf(&b, ", From: %q", c.From)
		}
		if c.Each {
			b.WriteString(", Each: true")
		}
		if c.Below != nil {
			b.WriteString(", Below: " + copiesLiteral(c.Below))
		}
		b.WriteString("}")
	}
	b.WriteString("}")
	return b.String()
}

// conversionMethods are the conversions that hand-written code has to do.
func conversionMethods(res *model.Resource, outside bool) []hookMethod {
	to, from := conversionNames(res, outside)
	as := res.StoredAs.GV.Dir
	sig := "(from, to document.Value)"
	return []hookMethod{
		{to, sig, "sets in to, of " + as + ", what from has in another form; the other fields are copied."},
		{from, sig, "sets in to what from, of " + as + ", has in another form; the other fields are copied."},
	}
}

// conversionNames are the methods of a conversion: AutoscalingV1HorizontalPodAutoscalerToStorage and …FromStorage in another
// module. Releases of the built-in kinds store a kind in different versions, so the names there have both versions, in the order
// of the way: AutoscalingV1HorizontalPodAutoscalerToV2 and AutoscalingV2HorizontalPodAutoscalerToV1.
func conversionNames(res *model.Resource, outside bool) (to, from string) {
	here, there := res.GV, res.StoredAs.GV
	if name := camelDir(here.Dir) + res.Kind; outside {
		return name + "ToStorage", name + "FromStorage"
	}
	way := func(from, to *model.GroupVersion) string {
		if from.Group == to.Group {
			return camelDir(from.Dir) + res.Kind + "To" + upperFirst(to.Version)
		}
		return camelDir(from.Dir) + res.Kind + "To" + camelDir(to.Dir)
	}
	return way(here, there), way(there, here)
}

// camelDir is AutoscalingV1 for autoscaling/v1.
func camelDir(dir string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(dir, func(c rune) bool { return c == '/' || c == '.' || c == '-' }) {
		b.WriteString(upperFirst(word))
	}
	return b.String()
}
