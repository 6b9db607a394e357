package e2e

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// awaitObject watches a collection until an object is as wanted, and returns it.
func awaitObject(ctx context.Context, t *testing.T, all dynamic.ResourceInterface, name string, wanted func(o *unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	list, err := all.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].GetName() == name && wanted(&list.Items[i]) {
			return &list.Items[i]
		}
	}
	w, err := all.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if o, ok := event.Object.(*unstructured.Unstructured); ok && o.GetName() == name && wanted(o) {
			return o
		}
	}
	t.Fatalf("%s is not as wanted before the test ends", name)
	return nil
}

// ready reports whether an object has the condition Ready.
func ready(o *unstructured.Unstructured) bool {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && c["type"] == "Ready" && c["status"] == "True" {
			return true
		}
	}
	return false
}

// cert-manager's controller runs unmodified, built from its module: it issues a
// certificate of a self-signed issuer into a secret, and again when the secret is lost.
func TestOperator(t *testing.T) {
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("builds cert-manager: make stress")
	}
	from := download(t, "github.com/cert-manager/cert-manager@v1.11.5", "h1:K2LurvwIE4hIhODQZnkOW6ljYe3lVMAliS/to+gI05o=")
	sources, controller := filepath.Join(t.TempDir(), "sources"), filepath.Join(t.TempDir(), "controller")
	if err := os.CopyFS(sources, os.DirFS(from)); err != nil { // go build wants a writable folder
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-mod=mod", "-o", controller, "./cmd/controller") // minutes without a cache
	build.Dir, build.Env = sources, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the controller: %v\n%s", err, out)
	}
	ctx, capstan := testContext(t), serve(t, "")
	m := &publisher{T: t, dir: filepath.Join(sources, "deploy", "crds"), server: capstan, kinds: map[schema.GroupVersionKind]*unstructured.Unstructured{}}
	var err error
	if m.client, err = dynamic.NewForConfig(capstan.config(t)); err != nil {
		t.Fatal(err)
	}
	m.read("")
	m.define(ctx)
	m.kubectl("create", "namespace", "cert-manager")

	operator := exec.CommandContext(ctx, controller, "--kubeconfig", capstan.kubeconfig, "--leader-elect=false", "--cluster-resource-namespace=cert-manager", "--metrics-listen-address=127.0.0.1:0")
	var log lockedBuffer
	operator.Stderr = &log
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = operator.Process.Kill()
		_ = operator.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	}()
	certificates := m.client.Resource(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"}).Namespace("default")
	issuers := m.client.Resource(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "issuers"}).Namespace("default")
	secrets := m.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}).Namespace("default")
	for _, o := range []struct {
		into dynamic.ResourceInterface
		kind string
		spec map[string]any
	}{{issuers, "Issuer", map[string]any{"selfSigned": map[string]any{}}},
		{certificates, "Certificate", map[string]any{"secretName": "web-tls", "dnsNames": []any{"web.example.com"}, "issuerRef": map[string]any{"name": "web"}}}} {
		made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": o.kind, "metadata": map[string]any{"name": "web"}, "spec": o.spec}}
		if _, err := o.into.Create(ctx, made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	awaitObject(ctx, t, certificates, "web", ready)
	first := awaitObject(ctx, t, secrets, "web-tls", issued)
	if err := secrets.Delete(ctx, "web-tls", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitObject(ctx, t, secrets, "web-tls", func(o *unstructured.Unstructured) bool { return o.GetUID() != first.GetUID() && issued(o) })
	if out := m.kubectl("get", "certificates,certificaterequests,issuers"); !strings.Contains(out, "web-tls") {
		t.Errorf("the table of certificates: %s", out)
	}
}

// issued reports whether a secret holds a certificate for the name that was asked for.
func issued(o *unstructured.Unstructured) bool {
	text, _, _ := unstructured.NestedString(o.Object, "data", "tls.crt")
	raw, err := base64.StdEncoding.DecodeString(text)
	block, _ := pem.Decode(raw)
	if err != nil || block == nil {
		return false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	return err == nil && certificate.VerifyHostname("web.example.com") == nil
}

// A suite as controller-runtime's users write them runs against the server: envtest
// installs a definition, and a reconciler keeps the status of its objects.
func TestControllerSuite(t *testing.T) {
	ctx, capstan := testContext(t), serve(t, "")
	object := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "gardens.suite.example.com"}, Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: "suite.example.com", Scope: apiextensionsv1.NamespaceScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gardens", Kind: "Garden"},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": object, "status": object}}}}}}}
	environment := &envtest.Environment{UseExistingCluster: ptr.To(true), Config: capstan.config(t),
		CRDInstallOptions: envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}, CleanUpAfterUse: true}}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	garden := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "suite.example.com/v1", "kind": "Garden"}}
	if err := ctrl.NewControllerManagedBy(manager).For(garden).Complete(&gardener{manager.GetClient()}); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()

	rose := garden.DeepCopy()
	rose.SetName("rose")
	rose.SetNamespace("default")
	_ = unstructured.SetNestedField(rose.Object, "red", "spec", "colour")
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(ctx, rose); err != nil {
		t.Fatal(err)
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	gardens := all.Resource(schema.GroupVersionResource{Group: "suite.example.com", Version: "v1", Resource: "gardens"}).Namespace("default")
	shows := func(colour string) func(o *unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool {
			got, _, _ := unstructured.NestedString(o.Object, "status", "colour")
			return got == colour
		}
	}
	now := awaitObject(ctx, t, gardens, "rose", shows("red"))
	_ = unstructured.SetNestedField(now.Object, "white", "spec", "colour")
	if err := c.Update(ctx, now); err != nil {
		t.Fatal(err)
	}
	awaitObject(ctx, t, gardens, "rose", shows("white"))
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := environment.Stop(); err != nil {
		t.Error(err)
	}
}

// gardener copies the colour of a garden into its status.
type gardener struct{ client.Client }

func (g *gardener) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	garden := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "suite.example.com/v1", "kind": "Garden"}}
	if err := g.Get(ctx, req.NamespacedName, garden); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	colour, _, _ := unstructured.NestedString(garden.Object, "spec", "colour")
	before := garden.DeepCopy()
	_ = unstructured.SetNestedField(garden.Object, colour, "status", "colour")
	return ctrl.Result{}, g.Status().Patch(ctx, garden, client.MergeFrom(before))
}
