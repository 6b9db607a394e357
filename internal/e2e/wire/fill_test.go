package wire

import (
	"fmt"
	"math"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

// maxSchemas bounds the filled schemas of custom resources: they are recursive.
const maxSchemas = 12

// newFiller fills any Go object with values that have one canonical form, so that only
// the encoding is compared. Types whose Go kind is unspecific (times, quantities, raw
// JSON) get values over their range.
func newFiller(seed int64) *randfill.Filler {
	schemas := 0
	return randfill.NewWithSeed(seed).NilChance(0.4).NumElements(0, 3).MaxDepth(24).Funcs(
		func(*metav1.TypeMeta, randfill.Continue) {},
		func(v *metav1.Time, c randfill.Continue) {
			if c.Intn(4) > 0 {
				*v = metav1.Time{Time: time.Unix(c.Int63n(253402300800), 0)}
			}
		},
		func(v *metav1.MicroTime, c randfill.Continue) {
			if c.Intn(4) > 0 {
				*v = metav1.MicroTime{Time: time.Unix(c.Int63n(253402300800), c.Int63n(1000000)*1000)}
			}
		},
		func(v *metav1.Duration, c randfill.Continue) { v.Duration = time.Duration(c.Uint64()) },
		func(v *resource.Quantity, c randfill.Continue) {
			// Amounts of resources are rounded up to a thousandth when they are decoded.
			units := []string{"", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "e3", "e-2"}
			*v = resource.MustParse(fmt.Sprintf("%d%s", c.Intn(4000)-1000, units[c.Intn(len(units))]))
			_ = v.String()
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if *v = intstr.FromString(c.String(0)); c.Bool() {
				*v = intstr.FromInt32(int32(c.Uint32()))
			}
		},
		func(v *float64, c randfill.Continue) { *v = math.Ldexp(float64(c.Int63n(1<<50)-1<<49), c.Intn(40)-20) },
		func(v *runtime.RawExtension, c randfill.Continue) { v.Raw = []byte(rawObject(c)) },
		func(v *metav1.FieldsV1, c randfill.Continue) { v.Raw = []byte(`{"f:spec":{"f:replicas":{}}}`) },
		func(v *apiextensionsv1.JSON, c randfill.Continue) { v.Raw = []byte(rawObject(c)) },
		func(v *apiextensionsv1.JSONSchemaProps, c randfill.Continue) {
			if schemas++; schemas > maxSchemas {
				v.Type = c.String(0)
			} else {
				c.FillNoCustom(v)
			}
		},
		// Other fields are of later releases.
		func(v *apiextensionsv1.ValidationRule, c randfill.Continue) {
			v.Rule, v.Message = c.String(0), c.String(0)
		},
		func(v *apiextensionsv1.JSONSchemaPropsOrArray, c randfill.Continue) {
			if c.Bool() {
				v.JSONSchemas = make([]apiextensionsv1.JSONSchemaProps, 1+c.Intn(2))
				for i := range v.JSONSchemas {
					c.Fill(&v.JSONSchemas[i])
				}
				return
			}
			v.Schema = new(apiextensionsv1.JSONSchemaProps)
			c.Fill(v.Schema)
		},
		func(v *apiextensionsv1.JSONSchemaPropsOrBool, c randfill.Continue) {
			if v.Allows = c.Bool(); v.Allows && c.Bool() {
				v.Schema = new(apiextensionsv1.JSONSchemaProps)
				c.Fill(v.Schema)
			}
		},
		func(v *apiextensionsv1.JSONSchemaPropsOrStringArray, c randfill.Continue) {
			if c.Bool() {
				v.Property = []string{c.String(0), c.String(0)}
				return
			}
			v.Schema = new(apiextensionsv1.JSONSchemaProps)
			c.Fill(v.Schema)
		},
	)
}

// rawObject is JSON as encoders write it: no spaces, sorted names.
func rawObject(c randfill.Continue) string {
	values := []string{"1", "true", `"x"`, `[1,{"deep":[]}]`, `{}`, "0.5", `"ä\""`}
	members := []string{}
	for i := range c.Intn(4) {
		members = append(members, fmt.Sprintf(`"m%d":%s`, i, values[c.Intn(len(values))]))
	}
	return "{" + strings.Join(members, ",") + "}"
}
