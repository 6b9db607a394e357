package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
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
	h := harness.Start(t, nil)
	h.Create(ns+"/limitranges", `{"metadata":{"name":"a"},"spec":{"limits":[
		{"type":"Container","max":{"cpu":"2","memory":"1Gi"},"min":{"cpu":"100m","memory":"4Mi"},"default":{"cpu":"300m","memory":"200Mi"},"defaultRequest":{"cpu":"200m","memory":"100Mi"},"maxLimitRequestRatio":{"cpu":"4"}},
		{"type":"Pod","max":{"cpu":"3"},"min":{"memory":"6Mi"},"maxLimitRequestRatio":{"memory":"3"}},
		{"type":"PersistentVolumeClaim","min":{"storage":"1Gi"},"max":{"storage":"5Gi"}}]}}`)
	pods, claims := ns+"/pods", ns+"/persistentvolumeclaims"
	h.Run(t, []harness.Step{
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
	off := harness.Start(t, func(cfg *server.Config) {
		cfg.DisableAdmissionPlugins = append(cfg.DisableAdmissionPlugins, "LimitRanger")
	})
	off.Create(ns+"/limitranges", `{"metadata":{"name":"a"},"spec":{"limits":[{"type":"Container","max":{"cpu":"2"}}]}}`)
	off.Run(t, []harness.Step{{"off", c, pods, "", podOf("p", container("c", ""), ""), 201, `"resources":{}`}})
}

// Quotas refuse too large amounts, in the words of 1.25, and are charged for the rest. No
// controller runs: nothing is given back, and the test writes the status.
func TestResourceQuotas(t *testing.T) {
	const ns, deployments = "/api/v1/namespaces/default", "/apis/apps/v1/namespaces/default/deployments"
	const c, merge = "POST", "application/merge-patch+json"
	h := harness.Start(t, nil)
	pods, claims, maps, quotas, services := ns+"/pods", ns+"/persistentvolumeclaims", ns+"/configmaps", ns+"/resourcequotas", ns+"/services"
	const hard = `"configmaps":"2","count/deployments.apps":"1","count/pods":"5","limits.memory":"1Gi","pods":"2","requests.cpu":"1","requests.example.com/gpu":"2","services.nodeports":"0"`
	const used = `"configmaps":"0","count/deployments.apps":"0","count/pods":"0","limits.memory":"0","pods":"0","requests.cpu":"0","services.nodeports":"0"`
	deployment := func(name string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[` + container("c", "") + `]}}}}`
	}
	status := func(name, hard, used string) harness.Step {
		return harness.Step{"status of " + name, "PATCH", quotas + "/" + name + "/status", merge, `{"status":{"hard":{` + hard + `},"used":{` + used + `}}}`, 200, ""}
	}
	h.Run(t, []harness.Step{
		{"quota", c, quotas, "", harness.QuotaOf("q", hard, ""), 201, `"status":{}`},
		{"without a status it has no effect", c, pods, "", podOf("free", container("c", ""), ""), 201, ""},
		status("q", hard, used),
		{"needed amounts", c, pods, "", podOf("p", container("c", `"requests":{"cpu":"1"}`)+","+container("b", ""), `,"initContainers":[`+container("a", "")+`]`), 403,
			`pods \"p\" is forbidden: failed quota: q: must specify limits.memory for: a,b,c; requests.cpu for: a,b"`},
		{"an unknown amount", c, pods, "", podOf("p", container("c", `"requests":{"cpu":"600m"},"limits":{"memory":"512Mi"}`), ""), 403,
			`status unknown for quota: q, resources: count/pods,limits.memory,pods,requests.cpu,requests.example.com/gpu"`},
		{"the rest of the status", "PATCH", quotas + "/q/status", merge, `{"status":{"used":{"requests.example.com/gpu":"0"}}}`, 200, ""},
		{"pod", c, pods, "", podOf("p", container("c", `"requests":{"cpu":"600m"},"limits":{"memory":"512Mi","example.com/gpu":"1"}`), ""), 201, ""},
		{"charged", "GET", quotas + "/q", "", "", 200, `"used":{"configmaps":"0","count/deployments.apps":"0","count/pods":"1","limits.memory":"512Mi","pods":"1","requests.cpu":"600m","requests.example.com/gpu":"1","services.nodeports":"0"}`},
		{"by the server", "GET", quotas + "/q", "", "", 200, `"manager":"kube-apiserver"`},
		{"too much", c, pods, "", podOf("r", container("c", `"requests":{"cpu":"600m"},"limits":{"memory":"600Mi","example.com/gpu":"2"}`), ""), 403,
			`pods \"r\" is forbidden: exceeded quota: q, requested: limits.memory=600Mi,requests.cpu=600m,requests.example.com/gpu=2, used: limits.memory=512Mi,requests.cpu=600m,requests.example.com/gpu=1, limited: limits.memory=1Gi,requests.cpu=1,requests.example.com/gpu=2"`},
		{"too much, tried", c, pods + "?dryRun=All", "", podOf("r", container("c", `"requests":{"cpu":"600m"},"limits":{"memory":"1Mi"}`), ""), 403, "exceeded quota: q, requested: requests.cpu=600m, used"},
		{"enough, tried", c, pods + "?dryRun=All", "", podOf("r", container("c", `"requests":{"cpu":"400m"},"limits":{"memory":"1Mi"}`), ""), 201, ""},
		{"the name is taken", c, pods, "", podOf("p", container("c", `"requests":{"cpu":"400m"},"limits":{"memory":"1Mi"}`), ""), 409, "AlreadyExists"},
		{"map", c, maps, "", `{"metadata":{"name":"a"}}`, 201, ""},
		{"map by apply", "PATCH", maps + "/b?fieldManager=m", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`, 201, ""},
		{"map too many", c, maps, "", `{"metadata":{"name":"c"}}`, 403, `configmaps \"c\" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2"`},
		{"map too many by PUT", "PUT", maps + "/c", "", `{"metadata":{"name":"c"}}`, 403, "exceeded quota"},
		{"an update adds nothing", "PATCH", maps + "/a", merge, `{"data":{"a":"b"}}`, 200, ""},
		{"deployment", c, deployments, "", deployment("d"), 201, ""},
		{"deployment too many", c, deployments, "", deployment("e"), 403, `deployments.apps \"e\" is forbidden: exceeded quota: q, requested: count/deployments.apps=1`},
		{"node port", c, services, "", `{"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, 403, `requested: services.nodeports=1, used: services.nodeports=0, limited: services.nodeports=0"`},
		{"service", c, services, "", `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`, 201, ""},
		{"node port later", "PATCH", services + "/s", merge, `{"spec":{"type":"NodePort"}}`, 403, "requested: services.nodeports=1"},
		{"balancer without one", "PATCH", services + "/s", merge, `{"spec":{"type":"LoadBalancer","allocateLoadBalancerNodePorts":false}}`, 200, ""},
		{"delete", "DELETE", maps + "/a", "", "", 200, ""},
		{"nothing else was charged", "GET", quotas + "/q", "", "", 200, `"used":{"configmaps":"2","count/deployments.apps":"1","count/pods":"1","limits.memory":"512Mi","pods":"1","requests.cpu":"600m","requests.example.com/gpu":"1","services.nodeports":"0"}`},
		{"no quota", "DELETE", quotas + "/q", "", "", 200, ""},

		{"quota of claims", c, quotas, "", harness.QuotaOf("q", `"gold.storageclass.storage.k8s.io/requests.storage":"5Gi","persistentvolumeclaims":"2","requests.storage":"10Gi","resourcequotas":"2"`, ""), 201, ""},
		status("q", `"gold.storageclass.storage.k8s.io/requests.storage":"5Gi","persistentvolumeclaims":"2","requests.storage":"10Gi","resourcequotas":"2"`, `"gold.storageclass.storage.k8s.io/requests.storage":"0","persistentvolumeclaims":"0","requests.storage":"0","resourcequotas":"1"`),
		{"claim", c, claims, "", claimOf("v", "1.5", `,"storageClassName":"gold"`), 201, ""},
		{"whole bytes", "GET", quotas + "/q", "", "", 200, `"used":{"gold.storageclass.storage.k8s.io/requests.storage":"2","persistentvolumeclaims":"1","requests.storage":"2","resourcequotas":"1"}`},
		{"of a class", c, claims, "", claimOf("w", "6Gi", `,"storageClassName":"gold"`), 403, `requested: gold.storageclass.storage.k8s.io/requests.storage=6Gi, used: gold.storageclass.storage.k8s.io/requests.storage=2, limited: gold.storageclass.storage.k8s.io/requests.storage=5Gi"`},
		{"of another class", c, claims, "", claimOf("w", "6Gi", `,"storageClassName":"lead"`), 201, ""},

		{"a quota, charged to the other one", c, quotas, "", harness.QuotaOf("scoped", `"pods":"1"`, `,"scopes":["BestEffort","NotTerminating"]`), 201, ""},
		{"charged", "GET", quotas + "/q", "", "", 200, `"resourcequotas":"2"}`},
		{"quota too many", c, quotas, "", harness.QuotaOf("third", `"pods":"1"`, ""), 403, "requested: resourcequotas=1"},
		status("scoped", `"pods":"1"`, `"pods":"0"`),
		{"a pod in the scopes", c, pods, "", podOf("best", container("c", ""), ""), 201, ""},
		{"another", c, pods, "", podOf("second", container("c", ""), ""), 403, "exceeded quota: scoped, requested: pods=1"},
		{"with a deadline", c, pods, "", podOf("short", container("c", ""), `,"activeDeadlineSeconds":9`), 201, ""},
		{"with requests", c, pods, "", podOf("second", container("c", `"requests":{"cpu":"1"}`), ""), 201, ""},
		{"no quota of quotas", "DELETE", quotas + "/q", "", "", 200, ""},
		{"a scope of pods, for claims", c, quotas, "", harness.QuotaOf("gold", `"persistentvolumeclaims":"1"`, `,"scopes":["PriorityClass"]`), 422, "unsupported scope applied to resource"},
		{"a scope of claims, for pods", c, quotas, "", harness.QuotaOf("gold", `"pods":"1"`, `,"scopes":["VolumeAttributesClass"]`), 422, "unsupported scope applied to resource"},
		{"of claims", c, quotas, "", harness.QuotaOf("gold", `"persistentvolumeclaims":"1"`, `,"scopeSelector":{"matchExpressions":[{"scopeName":"VolumeAttributesClass","operator":"In","values":["gold"]}]}`), 201, ""},
		status("gold", `"persistentvolumeclaims":"1"`, `"persistentvolumeclaims":"0"`),
		{"in the scope", c, claims, "", claimOf("golden", "1Gi", `,"volumeAttributesClassName":"gold"`), 201, `"volumeAttributesClassName":"gold"`},
		{"one more", c, claims, "", claimOf("golden2", "1Gi", `,"volumeAttributesClassName":"gold"`), 403, "exceeded quota: gold, requested: persistentvolumeclaims=1"},
		{"another class", c, claims, "", claimOf("leaden", "1Gi", `,"volumeAttributesClassName":"lead"`), 201, ""},
		{"a free claim keeps its class", "PATCH", claims + "/leaden", merge, `{"spec":{"volumeAttributesClassName":"gold"}}`, 422, "spec is immutable after creation"},
		{"a bound one", "PATCH", claims + "/leaden/status", merge, `{"status":{"phase":"Bound","currentVolumeAttributesClassName":"lead"}}`, 200, ""},
		{"changes it", "PATCH", claims + "/leaden", merge, `{"spec":{"volumeAttributesClassName":"gold"}}`, 403, "exceeded quota: gold"},
		{"and has one", "PATCH", claims + "/leaden", merge, `{"spec":{"volumeAttributesClassName":null}}`, 422, "update to nil is forbidden"},
		{"quota of numbers", c, quotas, "", harness.QuotaOf("q", `"pods":"9"`, ""), 201, ""},
		{"numbers that fit", "PATCH", quotas + "/q/status", merge, `{"status":{"hard":{"pods":"9223372036854775807","requests.memory":"8Ei"},"used":{"pods":"9223372036854775806","requests.memory":"6Ei"}}}`, 200, ""},
		{"are added up exactly", c, pods, "", podOf("large", container("c", `"requests":{"memory":"1Ei"}`), ""), 201, ""},
		{"to the last one", c, pods, "", podOf("next", container("c", `"requests":{"memory":"7Ei"}`)+","+container("d", `"requests":{"memory":"7Ei"}`), ""), 403,
			`exceeded quota: q, requested: pods=1,requests.memory=14Ei, used: pods=9223372036854775807,requests.memory=7Ei, limited: pods=9223372036854775807,requests.memory=9223372036854775807"`},
	})
}

