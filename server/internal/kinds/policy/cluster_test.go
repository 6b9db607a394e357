package policy_test

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestNamespace(t *testing.T) {
	head := "apiVersion: v1\nkind: Namespace\nmetadata: {name: n1, labels: {kubernetes.io/metadata.name: other}}\n"
	runHooks(t, head, []hookCase{
		{"label", "", "metadata/labels", `{"kubernetes.io/metadata.name":"n1"}`},
		{"status", "", "status", `{"phase":"Active"}`},
		{"finalizer", "", "spec/finalizers", `["kubernetes"]`},
		{"finalizers", "spec: {finalizers: [kubernetes, a/b]}", "spec/finalizers", `["kubernetes","a/b"]`},
		{"own finalizer", "spec: {finalizers: [a/b]}", "spec/finalizers", `["a/b","kubernetes"]`},
	})
	runCreate(t, head, []createCase{
		{"plain", "spec: {finalizers: [a]}", "spec.finalizers: Invalid"},
		{"bad", "spec: {finalizers: ['a b']}", "spec.finalizers: Invalid"},
	})
	old, r := create(t, head)
	obj, _ := decode(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: n1, labels: {a: b}}\nspec: {finalizers: [x/z]}\n")
	r.Hooks.Update(obj, old)
	expectAt(t, obj, "spec/finalizers", `["kubernetes"]`)
	expectAt(t, obj, "metadata/labels", `{"a":"b","kubernetes.io/metadata.name":"n1"}`)
}

func TestNode(t *testing.T) {
	head := "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
	runHooks(t, head, []hookCase{
		{"one range", "spec: {podCIDR: 10.1.0.0/24}", "spec/podCIDRs", `["10.1.0.0/24"]`},
		{"list of ranges", "spec: {podCIDRs: [10.1.0.0/24]}", "spec/podCIDR", `"10.1.0.0/24"`},
		{"allocatable", "status: {capacity: {cpu: 1}}", "status/allocatable", `{"cpu":"1"}`},
		{"given", "status: {capacity: {cpu: 1}, allocatable: {cpu: 500m}}", "status/allocatable", `{"cpu":"500m"}`},
	})
	runCreate(t, head, []createCase{
		{"taints", "spec: {taints: [{key: a, effect: NoSchedule}, {key: a, effect: NoExecute}, {key: a, value: x, effect: NoSchedule}]}", "metadata.taints[2]: Duplicate"},
		{"taint without anything", "spec: {taints: [{}]}", "metadata.taints[0].key: Invalid; metadata.taints[0].effect: Required"},
		{"taint of another effect", "spec: {taints: [{key: a, effect: X}]}", "metadata.taints[0].effect: NotSupported"},
		{"families", "spec: {podCIDRs: [10.1.0.0/24, 10.2.0.0/24]}", "spec.podCIDRs: Invalid"},
		{"dual", "spec: {podCIDRs: [10.1.0.0/24, 'fd00::/64']}", ""},
		{"same", "spec: {podCIDRs: [10.1.0.0/24, 10.1.0.0/24]}", "spec.podCIDRs: Invalid; spec.podCIDRs[1]: Duplicate"},
		{"no range", "spec: {podCIDRs: [10.1.0.0/24, x]}", "spec.podCIDRs[1]: Invalid; spec.podCIDRs: InternalError; spec.podCIDRs: Invalid"},
		{"capacity", "status: {capacity: {cpu: -1}, allocatable: {pods: 500m}}", "status.capacity.cpu: Invalid; status.allocatable.pods: Invalid"},
	})
	set := "spec: {podCIDR: 10.1.0.0/24, providerID: a}"
	runUpdate(t, head, []updateCase{
		{"set", "spec: {}", set, ""},
		{"unset range", set, "spec: {providerID: a, unschedulable: true, taints: [{key: a, effect: NoSchedule}]}", "spec.podCIDRs: Forbidden"},
		{"other range", set, "spec: {podCIDR: 10.2.0.0/24, providerID: a}", "spec.podCIDRs: Forbidden"},
		{"provider", set, "spec: {podCIDR: 10.1.0.0/24, providerID: b}", "spec.providerID: Forbidden"},
		{"external", set, "spec: {podCIDR: 10.1.0.0/24, providerID: a, externalID: x}", "spec.externalID: Forbidden"},
	})
	info := "status: {addresses: [{type: InternalIP, address: 1.2.3.4}], nodeInfo: {osImage: os, kernelVersion: '5', containerRuntimeVersion: 'c://1'}, conditions: [{type: Ready, status: 'True'}]}"
	runCells(t, head, []cellCase{
		{"none", "", "Status", "Unknown"},
		{"ready", info, "Status", "Ready"},
		{"not ready", "status: {conditions: [{type: Ready, status: Unknown}]}", "Status", "NotReady"},
		{"cordoned", "spec: {unschedulable: true}\n" + info, "Status", "Ready,SchedulingDisabled"},
		{"none", "", "Roles", "<none>"},
		{"none", "", "Internal-IP", "<none>"},
		{"one", info, "Internal-IP", "1.2.3.4"},
		{"none", info, "External-IP", "<none>"},
		{"one", info, "OS-Image", "os"},
		{"none", "", "Kernel-Version", "<unknown>"},
		{"one", info, "Container-Runtime", "c://1"},
	})
	runCells(t, "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {node-role.kubernetes.io/worker: '', node-role.kubernetes.io/control: '', kubernetes.io/role: worker, a: b}}\n",
		[]cellCase{{"two", "", "Roles", "control,worker"}})
}

