package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// 1.25's warnings about the contents of pods, as many as possible.
const loadedPod = `{
	nodeSelector: {beta.kubernetes.io/arch: a, kubernetes.io/os: b, failure-domain.beta.kubernetes.io/zone: c},
	affinity: {nodeAffinity: {
		requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: x, operator: Exists}, {key: beta.kubernetes.io/os, operator: Exists}]}]},
		preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: failure-domain.beta.kubernetes.io/region, operator: Exists}]}}]}},
	topologySpreadConstraints: [{maxSkew: 1, topologyKey: beta.kubernetes.io/instance-type, whenUnsatisfiable: DoNotSchedule}],
	volumes: [{name: a, gitRepo: {repository: r}}, {name: b, glusterfs: {endpoints: e, path: p}}, {name: c, emptyDir: {}},
		{name: d, storageos: {volumeName: v}}, {name: e, ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "1.5"}}}}}}],
	hostAliases: [{ip: 1.1.1.1}, {ip: 2.2.2.2}, {ip: 1.1.1.1}],
	imagePullSecrets: [{name: s}, {name: s}, {}],
	overhead: {memory: 100m, cpu: 100m},
	initContainers: [{name: i, image: i, resources: {limits: {memory: "0.5", cpu: "0.5", ephemeral-storage: 1k}, requests: {memory: "0.5"}}}],
	containers: [{name: m, image: i, env: [{name: A, value: a}, {name: B}, {name: A, value: b}]}, {name: next, image: i, env: [{name: A}]}]}`

// SECCOMP stands before the warnings for templates only.
const saidOfPod = `AT.spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead
AT.spec.nodeSelector[failure-domain.beta.kubernetes.io/zone]: deprecated since v1.17; use "topology.kubernetes.io/zone" instead
AT.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead
AT.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].key: failure-domain.beta.kubernetes.io/region is deprecated since v1.17; use "topology.kubernetes.io/region" instead
AT.spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/instance-type is deprecated since v1.17; use "node.kubernetes.io/instance-type" instead
AT.metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead
AT.spec.volumes[0].gitRepo: deprecated in v1.11
AT.spec.volumes[1].glusterfs: deprecated in v1.25, this feature will be removed soon after in a subsequent release
AT.spec.volumes[3].storageOS: deprecated in v1.22, support removal is planned in v1.26
AT.spec.hostAliases[2].ip: duplicate ip "1.1.1.1"
AT.spec.imagePullSecrets[1].name: duplicate name "s"
AT.spec.imagePullSecrets[2].name: invalid empty name ""
AT.spec.overhead[memory]: fractional byte value "100m" is invalid, must be an integer
SECCOMP AT.metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: deprecated since v1.19, non-functional in a future release; use the "seccompProfile" field instead
AT.spec.initContainers[0].resources.limits[memory]: fractional byte value "500m" is invalid, must be an integer
AT.spec.initContainers[0].resources.requests[memory]: fractional byte value "500m" is invalid, must be an integer
AT.spec.containers[0].env[2].name: duplicate name "A"
SECCOMP AT.metadata.annotations[container.seccomp.security.alpha.kubernetes.io/next]: deprecated since v1.19, non-functional in a future release; use the "seccompProfile" field instead`

const loadedMeta = `{annotations: {scheduler.alpha.kubernetes.io/critical-pod: x, seccomp.security.alpha.kubernetes.io/pod: runtime/default, container.seccomp.security.alpha.kubernetes.io/next: unconfined}}`

