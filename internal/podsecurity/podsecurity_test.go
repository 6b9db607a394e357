package podsecurity

import (
	"maps"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

const free = `"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}`

func read(t testing.TB, annotations, spec string) (metadata, is document.Value) {
	t.Helper()
	doc, err := document.DecodeAny([]byte(`{"metadata":{"annotations":{`+annotations+`}},"spec":{`+spec+`}}`), document.Limits{})
	if err != nil {
		t.Fatal(err, spec)
	}
	return doc.Root().Get("metadata"), doc.Root().Get("spec")
}

// Every rule is broken once, in the words of 1.25, and does not count before its version.
func TestEvaluate(t *testing.T) {
	contained := func(context string) string { return `"containers":[{"name":"c","securityContext":{` + context + `}}]` }
	for _, c := range []struct{ rules, annotations, spec, want string }{
		{"privileged:latest", "", `"hostPID":true`, ""},
		{"restricted:latest", "", `"containers":[{"name":"c",` + free + `}]`, ""},
		{"restricted:latest", "", `"containers":[{"name":"c"}]`, `allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ` +
			`unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ` +
			`seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`},
		{"restricted:v1.7", "", `"containers":[{"name":"c"}]`, `runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)`},
		{"restricted:v1.24", "", `"os":{"name":"windows"},` + contained(`"runAsNonRoot":true`), `allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ` +
			`unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`},
		{"restricted:v1.99", "", `"os":{"name":"windows"},` + contained(`"runAsNonRoot":true`), ""},
		{"restricted:v1.5", "", `"securityContext":{"runAsNonRoot":true},"volumes":[{"name":"v","hostPath":{}},{"name":"w","nfs":{}},{"name":"x","emptyDir":{}}]`,
			`restricted volume types (volumes "v", "w" use restricted volume types "hostPath", "nfs")`},
		{"restricted:v1.23", "", `"securityContext":{"runAsUser":0,"runAsNonRoot":true,"seccompProfile":{"type":"Localhost"}}`, `runAsUser=0 (pod must not set runAsUser=0)`},
		{"restricted:v1.22", "", `"securityContext":{"runAsUser":0,"runAsNonRoot":false}`, `runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)`},
		{"restricted:v1.25", "", `"securityContext":{"seccompProfile":{"type":"Unconfined"}},` + contained(`"allowPrivilegeEscalation":true,"runAsNonRoot":true,"capabilities":{"drop":["ALL"],"add":["KILL"]}`),
			`allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ` +
				`unrestricted capabilities (container "c" must not include "KILL" in securityContext.capabilities.add), seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")`},
		{"baseline:latest", `"container.apparmor.security.beta.kubernetes.io/c":"unconfined"`, "", `forbidden AppArmor profile (container.apparmor.security.beta.kubernetes.io/c="unconfined")`},
		{"baseline:latest", `"container.apparmor.security.beta.kubernetes.io/c":"x","container.apparmor.security.beta.kubernetes.io/b":"y"`, "",
			`forbidden AppArmor profiles (container.apparmor.security.beta.kubernetes.io/b="y", container.apparmor.security.beta.kubernetes.io/c="x")`},
		{"baseline:latest", "", contained(`"capabilities":{"add":["SYS_TIME","CHOWN","BPF"]}`), `non-default capabilities (container "c" must not include "BPF", "SYS_TIME" in securityContext.capabilities.add)`},
		{"baseline:latest", "", `"hostNetwork":true,"hostPID":true,"hostIPC":true`, "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"},
		{"baseline:latest", "", `"volumes":[{"name":"v","hostPath":{}}]`, `hostPath volumes (volume "v")`},
		{"baseline:latest", "", `"containers":[{"name":"c","ports":[{"hostPort":80},{"hostPort":9}]}]`, `hostPort (container "c" uses hostPorts 80, 9)`},
		{"baseline:latest", "", `"initContainers":[{"name":"i","securityContext":{"privileged":true}}],"ephemeralContainers":[{"name":"e","securityContext":{"privileged":true}}]`,
			`privileged (containers "i", "e" must not set securityContext.privileged=true)`},
		{"baseline:latest", "", contained(`"procMount":"Unmasked"`), `procMount (container "c" must not set securityContext.procMount to "Unmasked")`},
		{"baseline:latest", "", `"securityContext":{"seLinuxOptions":{"user":"u"}},` + contained(`"seLinuxOptions":{"type":"spc_t","role":"r"}`),
			`seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)`},
		{"baseline:v1.18", `"seccomp.security.alpha.kubernetes.io/pod":"unconfined"`, contained(`"seccompProfile":{"type":"Unconfined"}`),
			`seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")`},
		{"baseline:v1.19", `"seccomp.security.alpha.kubernetes.io/pod":"unconfined"`, contained(`"seccompProfile":{"type":"Unconfined"}`),
			`seccompProfile (container "c" must not set securityContext.seccompProfile.type to "Unconfined")`},
		{"baseline:latest", "", `"securityContext":{"sysctls":[{"name":"kernel.shm_rmid_forced"},{"name":"b"},{"name":"a"}]}`, "forbidden sysctls (b, a)"},
		{"baseline:latest", "", `"securityContext":{"windowsOptions":{"hostProcess":true}}`, "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)"},
	} {
		level, version, _ := strings.Cut(c.rules, ":")
		rules := Rules{}
		var wrong, old error
		rules.Level, wrong = ParseLevel(level)
		if rules.Version, old = ParseVersion(version); wrong != nil || old != nil || rules.String() != c.rules {
			t.Fatal(c.rules, rules, wrong, old)
		}
		metadata, spec := read(t, c.annotations, c.spec)
		if got := Evaluate(rules, metadata, spec).String(); got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.rules, c.spec, got, c.want)
		}
	}
}

func TestPolicyOfLabels(t *testing.T) {
	defaults := Policy{Warn: Rules{Baseline, newest}}
	for _, c := range []struct {
		labels         map[string]string
		want, mistakes string
	}{
		{nil, "warn=baseline:v1.25", ""},
		{map[string]string{"other": "x", "pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "v1.3", "pod-security.kubernetes.io/warn": "privileged"}, "enforce=restricted:v1.3", ""},
		{map[string]string{"pod-security.kubernetes.io/enforce": "x", "pod-security.kubernetes.io/audit": "y", "pod-security.kubernetes.io/warn": "", "pod-security.kubernetes.io/warn-version": "v1.03"}, "enforce=restricted:latest",
			`enforce Invalid value: "x": must be one of privileged, baseline, restricted; audit Invalid value: "y": must be one of privileged, baseline, restricted; ` +
				`warn Invalid value: "": must be one of privileged, baseline, restricted; warn-version Invalid value: "v1.03": must be "latest" or "v1.x"`},
	} {
		policy, mistakes := Of(maps.All(c.labels), defaults)
		var texts []string
		for _, m := range mistakes {
			texts = append(texts, strings.TrimPrefix(m.Label, LabelPrefix)+" "+m.Message())
		}
		if policy.String() != c.want || strings.Join(texts, "; ") != c.mistakes {
			t.Errorf("%v: %s, %s; want %s, %s", c.labels, &policy, texts, c.want, c.mistakes)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	metadata, spec := read(b, "", `"containers":[{"name":"c",`+free+`}]`)
	for b.Loop() {
		Evaluate(Rules{Level: Restricted}, metadata, spec)
	}
}
