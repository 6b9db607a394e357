package e2e

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	suiteFinalizer = "suite.example.com/tidy"
	replicasField  = "data.replicas"
)

// mirror is a typical reconciler: it keeps a config map for each deployment, reports in
// the status, and has a finalizer.
type mirror struct {
	client.Client
	tidied chan string // names of deployments whose finalizer ran
}

func (m *mirror) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var d appsv1.Deployment
	if err := m.Get(ctx, req.NamespacedName, &d); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !d.DeletionTimestamp.IsZero() {
		if !controllerutil.RemoveFinalizer(&d, suiteFinalizer) {
			return ctrl.Result{}, nil
		}
		err := m.Update(ctx, &d)
		if err == nil {
			m.tidied <- d.Name
		}
		return ctrl.Result{}, err
	}
	if controllerutil.AddFinalizer(&d, suiteFinalizer) {
		if err := m.Update(ctx, &d); err != nil {
			return ctrl.Result{}, err
		}
	}
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name + "-mirror"}}
	_, err := controllerutil.CreateOrUpdate(ctx, m.Client, child, func() error {
		child.Labels = map[string]string{"mirrors": d.Name}
		child.Data = map[string]string{"replicas": strconv.Itoa(int(*d.Spec.Replicas))}
		return controllerutil.SetControllerReference(&d, child, m.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	status := d.Status.DeepCopy()
	status.ObservedGeneration, status.Replicas, status.ReadyReplicas = d.Generation, *d.Spec.Replicas, *d.Spec.Replicas
	if equality.Semantic.DeepEqual(*status, d.Status) {
		return ctrl.Result{}, nil
	}
	d.Status = *status
	return ctrl.Result{}, m.Status().Update(ctx, &d)
}

// mirrorRules are all that the reconciler and its manager may do.
var mirrorRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list", "watch", "update"}},
	{APIGroups: []string{"apps"}, Resources: []string{"deployments/status"}, Verbs: []string{"update"}},
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "create", "update"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}},
	{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{"suite"}, Verbs: []string{"get", "update"}},
	{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
}

// narrow is the configuration of a service account that has no other rights than these.
func (i *instance) narrow(t *testing.T, ctx context.Context, account string, rules []rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	admin, named := i.client(t), metav1.ObjectMeta{Name: account}
	_, err := admin.CoreV1().ServiceAccounts("default").Create(ctx, &corev1.ServiceAccount{ObjectMeta: named}, metav1.CreateOptions{})
	if err == nil {
		_, err = admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: named, Rules: rules}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: named, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: account}}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	token, err := admin.CoreV1().ServiceAccounts("default").CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(i.config(t))
	config.BearerToken, config.QPS = token.Status.Token, -1
	return config
}

// A manager that ends gives its lease back with an update. A renewal that was under way at that moment may come
// first: then client-go takes the conflict for an answer, and the lease has to run out. The renewal is due early
// enough for a machine under load, and the lease runs out within the limit of a test.
const (
	suiteLease = 40 * time.Second
	suiteRenew = 35 * time.Second
)

// manage starts a manager that runs for the lease of the suite.
func (i *instance) manage(t *testing.T, as *rest.Config, name string) (manager ctrl.Manager, m *mirror, stop func()) {
	t.Helper()
	manager, err := ctrl.NewManager(as, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Controller:     config.Controller{SkipNameValidation: ptr.To(true)},
		LeaderElection: true, LeaderElectionID: "suite", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
		LeaseDuration: ptr.To(suiteLease), RenewDeadline: ptr.To(suiteRenew), RetryPeriod: ptr.To(100 * time.Millisecond),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(testContext(t))
	err = manager.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, replicasField, func(o client.Object) []string {
		return []string{o.(*corev1.ConfigMap).Data["replicas"]}
	})
	if err != nil {
		t.Fatal(err)
	}
	m = &mirror{Client: manager.GetClient(), tidied: make(chan string, 10)}
	if err := ctrl.NewControllerManagedBy(manager).For(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Complete(m); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	stopped := false
	stop = func() {
		if cancel(); stopped {
			return
		}
		stopped = true
		if err := <-ended; err != nil {
			t.Errorf("manager %s: %v", name, err)
		}
	}
	t.Cleanup(stop)
	return manager, m, stop
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
			},
		},
	}
}

