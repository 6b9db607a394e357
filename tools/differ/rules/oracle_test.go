package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/capstan-dev/capstan/internal/document"
	ours "github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
)

// definition is a definition with a schema.
func definition(schema any) []byte {
	text, err := json.Marshal(map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{"group": "example.com", "scope": "Cluster", "conversion": map[string]any{"strategy": "None"},
			"names":    map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema}}}},
		"status": map[string]any{"storedVersions": []any{"v1"}, "acceptedNames": map[string]any{"plural": "widgets", "kind": "Widget", "listKind": "WidgetList"}}})
	if err != nil {
		panic(err)
	}
	return text
}

func tree(t testing.TB, text []byte) document.Value {
	t.Helper()
	doc, err := document.DecodeAny(text, document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(doc.Release)
	return doc.Root()
}

// shownRule and shownType are the parts of messages that differ: rules have more members
// upstream, and causes there show the value rather than its type.
var (
	shownRule = regexp.MustCompile(`(?s)(apiextensions\.ValidationRule\{.*?\}|\{"Rule":.*?"OptionalOldSelf":(true|false|null)\}): `)
	shownType = regexp.MustCompile(`^(Invalid value|Duplicate value)(: ("(object|array|string|integer|number|boolean|)"|-?[0-9.e+]+|true|false|"[^"]*"))?: `)
	typeName  = regexp.MustCompile(`(selfType[0-9]+|object self)[^ ,()']*`)
)

func plain(reason, path, message string) string {
	message = shownType.ReplaceAllString(shownRule.ReplaceAllString(message, ""), "$1: ")
	message = strings.Replace(message, ": message must ", ": must ", 1) // the words, and spaces around a message, are those of 1.25
	message = strings.TrimSpace(strings.Replace(message, ":  ", ": ", 1))
	return reason + " " + path + " " + typeName.ReplaceAllString(message, "T")
}

func ourCauses(causes []ours.Cause) (all []string) {
	for _, c := range causes {
		all = append(all, plain(c.Reason, c.Field, c.Message))
	}
	slices.Sort(all)
	return all
}

func theirCauses(errs field.ErrorList) (all []string) {
	for _, e := range errs {
		all = append(all, plain(string(e.Type), e.Field, e.ErrorBody()))
	}
	slices.Sort(all)
	return all
}

// judge compares the causes of a definition, and returns them.
func judge(t *testing.T, s any) []string {
	t.Helper()
	text := definition(s)
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &v1); err != nil {
		t.Fatal(err)
	}
	var internal apiextensions.CustomResourceDefinition
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&v1, &internal, nil); err != nil {
		t.Fatal(err)
	}
	want := theirCauses(validation.ValidateCustomResourceDefinition(context.Background(), &internal))
	got := ourCauses(definitions.Validate(tree(t, text), document.Value{}, nil, nil))
	if !slices.Equal(got, want) {
		schema, _ := json.Marshal(s)
		t.Errorf("%s\n has  %s\n want %s", schema, strings.Join(got, "\n      "), strings.Join(want, "\n      "))
	}
	return want
}

// evaluate compares the causes of an object that replaces another, nil for none.
func evaluate(t *testing.T, s any, obj, old any) {
	t.Helper()
	text := definition(s)
	var v1 apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(text, &v1); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	rows := (&definitions.Rows{}).Of(definitions.Pack(text), [32]byte{})
	rules := rows[0].Definition.Rules
	validator := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	if validator == nil {
		return
	}
	objText, _ := json.Marshal(obj)
	var now, before map[string]any
	if err := utiljson.Unmarshal(objText, &now); err != nil {
		t.Fatal(err)
	}
	var options []cel.Option
	var was document.Value
	if old != nil {
		oldText, _ := json.Marshal(old)
		if err := utiljson.Unmarshal(oldText, &before); err != nil {
			t.Fatal(err)
		}
		was = tree(t, oldText)
		options = append(options, cel.WithRatcheting(common.NewCorrelatedObject(now, before, &model.Structural{Structural: structural})))
	}
	var given any
	if before != nil {
		given = before
	}
	errs, _ := validator.Validate(context.Background(), nil, structural, now, given, celconfig.RuntimeCELCostBudget, options...)
	for _, unbounded := range []bool{false, true} {
		got := ourCauses(rules().Check(context.Background(), tree(t, objText), was, unbounded).Causes)
		if want := theirCauses(errs); !slices.Equal(got, want) {
			shown, _ := json.Marshal(s)
			oldText, _ := json.Marshal(old)
			t.Errorf("%s\n object %s\n before %s\n has  %s\n want %s", shown, objText, oldText, strings.Join(got, "\n      "), strings.Join(want, "\n      "))
		}
	}
}

// open reports whether a schema allows values without a schema.
func open(s any) bool {
	text, _ := json.Marshal(s)
	return strings.Contains(string(text), `"x-kubernetes-preserve-unknown-fields"`)
}

// TestRules compares random schemas with rules, and random objects of accepted ones, with
// upstream's library.
func TestRules(t *testing.T) {
	seeds := uint64(400)
	if testing.Short() {
		seeds = 50
	}
	accepted := 0
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := drawer{rand.New(rand.NewPCG(seed, 1))}
			s := d.root()
			if len(judge(t, s)) > 0 {
				return
			}
			accepted++
			for range 6 {
				obj := d.object(s)
				evaluate(t, s, obj, nil)
				if !open(s) { // upstream never finds values without a schema unchanged
					evaluate(t, s, d.changed(s, obj), obj)
				}
			}
		})
	}
	t.Logf("%d of %d definitions are accepted", accepted, seeds)
}