func TestWarningsOfPods(t *testing.T) {
	for _, c := range []struct{ kind, before, at string }{
		{"v1 Pod", "", ""},
		{"v1 PodTemplate", "template: {", "template"},
		{"v1 ReplicationController", "spec: {template: {", "template"},
		{"apps/v1 ReplicaSet", "spec: {template: {", "spec.template"},
		{"apps/v1 Deployment", "spec: {template: {", "spec.template"},
		{"apps/v1 DaemonSet", "spec: {template: {", "spec.template"},
		{"apps/v1 StatefulSet", "spec: {template: {", "spec.template"},
		{"batch/v1 Job", "spec: {template: {", "spec.template"},
		{"batch/v1 CronJob", "spec: {jobTemplate: {spec: {template: {", "spec.jobTemplate.spec.template"},
	} {
		version, kind, _ := strings.Cut(c.kind, " ")
		text := "{apiVersion: " + version + ", kind: " + kind + ", " + c.before + "metadata: " + loadedMeta + ", spec: " + loadedPod + strings.Repeat("}", strings.Count(c.before, "{")) + "}"
		var want []string
		for line := range strings.SplitSeq(strings.ReplaceAll(saidOfPod, "AT.", strings.TrimPrefix(c.at+".", ".")), "\n") {
			if line, seccomp := strings.CutPrefix(line, "SECCOMP "); !seccomp || kind != "Pod" {
				want = append(want, line)
			}
		}
		obj, r := decode(t, " "+strings.ReplaceAll(text, "\t", " "))
		got := r.Hooks.Warn(obj, document.Value{})
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", kind, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
		// An update without a new generation repeats no warnings.
		if got := r.Hooks.Warn(obj, obj); len(got) > 0 {
			t.Errorf("%s: an update that changes nothing says %q", kind, got)
		}
	}
}

func TestWarningsOfOtherKinds(t *testing.T) {
	for _, c := range []struct{ name, object, want string }{
		{"volume", "{apiVersion: v1, kind: PersistentVolume, metadata: {annotations: {volume.beta.kubernetes.io/storage-class: x}}, spec: {persistentVolumeReclaimPolicy: Recycle, scaleIO: {gateway: g, system: s, secretRef: {}}," +
			" nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: beta.kubernetes.io/arch, operator: Exists}]}]}}}}",
			`spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead`},
		{"class", "{apiVersion: storage.k8s.io/v1, kind: StorageClass, allowedTopologies: [{matchLabelExpressions: [{key: failure-domain.beta.kubernetes.io/zone, values: [a]}]}]}",
			`allowedTopologies[0].matchLabelExpressions[0].key: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead`},
		{"capacity", "{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, nodeTopology: {matchLabels: {beta.kubernetes.io/os: a}, matchExpressions: [{key: beta.kubernetes.io/arch, operator: Exists}]}}",
			`nodeTopology.matchExpressions[0].key: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead
nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead`},
		{"runtime", "{apiVersion: node.k8s.io/v1, kind: RuntimeClass, scheduling: {nodeSelector: {node-role.kubernetes.io/master: a}}}",
			`scheduling.nodeSelector[node-role.kubernetes.io/master]: use "node-role.kubernetes.io/control-plane" instead`},
		{"schedule", "{apiVersion: batch/v1, kind: CronJob, spec: {schedule: TZ=UTC * * * * *}}",
			`spec.schedule: a time zone written as TZ or CRON_TZ is not officially supported; use the field timeZone`},
	} {
		obj, r := decode(t, " "+c.object)
		if got := strings.Join(r.Hooks.Warn(obj, document.Value{}), "\n"); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// The warning of a time zone in a schedule is repeated by writes that do not touch it.
func TestWarningOfScheduleIsRepeated(t *testing.T) {
	obj, r := decode(t, " {apiVersion: batch/v1, kind: CronJob, spec: {schedule: TZ=UTC * * * * *}}")
	if got := r.Hooks.Warn(obj, obj); len(got) != 1 {
		t.Errorf("an update warns %q", got)
	}
}

// TestWarningsOfPortsAreBounded: ports with the same number are compared with each other only so often.
func TestWarningsOfPortsAreBounded(t *testing.T) {
	ports := strings.TrimSuffix(strings.Repeat(`{"containerPort":1},`, 1000), ",")
	obj, _ := decode(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","ports":[`+ports+`]}]}}`)
	later, err := catalog.Edition("1.28")
	if err != nil {
		t.Fatal(err)
	}
	said := policy.Policy{Edition: later}.WarnPod(obj, document.Value{})
	if len(said) != 1<<16 || said[0] != "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]" {
		t.Errorf("%d warnings, the first one is %q", len(said), said[0])
	}
}
