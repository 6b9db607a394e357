package harness

import (
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
)

// Widgets are two versions of a type with the properties of config maps.
func Widgets(s *Running, n int) []*api.Resource {
	model := s.Row("v1", "ConfigMap")
	var all []*api.Resource
	for _, version := range []string{"v1", "v1beta1"} {
		gv := *model.GV
		gv.Group, gv.Version, gv.GroupPriority = "example.com", version, 1000
		res := *model
		res.GV, res.Plural, res.Kind, res.ListKind = &gv, fmt.Sprintf("widgets%d", n), fmt.Sprintf("Widget%d", n), fmt.Sprintf("Widget%dList", n)
		if len(all) > 0 {
			res.Conversion = &api.Conversion{Same: true, Storage: all[0]}
		}
		all = append(all, &res)
	}
	return all
}

// ShopWidgets is the collection of the custom kind of most tests.
const ShopWidgets = "/apis/shop.example.com/v1/namespaces/default/widgets"

// DefinedAs is the definition of the widgets.
const DefinedAs = DefinitionsPath + "/widgets.shop.example.com"

// Define serves widgets with a schema (JSON) and further members of their version.
func (h *Server) Define(schema, members string) {
	h.T.Helper()
	h.Create(DefinitionsPath, fmt.Sprintf(`{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced",
		"names":{"plural":"widgets","kind":"Widget","shortNames":["wd"],"categories":["all"]},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":%s}%s}]}}`, schema, members))
	h.Await(DefinitionsPath, func(o Contents) bool {
		return strings.Contains(Conditions(o, "widgets.shop.example.com"), "Established=True")
	})
}

// Widget is a widget in JSON.
func Widget(name, members string) string {
	return fmt.Sprintf(`{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":%q}%s}`, name, members)
}

// WidgetSchema is the schema of widgets.
const WidgetSchema = `{"type":"object","properties":{
	"spec":{"type":"object","required":["name"],"properties":{
		"name":{"type":"string","maxLength":5,"minLength":2,"pattern":"^[a-z]+$"},
		"size":{"type":"integer","minimum":1,"maximum":10,"multipleOf":2,"default":4},
		"port":{"x-kubernetes-int-or-string":true},
		"note":{"type":"string","nullable":true},
		"any":{"x-kubernetes-preserve-unknown-fields":true},
		"open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"known":{"type":"integer"}}},
		"map":{"type":"object","maxProperties":2,"additionalProperties":{"type":"integer"}},
		"one":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]},
		"set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
		"keyed":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["key"],
			"items":{"type":"object","required":["key"],"properties":{"key":{"type":"string"},"on":{"type":"boolean","default":true}}}},
		"whole":{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}
	}},
	"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}`

// DefinitionsPath is the collection of custom resource definitions.
const DefinitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// Custom is a definition; names are the members after plural.
func Custom(group, plural, names string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%[2]s.%[1]s"},"spec":{"group":"%[1]s","scope":"Namespaced","names":{"plural":%[2]q,%[3]s},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, group, plural, names)
}

// Conditions are "type=status reason" of an object's conditions.
func Conditions(o Contents, name string) string {
	list, _ := o.In(name, "status.conditions").([]any)
	var all []string
	for _, c := range list {
		m := c.(map[string]any)
		all = append(all, fmt.Sprint(m["type"], "=", m["status"], " ", m["reason"]))
	}
	return strings.Join(all, ", ")
}
