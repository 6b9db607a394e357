package admission_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// The labels of a namespace decide which pods it accepts, and of which it warns.
func TestPodSecurity(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.AdmissionControlConfigFile = harness.AdmissionFile(t, `- name: PodSecurity
  configuration: {apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration, defaults: {warn: baseline}, exemptions: {namespaces: [free], runtimeClasses: [vm]}}
`)
	})
	const prefix = "pod-security.kubernetes.io/"
	namespace := func(name, labels string) string {
		return `{"metadata":{"name":"` + name + `","labels":{` + strings.ReplaceAll(labels, "~", prefix) + `}}}`
	}
	pod := func(name, more string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"containers":[{"name":"c","image":"i"}]` + more + `}}`
	}
	template := func(more string) string {
		return `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]` + more + `}}}}`
	}
	const spaces, host, image = "/api/v1/namespaces", `,"hostPID":true`, `{"spec":{"containers":[{"name":"c","image":"j"}]}}`
	const broken, would = "host namespaces (hostPID=true)", `299 - "would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)"`
	const smp = "application/strategic-merge-patch+json"
	for _, c := range []struct {
		method, path, media, body string
		code                      int
		want                      string // part of the body
		warnings                  string
	}{
		{"POST", spaces, "", namespace("x", `"~enforce":"strict","~warn-version":"1"`), 422, prefix + `enforce]: Invalid value: \"strict\": must be one of privileged, baseline, restricted`, ""},
		{"POST", spaces, "", namespace("base", `"~enforce":"baseline"`), 201, "", ""},
		{"POST", spaces, "", namespace("free", `"~enforce":"baseline"`), 201, "", `299 - "namespace \"free\" is exempt from Pod Security, and the policy (enforce=baseline:latest, warn=baseline:latest) will be ignored"`},
		{"POST", spaces, "", namespace("open", ""), 201, "", ""},
		{"POST", spaces + "/base/pods", "", pod("a", host), 403, `pods \"a\" is forbidden: violates PodSecurity \"baseline:latest\": ` + broken, ""},
		{"POST", spaces + "/base/pods", "", strings.Replace(pod("a", host), `"name":"a"`, `"generateName":"a-"`, 1), 403, `pods \"a-`, ""},
		{"POST", spaces + "/base/pods", "", pod("a", ""), 201, "", ""},
		{"POST", "/apis/apps/v1/namespaces/base/deployments", "", template(host), 201, "", would},
		{"POST", spaces + "/free/pods", "", pod("a", host), 201, "", ""},
		{"POST", spaces + "/open/pods", "", pod("a", host), 201, "", would},
		{"POST", spaces + "/open/pods", "", pod("b", host), 201, "", would},
		{"POST", spaces + "/open/pods", "", pod("c", ""), 201, "", ""},
		{"PATCH", spaces + "/open/pods/a", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 200, "", ""},
		{"PATCH", spaces + "/open/pods/a", smp, image, 200, "", would},
		{"PATCH", spaces + "/open", harness.MergePatchMedia, namespace("open", `"~enforce":"baseline"`), 200, "", `299 - "existing pods in namespace \"open\" violate the new PodSecurity enforce level \"baseline:latest\""|299 - "a (and 1 other pod): host namespaces"`},
		{"PATCH", spaces + "/open/pods/a", smp, strings.Replace(image, "j", "k", 1), 403, broken, ""},
		{"PATCH", spaces + "/open/pods/c/ephemeralcontainers", smp, `{"spec":{"ephemeralContainers":[{"name":"e","image":"i","securityContext":{"privileged":true}}]}}`, 403, `privileged (container \"e\"`, ""},
		{"PATCH", spaces + "/open", harness.MergePatchMedia, namespace("open", `"~audit":"x"`), 422, "audit]: Invalid value", ""},
		{"DELETE", spaces + "/open/pods/a?gracePeriodSeconds=0", "", "", 200, "", ""},
	} {
		if c.media == "" {
			c.media = "application/json"
		}
		got := h.Send(c.method, c.path, c.media, []byte(c.body))
		if w := strings.Join(got.Header.Values("Warning"), "|"); got.Code != c.code || !strings.Contains(string(got.Body), c.want) || w != c.warnings {
			t.Errorf("%s %s %s: %d %q %.300s, want %d %q %q", c.method, c.path, c.body, got.Code, w, got.Body, c.code, c.warnings, c.want)
		}
	}
	figures := string(h.Send("GET", "/metrics", "", nil).Body)
	for _, want := range []string{
		`pod_security_evaluations_total{decision="deny",mode="enforce",policy_level="baseline",policy_version="latest",request_operation="create",resource="pod",subresource=""} 2`,
		`pod_security_evaluations_total{decision="deny",mode="warn",policy_level="baseline",policy_version="latest",request_operation="create",resource="controller",subresource=""} 1`,
		`pod_security_exemptions_total{request_operation="create",resource="pod",subresource=""} 1`,
	} {
		if !strings.Contains(figures, want) {
			t.Errorf("no %s", want)
		}
	}
}

// The start is refused with the line of a mistake.
func TestWrongAdmissionFile(t *testing.T) {
	path := harness.AdmissionFile(t, "- name: PodSecurity\n  configuration: {}\n")
	s, err := server.Start(t.Context(), server.Config{InMemory: true, Admission: server.Admission{AdmissionControlConfigFile: path}})
	if err == nil {
		_ = s.Shutdown(t.Context())
	}
	if want := fmt.Sprintf("%s:5: kind", path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// Webhooks get the credentials that a client configuration has for their servers.
func TestCredentialsForWebhooks(t *testing.T) {
	v := harness.NewReviewer(t, nil)
	headers := make(chan string, 9)
	review := v.Config.Handler
	v.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header.Get("Authorization")
		review.ServeHTTP(w, r)
	})
	logins := filepath.Join(t.TempDir(), "hooks")
	if err := os.WriteFile(logins, []byte("users: [{name: '"+v.Listener.Addr().String()+"', user: {token: secret}}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := harness.Start(t, func(c *server.Config) {
		c.AdmissionControlConfigFile = harness.AdmissionFile(t, "- name: ValidatingAdmissionWebhook\n  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: "+logins+"}\n")
	})
	h.ValidateBy(v, "all", harness.ReviewRule(`"*"`, "", "v1", "configmaps"), "")
	h.Run(t, []harness.Step{{"reviewed", "POST", harness.ConfigMaps, "", harness.ConfigMap("a", `{}`), 201, ""}})
	if got := <-headers; got != "Bearer secret" {
		t.Errorf("the webhook got %q", got)
	}
}