func TestConfigMap(t *testing.T) {
	head := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"
	runCreate(t, head, []createCase{
		{"key", "data: {'a b': c}", "data[a b]: Invalid"},
		{"both", "data: {a: b}\nbinaryData: {a: YQ==}", "data[a]: Invalid"},
	})
	fixed := "immutable: true\ndata: {a: b}"
	runUpdate(t, head, []updateCase{
		{"same", fixed, fixed, ""},
		{"data", fixed, "immutable: true\ndata: {a: c}", "data: Forbidden"},
		{"binary", fixed, "immutable: true\ndata: {a: b}\nbinaryData: {c: YQ==}", "binaryData: Forbidden"},
		{"flag", fixed, "data: {a: b}", "immutable: Forbidden"},
		{"free", "data: {a: b}", "data: {a: c}", ""},
	})
	runCells(t, head, []cellCase{{"three", "data: {a: b, c: d}\nbinaryData: {e: YQ==}", "Data", int64(3)}})
}

func TestSecret(t *testing.T) {
	head := "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	runHooks(t, head, []hookCase{
		{"text", "stringData: {a: text}\ndata: {a: YQ==, b: Yg==}", "data", `{"a":"dGV4dA==","b":"Yg=="}`},
		{"gone", "stringData: {a: text}", "stringData", ``},
	})
	data := func(kind, data string) string { return "type: kubernetes.io/" + kind + "\nstringData: {" + data + "}" }
	runCreate(t, head, []createCase{
		{"key", "data: {'a b': YQ==}", "data[a b]: Invalid"},
		{"token", data("service-account-token", ""), "metadata.annotations[kubernetes.io/service-account.name]: Required"},
		{"registry", data("dockerconfigjson", "a: b"), "data[.dockerconfigjson]: Required"},
		{"registry text", data("dockercfg", ".dockercfg: x"), "data[.dockercfg]: Invalid"},
		{"registry object", data("dockercfg", ".dockercfg: '{}'"), ""},
		{"basic", data("basic-auth", ""), "data[username]: Required; data[password]: Required"},
		{"basic password", data("basic-auth", "password: a"), ""},
		{"ssh", data("ssh-auth", ""), "data[ssh-privatekey]: Required"},
		{"tls", data("tls", "tls.crt: a"), "data[tls.key]: Required"},
	})
	runUpdate(t, head, []updateCase{
		{"data", "immutable: true\ndata: {a: YQ==}", "immutable: true\ndata: {a: Yg==}", "data: Forbidden"},
		{"type", "type: a", "type: b", "type: Invalid"},
	})
	runCells(t, head, []cellCase{{"two", "stringData: {a: b, c: d}", "Data", int64(2)}})
}

// Config maps and secrets hold a mebibyte of values.
func TestDataSize(t *testing.T) {
	object := func(kind, data string) string {
		return `{"apiVersion":"v1","kind":"` + kind + `","metadata":{"name":"a"},` + data + `}`
	}
	half := strings.Repeat("x", 1<<19)
	encoded := func(size int) string { return base64.StdEncoding.EncodeToString(make([]byte, size)) }
	runCreate(t, "", []createCase{
		{"texts", object("ConfigMap", `"data":{"a":"`+half+`","b":"`+half+`"}`), ""},
		{"texts and bytes", object("ConfigMap", `"data":{"a":"`+half+`","b":"`+half+`"},"binaryData":{"c":"YQ=="}`), "[]: TooLong"},
		{"secret", object("Secret", `"data":{"a":"`+encoded(1<<20)+`"}`), ""},
		{"one byte more", object("Secret", `"data":{"a":"`+encoded(1<<20+1)+`"}`), "data: TooLong"},
	})
}

func TestServiceAccount(t *testing.T) {
	head := "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s}\n"
	object := "secrets: [{kind: Secret, name: a, namespace: x, uid: u}, {name: b}]"
	runHooks(t, head, []hookCase{{"names", object, "secrets", `[{"name":"a"},{"name":"b"}]`}})
	runCells(t, head, []cellCase{{"two", object, "Secrets", int64(2)}})
}