// The controller fills in the status of a quota, and gives back what has ended.
func TestQuotaController(t *testing.T) {
	const ns, merge = "/api/v1/namespaces/default", "application/merge-patch+json"
	h := harness.WithControllers(t, "resourcequota")
	quotas := ns + "/resourcequotas"
	h.Create(ns+"/configmaps", `{"metadata":{"name":"a"}}`)
	h.Create(ns+"/pods", podOf("p", container("c", `"requests":{"cpu":"300m"}`), ""))
	h.Create(ns+"/services", `{"metadata":{"name":"s"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`)
	h.Create(quotas, harness.QuotaOf("q", `"configmaps":"5","count/configmaps":"5","count/ants.zoo.example.com":"1","count/events":"9","cpu":"2","services.nodeports":"3","pods":"3","resourcequotas":"3"`, ""))
	h.Await(quotas, harness.HasUsed("q", "cpu", "300m"))
	h.Run(t, []harness.Step{{"what existed", "GET", quotas + "/q", "", "", 200, `"used":{"configmaps":"1","count/configmaps":"1","cpu":"300m","pods":"1","resourcequotas":"1","services.nodeports":"1"}`}})
	h.Create(ns+"/pods", podOf("r", container("c", `"requests":{"cpu":"1"}`), ""))
	h.Await(quotas, harness.HasUsed("q", "cpu", "1300m"))
	h.Run(t, []harness.Step{
		{"a pod ends", "PATCH", ns + "/pods/r/status", merge, `{"status":{"phase":"Succeeded"}}`, 200, ""},
		{"another goes", "DELETE", ns + "/pods/p?gracePeriodSeconds=0", "", "", 200, ""},
		{"a map goes", "DELETE", ns + "/configmaps/a", "", "", 200, ""},
		{"a service is changed", "PATCH", ns + "/services/s", merge, `{"spec":{"type":"ClusterIP","ports":[{"port":80,"nodePort":null}]}}`, 200, ""},
	})
	h.Await(quotas, func(all harness.Contents) bool {
		return harness.HasUsed("q", "cpu", "0")(all) && harness.HasUsed("q", "configmaps", "0")(all) && harness.HasUsed("q", "services.nodeports", "0")(all)
	})
	h.Run(t, []harness.Step{{"more is allowed", "PATCH", quotas + "/q", merge, `{"spec":{"hard":{"secrets":"4","cpu":null,"resourcequotas":null}}}`, 200, ""}})
	h.Await(quotas, harness.HasUsed("q", "secrets", "0"))
	h.Run(t, []harness.Step{{"by the controller", "GET", quotas + "/q", "", "", 200, `"manager":"kube-controller-manager","operation":"Update"`}})
	h.Create(quotas, harness.QuotaOf("long", `"pods":"1"`, `,"scopes":["NotTerminating"]`))
	h.Create(quotas, harness.QuotaOf("short", `"pods":"1"`, `,"scopes":["Terminating"]`))
	h.Await(quotas, func(all harness.Contents) bool {
		return harness.HasUsed("long", "pods", "0")(all) && harness.HasUsed("short", "pods", "0")(all)
	})
	h.Run(t, []harness.Step{
		{"a pod", "POST", ns + "/pods", "", podOf("long", container("c", ""), ""), 201, ""},
		{"is in another scope later", "PATCH", ns + "/pods/long", merge, `{"spec":{"activeDeadlineSeconds":99}}`, 200, ""},
	})
	h.Await(quotas, func(all harness.Contents) bool {
		return harness.HasUsed("long", "pods", "0")(all) && harness.HasUsed("short", "pods", "1")(all)
	})
	h.Run(t, []harness.Step{
		{"and counts there", "POST", ns + "/pods", "", podOf("short", container("c", ""), `,"activeDeadlineSeconds":9`), 403, "exceeded quota: short, requested: pods=1, used: pods=1"},
	})
	h.Create(harness.DefinitionsPath, harness.Custom("zoo.example.com", "ants", `"kind":"Ant"`))
	h.Await(quotas, harness.HasUsed("q", "count/ants.zoo.example.com", "0"))
	ants := "/apis/zoo.example.com/v1/namespaces/default/ants"
	ant := func(name string) string {
		return `{"apiVersion":"zoo.example.com/v1","kind":"Ant","metadata":{"name":"` + name + `"}}`
	}
	h.Run(t, []harness.Step{
		{"custom object", "POST", ants, "", ant("a"), 201, ""},
		{"too many", "POST", ants, "", ant("b"), 403, `ants.zoo.example.com \"b\" is forbidden: exceeded quota: q, requested: count/ants.zoo.example.com=1`},
		{"one less", "DELETE", ants + "/a", "", "", 200, ""},
	})
	h.Await(quotas, harness.HasUsed("q", "count/ants.zoo.example.com", "0"))
}

