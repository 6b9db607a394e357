package main

import (
	"reflect"
	"slices"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/load"
	appsv1 "github.com/capstan-dev/capstan/internal/gen/apps/v1"
	authenticationv1 "github.com/capstan-dev/capstan/internal/gen/authentication/v1"
	authorizationv1 "github.com/capstan-dev/capstan/internal/gen/authorization/v1"
	autoscalingv1 "github.com/capstan-dev/capstan/internal/gen/autoscaling/v1"
	autoscalingv2 "github.com/capstan-dev/capstan/internal/gen/autoscaling/v2"
	autoscalingv2beta2 "github.com/capstan-dev/capstan/internal/gen/autoscaling/v2beta2"
	batchv1 "github.com/capstan-dev/capstan/internal/gen/batch/v1"
	coordinationv1 "github.com/capstan-dev/capstan/internal/gen/coordination/v1"
	corev1 "github.com/capstan-dev/capstan/internal/gen/core/v1"
	discoveryv1 "github.com/capstan-dev/capstan/internal/gen/discovery/v1"
	eventsv1 "github.com/capstan-dev/capstan/internal/gen/events/v1"
	flowcontrolv1beta1 "github.com/capstan-dev/capstan/internal/gen/flowcontrol.apiserver/v1beta1"
	flowcontrolv1beta2 "github.com/capstan-dev/capstan/internal/gen/flowcontrol.apiserver/v1beta2"
	internalapiserverv1alpha1 "github.com/capstan-dev/capstan/internal/gen/internal.apiserver/v1alpha1"
	metav1 "github.com/capstan-dev/capstan/internal/gen/meta/v1"
	networkingv1 "github.com/capstan-dev/capstan/internal/gen/networking/v1"
	networkingv1alpha1 "github.com/capstan-dev/capstan/internal/gen/networking/v1alpha1"
	nodev1 "github.com/capstan-dev/capstan/internal/gen/node/v1"
	policyv1 "github.com/capstan-dev/capstan/internal/gen/policy/v1"
	rbacauthorizationv1 "github.com/capstan-dev/capstan/internal/gen/rbac.authorization/v1"
	schedulingv1 "github.com/capstan-dev/capstan/internal/gen/scheduling/v1"
	storagev1 "github.com/capstan-dev/capstan/internal/gen/storage/v1"
	storagev1beta1 "github.com/capstan-dev/capstan/internal/gen/storage/v1beta1"
	"github.com/capstan-dev/capstan/internal/schema"

	admissionregistrationv1 "github.com/capstan-dev/capstan/internal/gen/admissionregistration/v1"
	apiextensionsv1 "github.com/capstan-dev/capstan/internal/gen/apiextensions/v1"
	apiregistrationv1 "github.com/capstan-dev/capstan/internal/gen/apiregistration/v1"
	certificatesv1 "github.com/capstan-dev/capstan/internal/gen/certificates/v1"
)

// tables are the generated tables, by the folder of their documents.
var tables = map[string]*schema.Table{
	"admissionregistration/v1":      &admissionregistrationv1.Table,
	"apiextensions/v1":              &apiextensionsv1.Table,
	"apiregistration/v1":            &apiregistrationv1.Table,
	"apps/v1":                       &appsv1.Table,
	"authentication/v1":             &authenticationv1.Table,
	"authorization/v1":              &authorizationv1.Table,
	"autoscaling/v1":                &autoscalingv1.Table,
	"autoscaling/v2":                &autoscalingv2.Table,
	"autoscaling/v2beta2":           &autoscalingv2beta2.Table,
	"batch/v1":                      &batchv1.Table,
	"certificates/v1":               &certificatesv1.Table,
	"coordination/v1":               &coordinationv1.Table,
	"core/v1":                       &corev1.Table,
	"discovery/v1":                  &discoveryv1.Table,
	"events/v1":                     &eventsv1.Table,
	"flowcontrol.apiserver/v1beta1": &flowcontrolv1beta1.Table,
	"flowcontrol.apiserver/v1beta2": &flowcontrolv1beta2.Table,
	"internal.apiserver/v1alpha1":   &internalapiserverv1alpha1.Table,
	"meta/v1":                       &metav1.Table,
	"networking/v1":                 &networkingv1.Table,
	"networking/v1alpha1":           &networkingv1alpha1.Table,
	"node/v1":                       &nodev1.Table,
	"policy/v1":                     &policyv1.Table,
	"rbac.authorization/v1":         &rbacauthorizationv1.Table,
	"scheduling/v1":                 &schedulingv1.Table,
	"storage/v1":                    &storagev1.Table,
	"storage/v1beta1":               &storagev1beta1.Table,
}

// sayable is a table without the rules that JSON Schema has no words for.
func sayable(table *schema.Table) *schema.Table {
	less := *table
	less.Types = slices.Clone(table.Types)
	for i := range less.Types {
		t := &less.Types[i]
		if t.Demands = nil; t.Rules != nil {
			rules := *t.Rules
			rules.Keys, rules.MaxBytes = "", 0
			t.Rules = &rules
		}
	}
	return &less
}

// The compiler gives the same tables at run time that the generator wrote as Go data, so
// tests of one hold for the other.
func TestGeneratedTablesAreTheCompiledOnes(t *testing.T) {
	m, err := load.Load("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, gv := range m.GroupVersions {
		generated := tables[gv.Dir]
		if generated == nil {
			t.Errorf("no generated table of %s is compared: add it to tables", gv.Dir)
			continue
		}
		if reflect.DeepEqual(generated, gv.Table) {
			continue
		}
		t.Errorf("the generated table of %s differs: run make generate", gv.Dir)
		for i := range min(len(generated.Types), len(gv.Table.Types)) {
			if !reflect.DeepEqual(generated.Types[i], gv.Table.Types[i]) {
				t.Errorf("type %d is\n%+v, generated is\n%+v", i, gv.Table.Types[i], generated.Types[i])
				break
			}
		}
	}
	if len(m.GroupVersions) != len(tables) {
		t.Errorf("%d group versions, %d tables", len(m.GroupVersions), len(tables))
	}
}