func TestComponentStatus(t *testing.T) {
	head := "apiVersion: v1\nkind: ComponentStatus\nmetadata: {name: c}\n"
	runCells(t, head, []cellCase{
		{"none", "", "Status", "Unknown"},
		{"healthy", "conditions: [{type: Healthy, status: 'True', message: ok}]", "Status", "Healthy"},
		{"healthy", "conditions: [{type: Healthy, status: 'True', message: ok}]", "Message", "ok"},
		{"unhealthy", "conditions: [{type: Healthy, status: 'False', error: bad}]", "Status", "Unhealthy"},
		{"unhealthy", "conditions: [{type: Healthy, status: 'False', error: bad}]", "Error", "bad"},
	})
}

func TestEvent(t *testing.T) {
	in := func(namespace string) string {
		return "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: " + namespace + "}\n"
	}
	modern := "eventTime: '2024-05-06T11:00:00.000000Z'\n"
	runCreate(t, in("a"), []createCase{
		{"right", "involvedObject: {kind: Pod, name: p, namespace: a}", ""},
		{"elsewhere", "involvedObject: {kind: Pod, name: p, namespace: b}", "involvedObject.namespace: Invalid"},
		{"nowhere", "involvedObject: {kind: Pod, name: p}", "involvedObject.namespace: Invalid"},
		{"modern", modern + "involvedObject: {namespace: a}\nreportingComponent: c\nreportingInstance: i\naction: A\nreason: R", ""},
		{"bare", modern + "involvedObject: {namespace: a}", "reportingController: Required; reportingController: Invalid; reportingInstance: Required; action: Required; reason: Required"},
		{"long", modern + "involvedObject: {namespace: a}\nreportingComponent: c d\nreportingInstance: i\nreason: R\naction: " + strings.Repeat("x", 129),
			"reportingController: Invalid; action: Invalid"},
	})
	runCreate(t, in("default"), []createCase{{"of the cluster", "involvedObject: {kind: Node, name: n1}", ""}})
	old := "involvedObject: {kind: Pod, name: p}\nfirstTimestamp: '2024-05-06T11:00:00Z'\nlastTimestamp: '2024-05-06T11:57:00Z'\ncount: 3\nmessage: ' text '\nsource: {component: c, host: h}\n"
	runCells(t, in("a"), []cellCase{
		{"old", old, "First Seen", "60m"},
		{"old", old, "Last Seen", "3m"},
		{"old", old, "Count", int64(3)},
		{"old", old, "Object", "pod/p"},
		{"old", old, "Source", "c, h"},
		{"old", old, "Message", "text"},
		{"none", "involvedObject: {kind: Pod}", "Object", "pod"},
		{"none", "involvedObject: {}", "Last Seen", "<unknown>"},
		{"none", "involvedObject: {}", "Count", int64(1)},
		{"modern", modern + "involvedObject: {}\nreportingComponent: r", "First Seen", "60m"},
		{"modern", modern + "involvedObject: {}\nreportingComponent: r", "Last Seen", "60m"},
		{"modern", modern + "involvedObject: {}\nreportingComponent: r", "Source", "r"},
		{"host alone", "involvedObject: {}\nsource: {host: h}", "Source", ", h"},
		{"host of the source", "involvedObject: {}\nsource: {host: h}\nreportingComponent: r\nreportingInstance: i", "Source", "r, h"},
		{"instance beside a component", "involvedObject: {}\nsource: {component: c}\nreportingComponent: r\nreportingInstance: i", "Source", "c, i"},
		{"series", modern + "involvedObject: {}\nseries: {count: 7, lastObservedTime: '2024-05-06T11:59:55.000000Z'}", "Last Seen", "5s"},
		{"series", modern + "involvedObject: {}\nseries: {count: 7}", "Count", int64(7)},
	})
}

func TestRuntimeClass(t *testing.T) {
	head := "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: r}\nhandler: kata\n"
	at := "scheduling.tolerations"
	runCreate(t, head, []createCase{
		{"right", "overhead: {podFixed: {cpu: 100m}}\nscheduling: {tolerations: [{key: a, operator: Exists}]}", ""},
		{"overhead", "overhead: {podFixed: {cpu: -1, stones: 1}}", "overhead.limits[cpu]: Invalid; overhead.limits[stones]: Invalid"},
		{"toleration", "scheduling: {tolerations: [{operator: Equal, effect: Never}]}", at + ".tolerations[0].operator: Invalid; " + at + ".tolerations[0].effect: NotSupported"},
		{"twice", "scheduling: {tolerations: [{key: a, operator: Exists}, {key: a, operator: Exists}]}", at + "[1]: Duplicate"},
	})
}