// Many writers create and delete under two quotas, whose bounds change meanwhile: the
// used amounts are never above the allowed ones, and right in the end.
func TestQuotasAreExact(t *testing.T) {
	const ns, writers, each = "/api/v1/namespaces/default", 64, 6
	h := harness.WithControllers(t, "resourcequota")
	quotas, maps := ns+"/resourcequotas", ns+"/configmaps"
	h.Create(quotas, harness.QuotaOf("count", `"configmaps":"100"`, ""))
	h.Await(quotas, harness.HasUsed("count", "configmaps", "0"))
	var wg sync.WaitGroup
	var kept, refused atomic.Int64
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				name := fmt.Sprintf("m-%d-%d", w, i)
				switch got := h.Post(maps, `{"metadata":{"name":"`+name+`"}}`); got.Code {
				case 201:
					kept.Add(1)
				case 403:
					refused.Add(1)
					continue
				default:
					t.Errorf("%d %s", got.Code, got.Body)
				}
				if rand.IntN(4) == 0 {
					h.Delete(maps + "/" + name)
					kept.Add(-1)
				}
			}
		})
	}
	h.Create(quotas, harness.QuotaOf("later", `"count/configmaps":"1000","configmaps":"90"`, "")) // it is counted while objects are created
	wg.Wait()
	want := strconv.FormatInt(kept.Load(), 10)
	h.Await(quotas, func(all harness.Contents) bool {
		return harness.HasUsed("count", "configmaps", want)(all) && harness.HasUsed("later", "count/configmaps", want)(all) && harness.HasUsed("later", "configmaps", want)(all)
	})
	if refused.Load() == 0 || kept.Load() > 100 {
		t.Errorf("%d objects, %d refused", kept.Load(), refused.Load())
	}
	neverAbove(h, t, quotas, "configmaps", 100)
}

