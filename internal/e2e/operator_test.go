package e2e

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// cert-manager runs unmodified, built from its module: its controller issues a certificate of
// a self-signed issuer into a secret, and again when the secret is lost; its webhooks, for
// which its injector provides the authority, review its objects.
func TestOperator(t *testing.T) {
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("builds cert-manager: make stress")
	}
	from := download(t, "github.com/cert-manager/cert-manager@v1.11.5", "h1:K2LurvwIE4hIhODQZnkOW6ljYe3lVMAliS/to+gI05o=")
	sources, programs := filepath.Join(t.TempDir(), "sources"), t.TempDir()+"/"
	if err := os.CopyFS(sources, os.DirFS(from)); err != nil { // go build wants a writable folder
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", programs, "./cmd/controller", "./cmd/webhook", "./cmd/cainjector") // minutes without a cache
	build.Dir, build.Env = sources, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building cert-manager: %v\n%s", err, out)
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

	run := func(program string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, programs+program, append(args, "--kubeconfig", capstan.kubeconfig)...)
		var log lockedBuffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			if t.Failed() {
				t.Log(program, log.String())
			}
		})
	}
	port := freePort(t)
	run("webhook", "--secure-port", port, "--healthz-port", freePort(t), "--dynamic-serving-ca-secret-namespace=cert-manager", "--dynamic-serving-ca-secret-name=cert-manager-webhook-ca", "--dynamic-serving-dns-names=localhost")
	run("cainjector", "--leader-elect=false")
	m.reviewedAt(ctx, "https://localhost:"+port)
	run("controller", "--leader-elect=false", "--cluster-resource-namespace=cert-manager", "--metrics-listen-address=127.0.0.1:0")
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
	m.reviewed(ctx)
	first := awaitObject(ctx, t, secrets, "web-tls", issued)
	if err := secrets.Delete(ctx, "web-tls", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitObject(ctx, t, secrets, "web-tls", func(o *unstructured.Unstructured) bool { return o.GetUID() != first.GetUID() && issued(o) })
	if out := m.kubectl("get", "certificates,certificaterequests,issuers"); !strings.Contains(out, "web-tls") {
		t.Errorf("the table of certificates: %s", out)
	}
}

// freePort is a port that nobody listens on, for a program that does not choose its own.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// reviewedAt configures the webhooks of cert-manager as its chart does, and waits until the
// injector has filled in their authority and they answer.
func (m *publisher) reviewedAt(ctx context.Context, url string) {
	m.Helper()
	for kind, path := range map[string]string{"Mutating": "/mutate", "Validating": "/validate"} {
		hooks := m.client.Resource(admissionv1.SchemeGroupVersion.WithResource(strings.ToLower(kind) + "webhookconfigurations"))
		hook := map[string]any{"name": "webhook.cert-manager.io", "clientConfig": map[string]any{"url": url + path}, "admissionReviewVersions": []any{"v1"}, "matchPolicy": "Equivalent", "sideEffects": "None",
			"rules": []any{map[string]any{"apiGroups": []any{"cert-manager.io", "acme.cert-manager.io"}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"*/*"}}}}
		made := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration", "webhooks": []any{hook}}}
		made.SetName("cert-manager-webhook")
		made.SetAnnotations(map[string]string{"cert-manager.io/inject-ca-from-secret": "cert-manager/cert-manager-webhook-ca"})
		if _, err := hooks.Create(ctx, made, metav1.CreateOptions{}); err != nil {
			m.Fatal(err)
		}
		awaitObject(ctx, m.T, hooks, "cert-manager-webhook", func(o *unstructured.Unstructured) bool {
			list, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
			bundle, _, _ := unstructured.NestedString(list[0].(map[string]any), "clientConfig", "caBundle")
			return bundle != ""
		})
	}
	issuers := m.client.Resource(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "issuers"}).Namespace("default")
	probe := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": "Issuer", "metadata": map[string]any{"name": "probe"}, "spec": map[string]any{"selfSigned": map[string]any{}}}}
	for {
		_, err := issuers.Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			return
		case ctx.Err() != nil || !apierrors.IsInternalError(err):
			m.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // polling a program that starts
	}
}

// reviewed checks the effect of the webhooks: on requests of the controller, and on dry runs.
func (m *publisher) reviewed(ctx context.Context) {
	m.Helper()
	requests, err := m.client.Resource(schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificaterequests"}).Namespace("default").List(ctx, metav1.ListOptions{})
	if err != nil || len(requests.Items) == 0 {
		m.Fatalf("%d requests, %v", len(requests.Items), err)
	}
	if by, _, _ := unstructured.NestedString(requests.Items[0].Object, "spec", "username"); by != "kubernetes-admin" {
		m.Errorf("the webhook noted %q as the author of a request", by)
	}
	manifest := filepath.Join(m.TempDir(), "wrong.yaml")
	if err := os.WriteFile(manifest, []byte("apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: wrong}\nspec: {secretName: x, issuerRef: {name: web}}\n"), 0o600); err != nil {
		m.Fatal(err)
	}
	for _, args := range [][]string{{"create"}, {"apply", "--dry-run=server"}, {"apply", "--server-side", "--dry-run=server"}} {
		cmd := exec.Command(binaries.kubectl, append(args, "-f", manifest)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+m.server.kubeconfig, "HOME="+m.TempDir())
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), `admission webhook "webhook.cert-manager.io" denied the request: spec: Invalid value: "": at least one of commonName, dnsNames`) {
			m.Errorf("kubectl %v: %v %s", args, err, out)
		}
	}
	m.kubectl("patch", "certificate", "web", "--dry-run=server", "--type=merge", "-p", `{"spec":{"dnsNames":["other.example.com"]}}`)
	if out := m.kubectl("get", "certificate", "web", "-o", "jsonpath={.spec.dnsNames}"); out != `["web.example.com"]` {
		m.Errorf("a dry run has changed the certificate: %s", out)
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

// TestEnvtestStartsServer lets envtest start the server itself, in place of kube-apiserver and etcd, add a user by its
// own authority, and stop the server.
func TestEnvtestStartsServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), binaries.capstan, "envtest", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for range 2 { // of two environments neither knows the other's objects
		environment := &envtest.Environment{BinaryAssetsDirectory: dir}
		config, err := environment.Start()
		if err != nil {
			t.Fatal(err)
		}
		c, err := client.New(config, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: "default"}}); err != nil {
			t.Error(err)
		}
		user, err := environment.AddUser(envtest.User{Name: "anna"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c, err = client.New(user.Config(), client.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := c.List(t.Context(), &corev1.ConfigMapList{}); !apierrors.IsForbidden(err) {
			t.Errorf("a user without rights: %v", err)
		}
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// A suite as controller-runtime's users write them runs against the server: envtest
// installs a definition, and a reconciler keeps the status of its objects.
func TestControllerSuite(t *testing.T) {
	t.Parallel()
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
