package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// injector is a typical pair of webhooks: it puts a container next to those of
// deployments, and refuses large ones and the end of those that are kept.
type injector struct{}

func (injector) Default(ctx context.Context, o runtime.Object) error {
	d := o.(*appsv1.Deployment)
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, "suite.example.com/by", request.UserInfo.Username)
	pod := &d.Spec.Template.Spec
	for _, c := range pod.Containers {
		if c.Name == "injected" {
			return nil
		}
	}
	pod.Containers = append(pod.Containers, corev1.Container{Name: "injected", Image: "example.com/proxy:1"})
	return nil
}

func (injector) check(o runtime.Object) (admission.Warnings, error) {
	switch d := o.(*appsv1.Deployment); {
	case *d.Spec.Replicas > 5:
		return nil, apierrors.NewInvalid(runtimeschema.GroupKind{Group: "apps", Kind: "Deployment"}, d.Name, field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), *d.Spec.Replicas, "at most 5")})
	case *d.Spec.Replicas == 0:
		return admission.Warnings{"nothing will run"}, nil
	}
	return nil, nil
}

func (i injector) ValidateCreate(_ context.Context, o runtime.Object) (admission.Warnings, error) {
	return i.check(o)
}

func (i injector) ValidateUpdate(_ context.Context, old, o runtime.Object) (admission.Warnings, error) {
	if old.(*appsv1.Deployment).Labels["app"] != o.(*appsv1.Deployment).Labels["app"] {
		return nil, errors.New("the label app cannot change")
	}
	return i.check(o)
}

func (injector) ValidateDelete(_ context.Context, o runtime.Object) (admission.Warnings, error) {
	if o.(*appsv1.Deployment).Labels["keep"] != "" {
		return nil, errors.New("this one is kept")
	}
	return nil, nil
}

// reviews is the configuration of a webhook of the suite, as its users generate it.
func reviews(path string, operations ...admissionv1.OperationType) (admissionv1.WebhookClientConfig, []admissionv1.RuleWithOperations) {
	return admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default", Name: "webhook", Path: &path}},
		[]admissionv1.RuleWithOperations{{Operations: operations, Rule: admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}}}}
}

// The webhook server of controller-runtime reviews writes, and kubectl sees its effect in
// dry runs on the server, which leave nothing.
func TestControllerWebhooks(t *testing.T) {
	t.Parallel()
	ctx, capstan := testContext(t), serve(t, "")
	mutate := admissionv1.MutatingWebhook{Name: "mutate.suite.example.com", SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}
	mutate.ClientConfig, mutate.Rules = reviews("/mutate-apps-v1-deployment", admissionv1.Create, admissionv1.Update)
	validate := admissionv1.ValidatingWebhook{Name: "validate.suite.example.com", SideEffects: ptr.To(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"}}
	validate.ClientConfig, validate.Rules = reviews("/validate-apps-v1-deployment", admissionv1.Create, admissionv1.Update, admissionv1.Delete)
	environment := &envtest.Environment{UseExistingCluster: ptr.To(true), Config: capstan.config(t), WebhookInstallOptions: envtest.WebhookInstallOptions{
		MutatingWebhooks:   []*admissionv1.MutatingWebhookConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "suite"}, Webhooks: []admissionv1.MutatingWebhook{mutate}}},
		ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "suite"}, Webhooks: []admissionv1.ValidatingWebhook{validate}}}}}
	config, err := environment.Start()
	if err != nil {
		t.Fatal(err)
	}
	at := environment.WebhookInstallOptions
	hooks := webhook.NewServer(webhook.Options{Host: at.LocalServingHost, Port: at.LocalServingPort, CertDir: at.LocalServingCertDir})
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(), WebhookServer: hooks})
	if err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewWebhookManagedBy(manager).For(&appsv1.Deployment{}).WithDefaulter(injector{}).WithValidator(injector{}).Complete(); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for hooks.StartedChecker()(nil) != nil {
		if ctx.Err() != nil {
			t.Fatal("the webhook server does not start")
		}
	}

	made := deployment("web", 2)
	if err := c.Create(ctx, made); err != nil {
		t.Fatal(err)
	}
	if n := len(made.Spec.Template.Spec.Containers); n != 2 || made.Annotations["suite.example.com/by"] != "kubernetes-admin" {
		t.Errorf("%d containers, annotations %v", n, made.Annotations)
	}
	made.Spec.Replicas = ptr.To[int32](6)
	if err := c.Update(ctx, made); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `admission webhook "validate.suite.example.com" denied the request: Deployment.apps "web" is invalid: spec.replicas: Invalid value: 6: at most 5`) ||
		err.(apierrors.APIStatus).Status().Details.Causes[0].Field != "spec.replicas" {
		t.Errorf("an update beyond the bound: %v", err)
	}
	capstan.dryRuns(t)
	if err := c.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace("default")); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := environment.Stop(); err != nil {
		t.Error(err)
	}
}

// dryRuns has kubectl send dry runs about the deployment web and another one.
func (i *instance) dryRuns(t *testing.T) {
	t.Helper()
	manifest := filepath.Join(t.TempDir(), "other.yaml")
	err := os.WriteFile(manifest, []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: other, labels: {app: other}}
spec:
  replicas: 0
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec: {containers: [{name: main, image: "example.com/main:1"}]}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		fine bool
		want []string
	}{
		{"create --dry-run=server -o yaml -f " + manifest, true, []string{"image: example.com/proxy:1", "Warning: nothing will run"}},
		{"apply --dry-run=server -f " + manifest, true, []string{"deployment.apps/other created (server dry run)", "Warning: nothing will run"}},
		{"apply --server-side --dry-run=server -o yaml -f " + manifest, true, []string{"image: example.com/proxy:1", "replicas: 0"}},
		{"diff -f " + manifest, false, []string{"+        name: injected"}},
		{"get deployment other", false, []string{`deployments.apps "other" not found`}},
		{"label deployment web --overwrite app=else --dry-run=server", false, []string{"denied the request: the label app cannot change"}},
		{"patch deployment web --dry-run=server -p " + `{"spec":{"replicas":7}}`, false, []string{`The Deployment "web" is invalid: spec.replicas: Invalid value: 7: at most 5`}},
		{"patch deployment web -p " + `{"metadata":{"labels":{"keep":"x"}}}`, true, nil},
		{"delete deployment web --dry-run=server", false, []string{`admission webhook "validate.suite.example.com" denied the request: this one is kept`}},
		{"patch deployment web -p " + `{"metadata":{"labels":{"keep":null}}}`, true, nil},
		{"delete deployment web --dry-run=server", true, []string{`deployment.apps "web" deleted`}},
		{"get deployment web -o jsonpath={.spec.replicas}", true, []string{"2"}},
	} {
		cmd := exec.Command(binaries.kubectl, strings.Fields(c.args)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+i.kubeconfig, "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if (err == nil) != c.fine {
			t.Errorf("kubectl %s: %v", c.args, err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("kubectl %s: %s\nwant %s", c.args, fmt.Sprintf("%.2000s", out), want)
			}
		}
	}
}