// awaitEvent watches the objects of a list's kind, their present state first, until
// one event is as wanted.
func awaitEvent(t *testing.T, ctx context.Context, c client.WithWatch, list client.ObjectList, what string, wanted func(watch.Event) bool) {
	t.Helper()
	w, err := c.Watch(ctx, list, client.InNamespace("default"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if wanted(event) {
			return
		}
	}
	t.Fatalf("the watch ended before %s", what)
}

// settled reports whether the controller has seen and reported the last change.
func settled(name string, replicas int32) func(watch.Event) bool {
	return func(e watch.Event) bool {
		d, ok := e.Object.(*appsv1.Deployment)
		return ok && d.Name == name && d.Status.ReadyReplicas == replicas && d.Status.ObservedGeneration == d.Generation
	}
}

func mirrors(name, replicas string) func(watch.Event) bool {
	return func(e watch.Event) bool {
		m, ok := e.Object.(*corev1.ConfigMap)
		return ok && e.Type != watch.Deleted && m.Name == name+"-mirror" && m.Data["replicas"] == replicas
	}
}

// TestControllerRuntime runs a manager with a reconciler under a narrow role, and a second
// one that takes over.
func TestControllerRuntime(t *testing.T) {
	t.Parallel()
	instance := serve(t, "")
	ctx := testContext(t)
	direct, err := client.NewWithWatch(instance.config(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	account := instance.narrow(t, ctx, "mirror", mirrorRules)
	manager, _, stopFirst := instance.manage(t, account, "first")
	awaitElected(t, ctx, manager)
	standby, reconciler, _ := instance.manage(t, account, "second")

	web := deployment("web", 2)
	if err := manager.GetClient().Create(ctx, web); !apierrors.IsForbidden(err) {
		t.Errorf("the account of the manager may make deployments: %v", err)
	}
	if err := direct.Create(ctx, web); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, ctx, direct, &appsv1.DeploymentList{}, "the first status", settled("web", 2))
	key := client.ObjectKeyFromObject(web)
	if err := direct.Get(ctx, key, web); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(web.Finalizers, suiteFinalizer) || web.Generation != 1 {
		t.Errorf("finalizers %v, generation %d; want the suite's, and 1: neither metadata nor status count", web.Finalizers, web.Generation)
	}
	var child corev1.ConfigMap
	childKey := client.ObjectKey{Namespace: "default", Name: "web-mirror"}
	if err := direct.Get(ctx, childKey, &child); err != nil || !metav1.IsControlledBy(&child, web) || child.Data["replicas"] != "2" {
		t.Fatalf("the child is %v, %v", child, err)
	}

	// A patch of the spec, from the state that was read.
	changed := web.DeepCopy()
	changed.Spec.Replicas = ptr.To[int32](5)
	if err := direct.Patch(ctx, changed, client.MergeFromWithOptions(web, client.MergeFromWithOptimisticLock{})); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, ctx, direct, &appsv1.DeploymentList{}, "the status after a patch", settled("web", 5))
	awaitEvent(t, ctx, direct, &corev1.ConfigMapList{}, "the child after a patch", mirrors("web", "5"))
	again := web.DeepCopy()
	again.Spec.Replicas = ptr.To[int32](6)
	if err := direct.Patch(ctx, again, client.MergeFromWithOptions(web, client.MergeFromWithOptimisticLock{})); !apierrors.IsConflict(err) {
		t.Errorf("a patch from a stale state: %v, want Conflict", err)
	}
	if err := direct.Update(ctx, web); !apierrors.IsConflict(err) {
		t.Errorf("an update from a stale state: %v, want Conflict", err)
	}

	// A controller's object comes back when it is deleted.
	if err := direct.Delete(ctx, &child, client.Preconditions{UID: &child.UID}); err != nil {
		t.Fatal(err)
	}
	awaitEvent(t, ctx, direct, &corev1.ConfigMapList{}, "a new child", func(e watch.Event) bool {
		return mirrors("web", "5")(e) && e.Object.(*corev1.ConfigMap).UID != child.UID
	})
	t.Run("cache", func(t *testing.T) { readCache(t, ctx, manager) })
	t.Run("client", func(t *testing.T) { useClient(t, ctx, direct) })

	// The second manager takes over and runs the finalizer; the deployment's dependents
	// are collected.
	select {
	case <-standby.Elected():
		t.Fatal("two managers lead")
	default:
	}
	stopFirst()
	awaitElected(t, ctx, standby)
	if err := direct.Delete(ctx, web, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	select {
	case name := <-reconciler.tidied:
		if name != "web" {
			t.Errorf("tidied %s", name)
		}
	case <-ctx.Done():
		t.Fatal("the finalizer did not run")
	}
	gone(t, ctx, direct, &appsv1.DeploymentList{}, "web")
	gone(t, ctx, direct, &corev1.ConfigMapList{}, "web-mirror")
}

func awaitElected(t *testing.T, ctx context.Context, m ctrl.Manager) {
	t.Helper()
	select {
	case <-m.Elected():
	case <-ctx.Done():
		t.Fatal("the manager was not elected")
	}
	if !m.GetCache().WaitForCacheSync(ctx) {
		t.Fatal("the cache did not sync")
	}
}

// gone waits until a list lacks an object.
func gone(t *testing.T, ctx context.Context, c client.WithWatch, list client.ObjectList, name string) {
	t.Helper()
	has := func() bool {
		if err := c.List(ctx, list, client.InNamespace("default"), client.MatchingFields{"metadata.name": name}); err != nil {
			t.Fatal(err)
		}
		return meta.LenList(list) > 0
	}
	if !has() {
		return
	}
	w, err := c.Watch(ctx, list, client.InNamespace("default"), client.MatchingFields{"metadata.name": name}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Deleted {
			return
		}
	}
	t.Fatalf("%s is still there", name)
}
