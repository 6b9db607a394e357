package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readCache reads typed, unstructured and metadata objects from a manager's
// cache, by name, label and index.
func readCache(t *testing.T, ctx context.Context, m ctrl.Manager) {
	t.Helper()
	reader := m.GetClient()
	// The cache follows the server: look again at each of its events.
	changes := make(chan struct{}, 1000)
	informer, err := m.GetCache().GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changes <- struct{}{} },
		UpdateFunc: func(_, _ any) { changes <- struct{}{} },
		DeleteFunc: func(any) { changes <- struct{}{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	var list corev1.ConfigMapList
	for {
		if err := reader.List(ctx, &list, client.InNamespace("default"), client.MatchingFields{replicasField: "5"}); err != nil {
			t.Fatal(err)
		}
		if len(list.Items) == 1 && list.Items[0].Name == "web-mirror" {
			break
		}
		select {
		case <-changes:
		case <-ctx.Done():
			t.Fatalf("the index has %v", list.Items)
		}
	}
	if err := reader.List(ctx, &list, client.MatchingFields{replicasField: "2"}); err != nil || len(list.Items) != 0 {
		t.Errorf("the index still has %v, %v", list.Items, err)
	}
	if err := reader.List(ctx, &list, client.MatchingLabels{"mirrors": "web"}); err != nil || len(list.Items) != 1 {
		t.Errorf("by label: %v, %v", list.Items, err)
	}
	untyped := &unstructured.UnstructuredList{}
	untyped.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := reader.List(ctx, untyped, client.MatchingLabels{"mirrors": "web"}); err != nil || len(untyped.Items) != 1 {
		t.Errorf("unstructured: %v, %v", untyped.Items, err)
	}
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err := reader.Get(ctx, client.ObjectKey{Namespace: "default", Name: "web-mirror"}, partial); err != nil || !maps.Equal(partial.Labels, map[string]string{"mirrors": "web"}) {
		t.Errorf("metadata: %+v, %v", partial, err)
	}
}

// useClient uses the client's operations other than create, update and delete.
func useClient(t *testing.T, ctx context.Context, c client.WithWatch) {
	t.Helper()
	object := func(owner string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "applied", "namespace": "default", "labels": map[string]any{"suite": "client"}},
			"data":     map[string]any{"owner": owner},
		}}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		return u
	}
	apply := func(owner string, opts ...client.ApplyOption) error {
		return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object(owner)), append(opts, client.FieldOwner(owner))...)
	}
	if err := apply("one"); err != nil {
		t.Fatal(err)
	}
	if err := apply("two"); !apierrors.IsConflict(err) {
		t.Errorf("a second owner: %v, want Conflict", err)
	}
	if err := apply("two", client.ForceOwnership); err != nil {
		t.Error(err)
	}
	if err := client.NewDryRunClient(c).Create(ctx, configMapIn("dry")); err != nil {
		t.Error(err)
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "dry"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run was stored: %v", err)
	}
	wrong := object("one")
	wrong.SetName("wrong")
	wrong.Object["dtaa"] = map[string]any{}
	if err := client.WithFieldValidation(c, metav1.FieldValidationStrict).Create(ctx, wrong); !apierrors.IsBadRequest(err) {
		t.Errorf("an unknown field: %v, want BadRequest", err)
	}
	for i := range 5 {
		m := configMapIn(fmt.Sprintf("many-%d", i))
		m.Labels = map[string]string{"suite": "client"}
		if err := c.Create(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	var page corev1.ConfigMapList
	names := []string{}
	for more := true; more; more = page.Continue != "" {
		if err := c.List(ctx, &page, client.InNamespace("default"), client.MatchingLabels{"suite": "client"}, client.Limit(2), client.Continue(page.Continue)); err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			names = append(names, item.Name)
		}
	}
	if want := []string{"applied", "many-0", "many-1", "many-2", "many-3", "many-4"}; !slices.Equal(names, want) {
		t.Errorf("pages of %v, want %v", names, want)
	}
	if err := c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("default"), client.MatchingLabels{"suite": "client"}); err != nil {
		t.Error(err)
	}
	if err := c.List(ctx, &page, client.InNamespace("default"), client.MatchingLabels{"suite": "client"}); err != nil || len(page.Items) != 0 {
		t.Errorf("after the deletion of all: %v, %v", page.Items, err)
	}
	// Scale, as an autoscaler does it.
	idle := deployment("idle", 1)
	if err := c.Create(ctx, idle); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, ctx, c, &appsv1.DeploymentList{}, "the controller has done its part", settled("idle", 1))
	var scale autoscalingv1.Scale
	if err := c.SubResource("scale").Get(ctx, idle, &scale); err != nil || scale.Spec.Replicas != 1 || scale.Status.Selector != "app=idle" {
		t.Fatalf("scale %+v, %v", scale, err)
	}
	scale.Spec.Replicas = 3
	if err := c.SubResource("scale").Update(ctx, idle, client.WithSubResourceBody(&scale)); err != nil {
		t.Error(err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(idle), idle); err != nil || *idle.Spec.Replicas != 3 {
		t.Errorf("after scaling: %d replicas, generation %d, %v", *idle.Spec.Replicas, idle.Generation, err)
	}
}

func configMapIn(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}