// neverAbove fails if a quota in the history of a collection had a used amount above n.
func neverAbove(h *harness.Server, t *testing.T, path, amount string, n int) {
	t.Helper()
	body := h.Get(path + "?watch=1&resourceVersion=1&timeoutSeconds=1").Body
	events, seen := json.NewDecoder(bytes.NewReader(body)), 0
	for events.More() {
		var event struct {
			Object struct {
				Status struct{ Used map[string]string }
			}
		}
		if err := events.Decode(&event); err != nil {
			t.Fatal(err)
		}
		seen++
		if used, _ := strconv.Atoi(event.Object.Status.Used[amount]); used > n || used < 0 {
			t.Errorf("used %d of %d", used, n)
		}
	}
	if seen < n {
		t.Errorf("only %d changes were seen", seen)
	}
}

// Limited resources are used in namespaces with a quota for them.
func TestLimitedResources(t *testing.T) {
	const ns, c, merge = "/api/v1/namespaces/default", "POST", "application/merge-patch+json"
	file := filepath.Join(t.TempDir(), "admission.yaml")
	err := os.WriteFile(file, []byte(`{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: [{name: ResourceQuota, configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: ResourceQuotaConfiguration, limitedResources: [
		{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In, values: [high]}]},
		{resource: persistentvolumeclaims, matchContains: [.storageclass.storage.k8s.io/requests.storage]}]}}]}`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	h := harness.Start(t, func(cfg *server.Config) { cfg.AdmissionControlConfigFile = file })
	h.Create("/apis/scheduling.k8s.io/v1/priorityclasses", `{"metadata":{"name":"high"},"value":100}`)
	pods, claims, quotas := ns+"/pods", ns+"/persistentvolumeclaims", ns+"/resourcequotas"
	high := podOf("p", container("c", ""), `,"priorityClassName":"high"`)
	h.Run(t, []harness.Step{
		{"a limited scope", c, pods, "", high, 403, `insufficient quota to match these scopes: [{PriorityClass In [high]}]`},
		{"another pod", c, pods, "", podOf("q", container("c", ""), ""), 201, ""},
		{"a limited amount", c, claims, "", claimOf("v", "1Gi", `,"storageClassName":"gold"`), 403, `insufficient quota to consume: gold.storageclass.storage.k8s.io/requests.storage`},
		{"another claim", c, claims, "", claimOf("w", "1Gi", ""), 201, ""},
		{"quota", c, quotas, "", harness.QuotaOf("q", `"pods":"9"`, `,"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"Exists"}]}`), 201, ""},
		{"of the scope", c, pods, "", high, 201, ""},
		{"quota of gold", c, quotas, "", harness.QuotaOf("g", `"gold.storageclass.storage.k8s.io/requests.storage":"9Gi"`, ""), 201, ""},
		{"with a status", "PATCH", quotas + "/g/status", merge, `{"status":{"hard":{"gold.storageclass.storage.k8s.io/requests.storage":"9Gi"},"used":{"gold.storageclass.storage.k8s.io/requests.storage":"0"}}}`, 200, ""},
		{"of the amount", c, claims, "", claimOf("v", "1Gi", `,"storageClassName":"gold"`), 201, ""},
		{"not of this one", c, claims, "", claimOf("x", "1Gi", `,"storageClassName":"lead"`), 403, `insufficient quota to consume: lead.`},
	})
}

// onDisk runs a server in a file system, with some controllers.
func onDisk(disk vfs.FS, controllers string) func(*server.Config) {
	return func(cfg *server.Config) {
		cfg.InMemory, cfg.DataDir, cfg.FS, cfg.Controllers = false, "data", disk, []string{controllers}
	}
}

// A crash leaves each object with its charge.
func TestCrashedChargeIsWhole(t *testing.T) {
	const ns, quotas = "/api/v1/namespaces/default", "/api/v1/namespaces/default/resourcequotas"
	disk := vfs.NewCrashableMem()
	h := harness.Start(t, onDisk(disk, "resourcequota"))
	h.Create(quotas, harness.QuotaOf("q", `"configmaps":"900"`, ""))
	h.Await(quotas, harness.HasUsed("q", "configmaps", "0"))
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for w := range 8 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil && i < 100; i++ {
				h.Post(ns+"/configmaps", fmt.Sprintf(`{"metadata":{"name":"m-%d-%d"}}`, w, i))
			}
		})
	}
	h.Await(quotas, func(all harness.Contents) bool {
		used, _ := all.In("q", "status.used").(map[string]any)
		n, _ := strconv.Atoi(fmt.Sprint(used["configmaps"]))
		return n > 50
	})
	crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(1, 2))})
	stop()
	wg.Wait()
	after := harness.Start(t, onDisk(crashed, "-*"))
	var maps struct{ Items []struct{} }
	if err := json.Unmarshal(after.Get(ns+"/configmaps").Body, &maps); err != nil || len(maps.Items) <= 50 {
		t.Fatal(err, len(maps.Items))
	}
	after.Run(t, []harness.Step{{"charged", "GET", quotas + "/q", "", "", 200, fmt.Sprintf(`"used":{"configmaps":"%d"}`, len(maps.Items))}})
}

