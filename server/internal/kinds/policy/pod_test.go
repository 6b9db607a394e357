package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func TestPodDefaults(t *testing.T) {
	image := func(image string) string {
		return "spec: {containers: [{name: c, image: '" + image + "'}]}"
	}
	resources := func(text string) string {
		return "spec: {containers: [{name: c, image: i, resources: " + text + "}]}"
	}
	policy := "spec/containers/0/imagePullPolicy"
	runHooks(t, podHead, []hookCase{
		{"no tag", image("app"), policy, `"Always"`},
		{"latest", image("app:latest"), policy, `"Always"`},
		{"tag", image("app:1"), policy, `"IfNotPresent"`},
		{"port of a registry", image("host:5000/app"), policy, `"Always"`},
		{"port and tag", image("host:5000/app:2"), policy, `"IfNotPresent"`},
		{"digest", image("app@sha256:" + strings.Repeat("0a", 32)), policy, `"IfNotPresent"`},
		{"latest with digest", image("app:latest@sha256:" + strings.Repeat("0a", 32)), policy, `"Always"`},
		{"wrong digest", image("app:latest@sha256:1"), policy, `"IfNotPresent"`},
		{"digest of nothing known", image("app:latest@md5:" + strings.Repeat("0a", 16)), policy, `"IfNotPresent"`},
		{"large letters", image("App"), policy, `"IfNotPresent"`},
		{"large letters of a registry", image("Host.X/app"), policy, `"Always"`},
		{"large letters of no registry", image("Host/app"), policy, `"IfNotPresent"`},
		{"wrong port", image("host:x/app"), policy, `"IfNotPresent"`},
		{"separators", image("a.b_c__d---e/f"), policy, `"Always"`},
		{"wrong separators", image("a..b"), policy, `"IfNotPresent"`},
		{"tag of one letter too many", image("app:" + strings.Repeat("x", 129)), policy, `"IfNotPresent"`},
		{"longest name", image(strings.Repeat("x", 237)), policy, `"Always"`},
		{"too long a name", image(strings.Repeat("x", 238)), policy, `"IfNotPresent"`},
		{"a digest alone", image(strings.Repeat("0a", 32)), policy, `"IfNotPresent"`},
		{"given", "spec: {containers: [{name: c, image: i, imagePullPolicy: Never}]}", policy, `"Never"`},
		{"no source", "spec: {volumes: [{name: v}], containers: [{name: c, image: i}]}", "spec/volumes/0/emptyDir", `{}`},
		{"source", "spec: {volumes: [{name: v, hostPath: {path: /}}], containers: [{name: c, image: i}]}", "spec/volumes/0/emptyDir", ``},
		{"service links", image("i"), "spec/enableServiceLinks", `true`},
		{"no service links", "spec: {enableServiceLinks: false, containers: [{name: c, image: i}]}", "spec/enableServiceLinks", `false`},
		{"account", "spec: {serviceAccountName: a, containers: [{name: c, image: i}]}", "spec/serviceAccount", `"a"`},
		{"old account", "spec: {serviceAccount: a, containers: [{name: c, image: i}]}", "spec/serviceAccountName", `"a"`},
		{"both accounts", "spec: {serviceAccount: a, serviceAccountName: b, containers: [{name: c, image: i}]}", "spec/serviceAccount", `"b"`},
		{"host network", "spec: {hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}", "spec/containers/0/ports/0/hostPort", `80`},
		{"own network", "spec: {containers: [{name: c, image: i, ports: [{containerPort: 80}]}]}", "spec/containers/0/ports/0/hostPort", ``},
		{"requests", resources("{limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}"), "spec/containers/0/resources/requests", `{"cpu":"500m","memory":"1Gi"}`},
		{"fine amounts", resources("{limits: {cpu: 100u}, requests: {cpu: 1500n}}"), "spec/containers/0/resources", `{"limits":{"cpu":"1m"},"requests":{"cpu":"1m"}}`},
		{"status", image("i"), "status", `{"phase":"Pending","qosClass":"BestEffort"}`},
		{"burstable", resources("{requests: {cpu: 1}}"), "status/qosClass", `"Burstable"`},
		{"guaranteed", resources("{limits: {cpu: 1, memory: 1Gi}}"), "status/qosClass", `"Guaranteed"`},
		{"equal amounts", resources("{limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 1000m, memory: 1024Mi}}"), "status/qosClass", `"Guaranteed"`},
		{"zero", resources("{requests: {cpu: 0}}"), "status/qosClass", `"BestEffort"`},
	})
	template := "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: t}\ntemplate: {spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}}\n"
	runHooks(t, template, []hookCase{
		{"no service links", "", "template/spec/enableServiceLinks", ``},
		{"no requests", "", "template/spec/containers/0/resources", `{"limits":{"cpu":"1"}}`},
	})
	for _, c := range []struct{ status, ip, ips string }{
		{"{podIP: 1.1.1.1}", `"1.1.1.1"`, `[{"ip":"1.1.1.1"}]`},
		{"{podIPs: [{ip: 1.1.1.1}]}", `"1.1.1.1"`, `[{"ip":"1.1.1.1"}]`},
		{"{podIP: 2.2.2.2, podIPs: [{ip: 1.1.1.1}]}", `"2.2.2.2"`, `[{"ip":"2.2.2.2"}]`},
		{"{podIP: 1.1.1.1, podIPs: [{ip: 1.1.1.1}, {ip: '::1'}]}", `"1.1.1.1"`, `[{"ip":"1.1.1.1"},{"ip":"::1"}]`},
	} {
		obj, _ := decode(t, podHead+image("i")+"\nstatus: "+c.status)
		expectAt(t, obj, "status/podIP", c.ip)
		expectAt(t, obj, "status/podIPs", c.ips)
	}
}

