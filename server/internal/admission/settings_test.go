package admission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/admission"
)

const settingsHead = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"

// readSettings reads a configuration whose plug-ins begin in line 4.
func readSettings(t *testing.T, plugins string, files map[string]string) (admission.Settings, error) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, text := range files {
		write(name, strings.ReplaceAll(text, "DIR", dir))
	}
	return admission.ReadSettings(write("all", settingsHead+strings.ReplaceAll(plugins, "DIR", dir)))
}

const podSecurityKind = "apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration"

func TestReadSettings(t *testing.T) {
	s, err := readSettings(t, `- {name: PodSecurity, path: pods}
- name: MutatingAdmissionWebhook
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: /etc/hooks}
- {name: Priority, configuration: {any: thing}}
- name: ResourceQuota
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: ResourceQuotaConfiguration, limitedResources: [{resource: pods, matchContains: [cpu], matchScopes: [{scopeName: PriorityClass, operator: In, values: [high]}]}]}
`, map[string]string{"pods": "{" + podSecurityKind + ", defaults: {enforce: baseline, warn: restricted, warn-version: v1.24}, exemptions: {namespaces: [kube-system], usernames: [a, b]}}"})
	if err != nil || s.MutatingKubeconfig != "/etc/hooks" || s.PodSecurity.Defaults.String() != "enforce=baseline:latest, warn=restricted:v1.24" || len(s.PodSecurity.Usernames) != 2 || fmt.Sprint(s.LimitedResources) != "[{ pods [cpu] [{PriorityClass In [high]}]}]" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := readSettings(t, "- {name: ImagePolicyWebhook, configuration: {imagePolicy: {kubeConfigFile: x, allowTTL: -1, retryBackoff: 20}}}\n", nil); err != nil || s.ImagePolicy != (admission.ImagePolicy{Kubeconfig: "x", Denied: 30 * time.Second, Retry: 20 * time.Millisecond}) {
		t.Errorf("%+v, %v", s.ImagePolicy, err)
	}
	old, err := readSettings(t, "- {name: ValidatingAdmissionWebhook, path: old}\n- {name: ResourceQuota, configuration: {apiVersion: resourcequota.admission.k8s.io/v1beta1, kind: Configuration}}\n",
		map[string]string{"old": "apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: WebhookAdmission\nkubeConfigFile: /etc/hooks\n"})
	if err != nil || old.ValidatingKubeconfig != "/etc/hooks" || len(old.OldForms) != 2 || len(s.OldForms) != 0 ||
		!strings.HasSuffix(old.OldForms[0].Error(), "old:1: this form is deprecated; write kind: WebhookAdmissionConfiguration and apiVersion: apiserver.config.k8s.io/v1") ||
		!strings.HasSuffix(old.OldForms[1].Error(), "all:5: this form is deprecated; write kind: ResourceQuotaConfiguration and apiVersion: apiserver.config.k8s.io/v1") {
		t.Errorf("%v, %v", old.OldForms, err)
	}
	pods := func(more string) string {
		return "- name: PodSecurity\n  configuration: {" + podSecurityKind + ", " + more + "}\n"
	}
	for _, c := range []struct{ want, plugins string }{
		{`all:4: there is no admission plug-in "PodSecurty"`, "- name: PodSecurty\n"},
		{`all:5: Priority is configured above already`, "- name: Priority\n- name: Priority\n"},
		{`all:5: unknown field "config"`, "- name: Priority\n  config: {}\n"},
		{`all:4: open `, "- {name: PodSecurity, path: gone}\n"},
		{`all:4: kind "" of "" is not what belongs here: write kind: PodSecurityConfiguration`, "- {name: PodSecurity, configuration: {defaults: {}}}\n"},
		{`all:5: defaults.enforce: "strict" must be one of privileged, baseline, restricted`, pods("defaults: {enforce: strict}")},
		{`all:5: defaults.audit-version: "1.2" must be "latest" or "v1.x"`, pods("defaults: {audit-version: '1.2'}")},
		{`all:5: unknown field "exempt"`, pods("exempt: {}")},
		{`all:5: exemptions.namespaces: "A" is not a valid name`, pods("exemptions: {namespaces: [A]}")},
		{`all:5: exemptions.usernames: "" is not a valid name`, pods("exemptions: {usernames: ['']}")},
		{`all:5: exemptions.runtimeClasses: "a" is there twice`, pods("exemptions: {runtimeClasses: [a, b, a]}")},
		{`all:4: invalid selector: [a]`, "- {name: PodNodeSelector, configuration: {podNodeSelectorPluginConfig: {shop: a}}}\n"},
		{`all:5: tolerationSeconds: only with the effect NoExecute`, "- name: PodTolerationRestriction\n  configuration: {apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, default: [{key: a, value: b, tolerationSeconds: 5}]}\n"},
		{`all:4: limitedResources[0].resource: Required value`, "- {name: ResourceQuota, configuration: {apiVersion: resourcequota.admission.k8s.io/v1beta1, kind: Configuration, limitedResources: [{apiGroup: apps}]}}\n"},
		{`all:4: limits: must not be empty`, "- {name: EventRateLimit, configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration}}\n"},
		{`all:5: type: "All" is not Server, Namespace, User or SourceAndObject`, "- name: EventRateLimit\n  configuration: {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: All, qps: 1, burst: 1}]}\n"},
		{`all:7: qps: -1: must be positive`, "- name: EventRateLimit\n  configuration:\n    {apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration, limits: [{type: User,\n    qps: -1, burst: 1}]}\n"},
		{`all:5: kubeConfigFile: name the client`, "- name: ImagePolicyWebhook\n  configuration: {imagePolicy: {allowTTL: 5}}\n"},
		{`all:5: denyTTL: valid value is between 1s and 30m0s, got 1801`, "- name: ImagePolicyWebhook\n  configuration: {imagePolicy: {kubeConfigFile: x, denyTTL: 1801}}\n"},
		{`all:4: "hooks" is not an absolute path`, "- {name: ValidatingAdmissionWebhook, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: hooks}}\n"},
	} {
		if _, err := readSettings(t, c.plugins, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.plugins, err, c.want)
		}
	}
}