// Absurd amounts are refused, or counted exactly.
func TestAbsurdQuotas(t *testing.T) {
	h := harness.Start(t, nil)
	const ns, merge = "/api/v1/namespaces/default", "application/merge-patch+json"
	quotas, all := ns+"/resourcequotas", `"configmaps":"147573952589676412928","requests.cpu":"0.0000000001"`
	h.Run(t, []harness.Step{
		{"negative", "POST", quotas, "", harness.QuotaOf("q", `"pods":"-1"`, ""), 422, "must be greater than or equal to 0"},
		{"a part of a pod", "POST", quotas, "", harness.QuotaOf("q", `"pods":"1.5"`, ""), 422, "must be an integer"},
		{"a number that fills the memory", "POST", quotas, "", harness.QuotaOf("q", `"cpu":"1e9999999999"`, ""), 400, "of type quantity"},
		{"no number", "POST", quotas, "", harness.QuotaOf("q", `"cpu":"NaN"`, ""), 400, "of type quantity"},
		{"beyond 64 bits", "POST", quotas, "", harness.QuotaOf("q", all, ""), 201, `"hard":{"configmaps":"147573952589676412928","requests.cpu":"1m"}`},
		{"thousandths beyond 64 bits, as in 1.25", "POST", quotas, "", harness.QuotaOf("r", `"configmaps":"99999999999999999999"`, ""), 422, "must be an integer"},
		{"negative use", "PATCH", quotas + "/q/status", merge, `{"status":{"used":{"configmaps":"-5"}}}`, 422, "must be greater than or equal to 0"},
		{"nearly used", "PATCH", quotas + "/q/status", merge, `{"status":{"hard":{` + all + `},"used":{"configmaps":"147573952589676412927","requests.cpu":"0"}}}`, 200, ""},
		{"the last one", "POST", ns + "/configmaps", "", harness.ConfigMap("a", `{}`), 201, ""},
		{"one more", "POST", ns + "/configmaps", "", harness.ConfigMap("b", `{}`), 403, "exceeded quota: q, requested: configmaps=1, used: configmaps=147573952589676412928, limited: configmaps=147573952589676412928"},
		{"too much of nearly nothing", "POST", ns + "/pods", "", podOf("p", container("c", `"requests":{"cpu":"2m"}`), ""), 403, "exceeded quota: q, requested: requests.cpu=2m"},
	})
}

// A limit range that comes while a pod is on its way counts for all of its steps or for none:
// the pod is not refused for a limit that only the range would have given it.
func TestLimitRangeThatComesBetween(t *testing.T) {
	h := harness.Start(t, nil)
	const ns = "/api/v1/namespaces/default"
	ranges := ns + "/limitranges"
	v := harness.NewMutator(t, func(string, map[string]any) string {
		h.Create(ranges, `{"metadata":{"name":"late"},"spec":{"limits":[{"type":"Container","default":{"cpu":"100m"},"max":{"cpu":"200m"}}]}}`)
		return ""
	})
	h.MutateBy(v, "between", harness.ReviewRule(`"CREATE"`, "", "v1", "pods"), "")
	h.Run(t, []harness.Step{{"no limit", "POST", ns + "/pods", "", `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}}`, 201, `"resources":{}`}})
}