func TestPodSpec(t *testing.T) {
	spec := func(rest string) string { return "spec: {containers: [{name: c, image: i}], " + rest + "}" }
	cases := []createCase{
		{"right", spec(""), ""},
		{"no containers", "spec: {}", "spec.containers: Required"},
		{"ephemeral", spec("ephemeralContainers: [{name: e, image: i}]"), "spec.ephemeralContainers: Forbidden"},
		{"image with space", "spec: {containers: [{name: c, image: ' i'}]}", "spec.containers[0].image: Invalid"},
		{"same name", "spec: {containers: [{name: c, image: i}, {name: c, image: i}], initContainers: [{name: c, image: i}]}",
			"spec.containers[1].name: Duplicate; spec.initContainers[0].name: Duplicate"},
		{"dns none", spec("dnsPolicy: None"), "spec.dnsConfig: Required"},
		{"dns none without server", spec("dnsPolicy: None, dnsConfig: {searches: [a.]}"), "spec.dnsConfig.nameservers: Required"},
		{"dns none with server", spec("dnsPolicy: None, dnsConfig: {nameservers: [1.1.1.1]}"), ""},
		{"search", spec("dnsConfig: {searches: [a_b]}"), "spec.dnsConfig.searches[0]: Invalid"},
		{"node selector", spec("nodeSelector: {'a b': c}"), "spec.nodeSelector: Invalid"},
		{"priority class", spec("priorityClassName: A"), "spec.priorityClassName: Invalid"},
		{"runtime class", spec("runtimeClassName: A"), "spec.runtimeClassName: Invalid"},
		{"preemption", spec("preemptionPolicy: X"), "spec.preemptionPolicy: NotSupported"},
		{"overhead", spec("overhead: {cpu: -1}"), "spec.overhead.limits[cpu]: Invalid"},
		{"shared processes", spec("shareProcessNamespace: true, hostPID: true"), "spec.securityContext.shareProcessNamespace: Invalid"},
		{"sysctls", spec("securityContext: {sysctls: [{name: a.b, value: x}, {name: a.b, value: z}]}"), "spec.securityContext.sysctls[1].name: Duplicate"},
		{"seccomp", spec("securityContext: {seccompProfile: {type: Localhost}}"), "spec.securityContext.seccompProfile.localhostProfile: Required"},
		{"seccomp path", spec("securityContext: {seccompProfile: {type: Localhost, localhostProfile: /a}}"), "spec.securityContext.seccompProfile.localhostProfile: Invalid"},
		{"seccomp other", spec("securityContext: {seccompProfile: {type: Unconfined, localhostProfile: a}}"), "spec.securityContext.seccompProfile.localhostProfile: Invalid"},
		{"windows", spec("os: {name: windows}, hostPID: true, securityContext: {runAsUser: 1}"), "spec.hostPID: Forbidden; spec.securityContext.runAsUser: Forbidden"},
		{"linux", spec("os: {name: linux}, securityContext: {windowsOptions: {runAsUserName: x}}"), "spec.securityContext.windowsOptions: Forbidden"},
		{"claim of a volume", spec("volumes: [{name: v, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}}]"), ""},
		{"host ports", "spec: {containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: 9}, {containerPort: 2, hostPort: 9}, {containerPort: 3, hostPort: 9, protocol: UDP}]}]}",
			"spec.containers[0].ports[1].hostPort: Duplicate"},
		{"host network", "spec: {hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: 9}]}]}",
			"spec.containers[0].ports[0].containerPort: Invalid"},
	}
	runCreate(t, podHead, cases)
}

