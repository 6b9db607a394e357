package server_test

import (
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// container is a container in JSON, with its resources.
func container(name, resources string) string {
	return `{"name":"` + name + `","image":"i","resources":{` + resources + `}}`
}

// podOf is a pod in JSON.
func podOf(name, containers, rest string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"containers":[` + containers + `]` + rest + `}}`
}

// claimOf is a claim for a volume in JSON.
func claimOf(name, storage, rest string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"` + storage + `"}}` + rest + `}}`
}

// Limit ranges fill in amounts and refuse others, in the words of 1.25.
func TestLimitRanges(t *testing.T) {
	const ns = "/api/v1/namespaces/default"
	const c = "POST"
	h := startServer(t, nil)
	h.create(ns+"/limitranges", `{"metadata":{"name":"a"},"spec":{"limits":[
		{"type":"Container","max":{"cpu":"2","memory":"1Gi"},"min":{"cpu":"100m","memory":"4Mi"},"default":{"cpu":"300m","memory":"200Mi"},"defaultRequest":{"cpu":"200m","memory":"100Mi"},"maxLimitRequestRatio":{"cpu":"4"}},
		{"type":"Pod","max":{"cpu":"3"},"min":{"memory":"6Mi"},"maxLimitRequestRatio":{"memory":"3"}},
		{"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"5Gi"}}]}}`)
	pods, claims := ns+"/pods", ns+"/persistentvolumeclaims"
	h.run(t, []step{
		{"amounts filled in", c, pods, "", podOf("p", container("c", ""), ""), 201, `"resources":{"limits":{"cpu":"300m","memory":"200Mi"},"requests":{"cpu":"200m","memory":"100Mi"}}`},
		{"noted", "GET", pods + "/p", "", "", 200, `"kubernetes.io/limit-ranger":"LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c"`},
		{"with their class", "GET", pods + "/p", "", "", 200, `"qosClass":"Burstable"`},
		{"some filled in", c, pods, "", podOf("q", container("c", `"limits":{"cpu":"400m"}`), `,"initContainers":[`+container("i", `"requests":{"cpu":"150m"}`)+`]`), 201,
			`LimitRanger plugin set: memory request for container c; memory limit for container c; memory request for init container i; cpu, memory limit for init container i"`},
		{"all refusals", c, pods, "", podOf("r", container("c", `"limits":{"cpu":"5","memory":"2Gi"},"requests":{"cpu":"50m"}`), ""), 403,
			`pods \"r\" is forbidden: [minimum cpu usage per Container is 100m, but request is 50m, maximum cpu usage per Container is 2, but limit is 5, maximum memory usage per Container is 1Gi, but limit is 2Gi, ` +
				`cpu max limit to request ratio per Container is 4, but provided ratio is 100.000000, maximum cpu usage per Pod is 3, but limit is 5]`},
		{"one refusal", c, pods, "", podOf("r", container("c", `"limits":{"cpu":"2"},"requests":{"cpu":"100m"}`), ""), 403, `pods \"r\" is forbidden: cpu max limit to request ratio per Container is 4, but provided ratio is 20.000000"`},
		{"the pod's sum", c, pods, "", podOf("r", container("c", `"limits":{"cpu":1.5,"memory":"1Gi"},"requests":{"cpu":1.5,"memory":"300Mi"}`)+","+container("d", `"limits":{"cpu":1.9},"requests":{"cpu":1}`), ""), 403,
			`[maximum cpu usage per Pod is 3, but limit is 3400m, memory max limit to request ratio per Pod is 3, but provided ratio is 3.060000]`},
		{"nothing requested", c, pods, "", podOf("r", container("c", `"limits":{"cpu":"0"},"requests":{"cpu":"0"}`), ""), 403, `but request is 0, cpu max limit to request ratio per Container is 4, but no request is specified or request is 0]`},
		{"an init container", c, pods, "", podOf("r", container("c", ""), `,"initContainers":[`+container("i", `"limits":{"cpu":"3500m"}`)+`]`), 403, `maximum cpu usage per Pod is 3, but limit is 3500m]`},
		{"small claim", c, claims, "", claimOf("v", "500Mi", ""), 403, `persistentvolumeclaims \"v\" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"`},
		{"large claim", c, claims, "", claimOf("v", "6Gi", ""), 403, `maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"`},
		{"claim", c, claims, "", claimOf("v", "2Gi", ""), 201, ""},
		{"later bounds", "PATCH", ns + "/limitranges/a", "application/merge-patch+json", `{"spec":{"limits":[{"type":"PersistentVolumeClaim","min":{"storage":"3Gi"}}]}}`, 200, ""},
		{"hold for every update", "PATCH", claims + "/v", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, 403, `minimum storage usage`},
		{"but not of the status", "PATCH", claims + "/v/status", "application/merge-patch+json", `{"status":{"phase":"Bound"}}`, 200, ""},
		{"nor of pods", "PATCH", pods + "/p", "application/merge-patch+json", `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
		{"bounds too far apart", c, ns + "/limitranges", "", `{"metadata":{"name":"b"},"spec":{"limits":[{"type":"Container","max":{"memory":"1Ei"},"min":{"memory":"1m"},"maxLimitRequestRatio":{"memory":"9e18"}}]}}`,
			422, `ratio 9e18 is greater than max/min = 1152921504606846976.000000`},
		{"a number that fits", c, ns + "/limitranges", "", `{"metadata":{"name":"b"},"spec":{"limits":[{"type":"Container","max":{"cpu":"9223372036854775807"}}]}}`, 201, ""},
		{"is filled in", c, pods, "", podOf("s", container("c", ""), ""), 201, `"limits":{"cpu":"9223372036854775807"}`},
	})
	off := startServer(t, func(cfg *server.Config) {
		cfg.DisableAdmissionPlugins = append(cfg.DisableAdmissionPlugins, "LimitRanger")
	})
	off.create(ns+"/limitranges", `{"metadata":{"name":"a"},"spec":{"limits":[{"type":"Container","max":{"cpu":"2"}}]}}`)
	off.run(t, []step{{"off", c, pods, "", podOf("p", container("c", ""), ""), 201, `"resources":{}`}})
}
