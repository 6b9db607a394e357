package definitions

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
)

// maxDeprecationWarning bounds the bytes of a version's warning.
const maxDeprecationWarning = 256

// versionPart is a part that each version has, or all the same: a part equal in all is
// reported at the spec. It is checked with its version, or with one that has a status if
// any has.
type versionPart struct {
	name, atSpec string
	shared       bool
	check        func(part document.Value, at *fieldPath, version document.Value)
}

func (c *causes) versionParts(versions, before document.Value) []versionPart {
	parts := []versionPart{
		{"schema", "validation", true, func(part document.Value, at *fieldPath, version document.Value) {
			c.definitionSchema(part, at, isSet(version.At("subresources", "status")), func() bool { return hasSchema(before, part) })
		}},
		{"subresources", "subresources", true, c.subresources},
		{"additionalPrinterColumns", "additionalPrinterColumns", true, c.printerColumns},
		{"selectableFields", "selectableFields", true, c.selectableFields},
	}
	for i := range parts {
		first := versions.Index(0).Get(parts[i].name)
		for _, v := range versions.Elements() {
			parts[i].shared = parts[i].shared && same(v.Get(parts[i].name), first)
		}
	}
	parts[3].shared = parts[3].shared && parts[0].shared // the fields have to be in the schemas
	return parts
}

// hasSchema reports whether one of some versions has a schema.
func hasSchema(versions, s document.Value) bool {
	for _, v := range versions.Elements() {
		if same(v.Get("schema"), s) {
			return true
		}
	}
	return false
}

func (c *causes) definitionVersions(versions document.Value, parts []versionPart) {
	for i, v := range versions.Elements() {
		if !isSet(v.At("schema", "openAPIV3Schema")) {
			c.Required("spec.versions"+index(i)+".schema.openAPIV3Schema", "schemas are required")
		}
	}
	var seen document.Texts
	unique, storage := true, 0
	for i, v := range versions.Elements() {
		name, path := v.Get("name").Text(), "spec.versions"+index(i)
		unique = seen.Add(name) && unique
		if v.Get("storage").Bool() {
			storage++
		}
		c.wordText(path+".name", name, name, "")
		c.deprecation(v, path+".deprecationWarning")
		for _, part := range parts {
			if !part.shared && isSet(v.Get(part.name)) {
				part.check(v.Get(part.name), &fieldPath{step: path + "." + part.name}, v)
			}
		}
	}
	if !unique {
		c.InvalidAt("spec.versions", versions, "must contain unique version names")
	}
	if storage != 1 {
		c.InvalidAt("spec.versions", versions, "must have exactly one version marked as storage version")
	}
	if name := versions.Index(0).Get("name").Text(); name != "" {
		c.wordText("spec.version", name, name, "")
	}
}

// sharedParts checks the parts that are the same in all versions.
func (c *causes) sharedParts(versions document.Value, parts []versionPart) {
	version := versions.Index(0)
	for _, v := range versions.Elements() {
		if isSet(v.At("subresources", "status")) {
			version = v
		}
	}
	for _, part := range parts {
		if first := versions.Index(0).Get(part.name); part.shared && isSet(first) {
			part.check(first, &fieldPath{step: "spec." + part.atSpec}, version)
		}
	}
}

func (c *causes) deprecation(version document.Value, path string) {
	warning := version.Get("deprecationWarning")
	text := warning.Text()
	switch {
	case !isSet(warning):
	case !version.Get("deprecated").Bool():
		c.InvalidText(path, text, "can only be set for deprecated versions")
	case text == "":
		c.InvalidText(path, text, "must not be empty")
	case len(text) > maxDeprecationWarning:
		c.InvalidText(path, text, "must be <= "+strconv.Itoa(maxDeprecationWarning)+" characters long")
	default:
		if i := strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }); i >= 0 {
			c.InvalidText(path, text, "must only contain printable UTF-8 characters; non-printable character found at index "+strconv.Itoa(i))
		}
	}
}

// columnTypes and columnFormats are the types and formats of columns.
var (
	columnTypes   = []string{"boolean", "date", "integer", "number", "string"}
	columnFormats = []string{"byte", "date", "date-time", "double", "float", "int32", "int64", "password"}
)

func (c *causes) printerColumns(columns document.Value, at *fieldPath, _ document.Value) {
	for i, column := range columns.Elements() {
		path := at.index(i).text()
		if isEmpty(column.Get("name")) {
			c.Required(path+".name", "")
		}
		if kind := column.Get("type").Text(); kind == "" {
			c.Required(path+".type", "must be one of "+strings.Join(columnTypes, ","))
		} else if !slices.Contains(columnTypes, kind) {
			c.InvalidText(path+".type", kind, "must be one of "+strings.Join(columnTypes, ","))
		}
		if format := column.Get("format").Text(); format != "" && !slices.Contains(columnFormats, format) {
			c.InvalidText(path+".format", format, "must be one of "+strings.Join(columnFormats, ","))
		}
		c.simplePath(column.Get("jsonPath").Text(), path+".JSONPath", true)
	}
}

func (c *causes) subresources(subresources document.Value, at *fieldPath, _ document.Value) {
	scale := subresources.Get("scale")
	if !isSet(scale) {
		return
	}
	for _, field := range [...]struct {
		name  string
		below []string
	}{{"specReplicasPath", []string{".spec."}}, {"statusReplicasPath", []string{".status."}}, {"labelSelectorPath", []string{".spec.", ".status."}}} {
		text, path := scale.Get(field.name).Text(), at.text()+".scale."+field.name
		if !c.simplePath(text, path, field.name != "labelSelectorPath") {
			continue
		}
		if !slices.ContainsFunc(field.below, func(prefix string) bool { return strings.HasPrefix(text, prefix) }) {
			c.InvalidText(path, text, "should be a json path under "+strings.Join(field.below, " or "))
		}
	}
}

// simplePath checks a JSON path of one value and reports whether there is a valid one.
func (c *causes) simplePath(text, path string, required bool) bool {
	switch {
	case text == "" && required:
		c.Required(path, "")
	case text != "" && text[0] != '.':
		c.InvalidText(path, text, "must be a simple json path starting with .")
	default:
		return text != ""
	}
	return false
}

func (c *causes) conversion(spec, before document.Value, webhook WebhookRules) {
	conversion := spec.Get("conversion")
	strategy, hook := conversion.Get("strategy"), conversion.Get("webhook")
	if isEmpty(strategy) {
		c.Required("spec.conversion.strategy", "")
	} else if !strategy.Equals("None") && !strategy.Equals("Webhook") {
		c.NotSupported(strategy, "None", "Webhook")
	}
	if strategy.Equals("Webhook") {
		c.Causes = append(c.Causes, webhook(hook, before.At("conversion", "webhook"))...)
		return
	}
	if isSet(hook.Get("clientConfig")) {
		c.Forbidden(ClientPath, "should not be set when strategy is not set to Webhook")
	}
	if hook.Get("conversionReviewVersions").Len() > 0 {
		c.Forbidden(ReviewsPath, "should not be set when strategy is not set to Webhook")
	}
}