func TestAffinity(t *testing.T) {
	const required = "requiredDuringSchedulingIgnoredDuringExecution"
	const preferred = "preferredDuringSchedulingIgnoredDuringExecution"
	node := func(term string) string {
		return "spec: {containers: [{name: c, image: i}], affinity: {nodeAffinity: {" + required + ": {nodeSelectorTerms: [" + term + "]}}}}"
	}
	toleration := func(t string) string {
		return "spec: {containers: [{name: c, image: i}], tolerations: [" + t + "]}"
	}
	at := "spec.affinity.nodeAffinity." + required + ".nodeSelectorTerms[0]"
	runCreate(t, podHead, []createCase{
		{"in", node("{matchExpressions: [{key: a, operator: In, values: [b]}]}"), ""},
		{"in without values", node("{matchExpressions: [{key: a, operator: In}]}"), at + ".matchExpressions[0].values: Required"},
		{"exists with values", node("{matchExpressions: [{key: a, operator: Exists, values: [b]}]}"), at + ".matchExpressions[0].values: Forbidden"},
		{"gt", node("{matchExpressions: [{key: a, operator: Gt, values: ['1', '2']}]}"), at + ".matchExpressions[0].values: Required"},
		{"field", node("{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}"), ""},
		{"other field", node("{matchFields: [{key: metadata.uid, operator: In, values: [n1]}]}"), at + ".matchFields[0].key: Invalid"},
		{"field exists", node("{matchFields: [{key: metadata.name, operator: Exists}]}"), at + ".matchFields[0].operator: Invalid"},
		{"two names", node("{matchFields: [{key: metadata.name, operator: In, values: [n1, A]}]}"), at + ".matchFields[0].values: Required;" + at + ".matchFields[0].values[1]: Invalid"},
		{"preferred", "spec: {containers: [{name: c, image: i}], affinity: {nodeAffinity: {" + preferred + ": [{weight: 1, preference: {matchExpressions: [{key: a, operator: In}]}}]}}}",
			"spec.affinity.nodeAffinity." + preferred + "[0].preference.matchExpressions[0].values: Required"},
		{"pods", "spec: {containers: [{name: c, image: i}], affinity: {podAntiAffinity: {" + required + ": [{topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: NotIn}]}}]}}}",
			"spec.affinity.podAntiAffinity." + required + "[0].labelSelector.matchExpressions[0].values: Required"},

		{"toleration", toleration("{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 1}"), ""},
		{"all", toleration("{operator: Exists}"), ""},
		{"no key", toleration("{operator: Equal, value: a}"), "spec.tolerations[0].operator: Invalid"},
		{"exists with value", toleration("{key: a, operator: Exists, value: b}"), "spec.tolerations[0].operator: Invalid"},
		{"bad value", toleration("{key: a, value: '-'}"), "spec.tolerations[0].operator: Invalid"},
		{"seconds", toleration("{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 1}"), "spec.tolerations[0].effect: Invalid"},
		{"domains", "spec: {containers: [{name: c, image: i}], topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: ScheduleAnyway, minDomains: 0}]}",
			"spec.topologySpreadConstraints[0].minDomains: Invalid"},
	})
}

