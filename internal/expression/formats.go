package expression

import (
	"net/url"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	names "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/capstan-dev/capstan/openapi"
)

// format is a named rule for strings.
type format struct {
	name    string // in expressions
	check   func(string) []string
	pattern int // bytes of a regular expression of the same cost
}

var formats = &class[*format]{is: cel.ObjectType(openapi.Word() + ".NamedFormat"), equal: func(a, b *format) bool { return a == b }}

// namedFormats are all formats.
var namedFormats = []*format{
	{"dns1123Label", func(s string) []string { return names.IsDNS1123Label(s) }, 30},
	{"dns1123Subdomain", func(s string) []string { return names.IsDNS1123Subdomain(s) }, 60},
	{"dns1035Label", func(s string) []string { return names.IsDNS1035Label(s) }, 30},
	{"qualifiedName", names.IsQualifiedName, 60},
	{"dns1123LabelPrefix", func(s string) []string { return names.IsDNS1123Label(beginning(s)) }, 30},
	{"dns1123SubdomainPrefix", func(s string) []string { return names.IsDNS1123Subdomain(beginning(s)) }, 60},
	{"dns1035LabelPrefix", func(s string) []string { return names.IsDNS1035Label(beginning(s)) }, 30},
	{"labelValue", names.IsValidLabelValue, 40},
	{"uri", func(s string) []string {
		if _, err := url.ParseRequestURI(s); err != nil {
			return []string{err.Error()}
		}
		return nil
	}, 1103},
	{"uuid", schemaFormat("uuid", "does not match the UUID format"), len(strfmt.UUIDPattern)},
	{"byte", schemaFormat("byte", "invalid base64"), 84},
	{"date", schemaFormat("date", "invalid date"), len(strfmt.DateTimePattern)},
	{"datetime", schemaFormat("datetime", "invalid datetime"), len(strfmt.DateTimePattern)},
}

// beginning is a name that may follow a text which is the beginning of names: it may end
// in a dash.
func beginning(prefix string) string {
	if len(prefix) > 1 && strings.HasSuffix(prefix, "-") {
		return prefix[:len(prefix)-2] + "a"
	}
	return prefix
}

// schemaFormat is a format that schemas have, too.
func schemaFormat(name, problem string) func(string) []string {
	return func(s string) []string {
		if strfmt.Default.Validates(name, s) {
			return nil
		}
		return []string{problem}
	}
}

// formatFunctions find formats by their names, and check strings.
func formatFunctions() map[string][]cel.FunctionOpt {
	functions := map[string][]cel.FunctionOpt{
		"format.named": {function("format-named", cel.OptionalType(formats.is), ofText(func(name string) ref.Val {
			for _, f := range namedFormats {
				if f.name == name {
					return types.OptionalOf(formats.of(f))
				}
			}
			return types.OptionalNone
		}), types.StringType)},
		"validate": {member("format-validate", cel.OptionalType(cel.ListType(types.StringType)), cel.BinaryBinding(func(of, text ref.Val) ref.Val {
			f, ok := formats.in(of)
			if !ok {
				return types.MaybeNoSuchOverloadErr(of)
			}
			s, ok := text.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(text)
			}
			if problems := f.check(string(s)); len(problems) > 0 {
				return types.OptionalOf(types.NewStringList(types.DefaultTypeAdapter, problems))
			}
			return types.OptionalNone
		}), formats.is, types.StringType)},
	}
	for _, f := range namedFormats {
		name := "format." + f.name
		functions[name] = []cel.FunctionOpt{function(name, formats.is, cel.FunctionBinding(func(...ref.Val) ref.Val { return formats.of(f) }))}
	}
	return functions
}