func TestPodUpdate(t *testing.T) {
	spec := func(text string) string { return "spec: {" + text + "}" }
	base := "containers: [{name: c, image: i}]"
	deadline := ", activeDeadlineSeconds: "
	bears := func(list string) string { return spec(base + ", tolerations: [" + list + "]") }
	a := "{key: a, operator: Exists, effect: NoExecute}"
	runUpdate(t, podHead, []updateCase{
		{"nothing", spec(base), spec(base), ""},
		{"image", spec(base), spec("containers: [{name: c, image: i, imagePullPolicy: Always}]"), ""},
		{"other image", spec("containers: [{name: c, image: 'i:1'}]"), spec("containers: [{name: c, image: 'i:2'}]"), ""},
		{"command", spec(base), spec("containers: [{name: c, image: i, command: [x]}]"), "spec: Forbidden"},
		{"node", spec(base), spec(base + ", nodeName: n1"), "spec: Forbidden"},
		{"more containers", spec(base), spec("containers: [{name: c, image: i}, {name: d, image: i}]"), "spec.containers: Forbidden"},
		{"init containers", spec(base), spec(base + ", initContainers: [{name: d, image: i}]"), "spec.initContainers: Forbidden"},
		{"set deadline", spec(base), spec(base + deadline + "9"), ""},
		{"lower deadline", spec(base + deadline + "9"), spec(base + deadline + "8"), ""},
		{"raise deadline", spec(base + deadline + "9"), spec(base + deadline + "10"), "spec.activeDeadlineSeconds: Invalid"},
		{"unset deadline", spec(base + deadline + "9"), spec(base), "spec.activeDeadlineSeconds: Invalid"},
		{"add toleration", bears(a), bears(a + ", {key: b, operator: Exists}"), ""},
		{"seconds", bears(a), bears("{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 5}"), ""},
		{"drop toleration", bears(a), bears("{key: b, operator: Exists}"), "spec.tolerations: Forbidden"},
		{"grace", spec(base), spec(base + ", terminationGracePeriodSeconds: 1"), "spec: Forbidden"},
		{"negative grace", spec(base + ", terminationGracePeriodSeconds: -1"), spec(base + ", terminationGracePeriodSeconds: 1"), ""},
		{"account", spec(base + ", serviceAccountName: a"), spec(base + ", serviceAccountName: b"), "spec: Forbidden"},
	})
	old, r := create(t, podHead+spec("containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1}}}]"))
	obj, _ := decode(t, podHead+spec("containers: [{name: c, image: i}]"))
	r.Hooks.Update(obj, old)
	expectAt(t, obj, "status/qosClass", `"Guaranteed"`)
	expect(t, causes(r, obj, old), "spec: Forbidden")
}

// BenchmarkValidatePod measures all rules of a valid pod: those of the schema, its types
// and its kind.
func BenchmarkValidatePod(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "schemas", "examples", "valid", "core", "v1", "Pod-web.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	obj, r := create(b, string(data))
	b.ReportAllocs()
	for b.Loop() {
		document.Validate(obj, &r.GV.Validation)
		r.Hooks.Validate(obj, document.Value{})
	}
}
