package policy_test

import (
	"strings"
	"testing"
)

func TestPersistentVolume(t *testing.T) {
	head := "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\n"
	with := func(rest string) string {
		return "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, " + rest + "}"
	}
	host := "hostPath: {path: /x}"
	affinity := "nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}"
	runHooks(t, head, []hookCase{{"phase", with(host), "status", `{"phase":"Pending"}`}})
	runCreate(t, head, []createCase{
		{"right", with(host), ""},
		{"no source", with(""), "spec: Required"},
		{"two sources", with("nfs: {server: s, path: /}, " + host), "spec.nfs: Forbidden"},
		{"backsteps", with("hostPath: {path: /..}"), "spec.hostPath.path: Invalid"},
		{"recycled root", with("persistentVolumeReclaimPolicy: Recycle, hostPath: {path: /}"), "spec.persistentVolumeReclaimPolicy: Forbidden"},
		{"no size", "spec: {accessModes: [ReadWriteOnce], hostPath: {path: /}}", "spec.capacity: Required; spec.capacity: NotSupported"},
		{"no storage", "spec: {accessModes: [ReadWriteOnce], capacity: {cpu: 1}, hostPath: {path: /}}", "spec.capacity: NotSupported"},
		{"zero", "spec: {accessModes: [ReadWriteOnce], capacity: {storage: 0}, hostPath: {path: /}}", "spec.capacity[storage]: Invalid"},
		{"local", with("local: {path: /x}"), "spec.nodeAffinity: Required"},
		{"local with affinity", with("local: {path: /x}, " + affinity), ""},
		{"affinity", with(host + ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}"),
			"spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: Required"},
		{"modes that exclude each other", "spec: {accessModes: [ReadWriteOncePod, ReadWriteOnce], capacity: {storage: 1Gi}, " + host + "}", "spec.accessModes: NotSupported; spec.accessModes: Forbidden"},
		{"one mode of its own", "spec: {accessModes: [ReadWriteOncePod], capacity: {storage: 1Gi}, " + host + "}", "spec.accessModes: NotSupported"},
		{"csi secret", with("csi: {driver: d, volumeHandle: h, nodePublishSecretRef: {name: A}}"), "spec.csi.nodePublishSecretRef.name: Invalid; spec.csi.nodePublishSecretRef.namespace: Required"},
	})
	options := "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden"
	runCreate(t, "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v, annotations: {volume.beta.kubernetes.io/mount-options: ro}}\n", []createCase{
		{"mount options", with("nfs: {server: s, path: /}"), ""},
		{"mount options of a host path", with(host), options},
		{"mount options of a driver", with("csi: {driver: d, volumeHandle: h}"), options},
		{"mount options without a source", with(""), "spec: Required; " + options},
	})
	runUpdate(t, head, []updateCase{
		{"class", with(host), with(host + ", storageClassName: c, mountOptions: [a]"), ""},
		{"source", with(host), with("hostPath: {path: /z}"), "spec.persistentvolumesource: Forbidden"},
		{"other source", with(host), with("nfs: {server: s, path: /}"), "spec.persistentvolumesource: Forbidden"},
		{"affinity", with(host), with(host + ", " + affinity), ""},
		{"other affinity", with(host + ", " + affinity), with(host), "nodeAffinity: Invalid"},
	})
	full := with(host + ", storageClassName: c, claimRef: {namespace: n1, name: c}")
	runCells(t, head, []cellCase{
		{"one", full, "Capacity", "1Gi"},
		{"two", "spec: {accessModes: [ReadOnlyMany, ReadWriteOnce], hostPath: {path: /}}", "Access Modes", "RWO,ROX"},
		{"none", "spec: {}", "Capacity", "0"},
		{"phase", "status: {phase: Bound}", "Status", "Bound"},
		{"one", full, "Claim", "n1/c"},
		{"none", "spec: {}", "Claim", ""},
		{"one", full, "StorageClass", "c"},
		{"default", full, "VolumeMode", "Filesystem"},
	})
	runCells(t, "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v, deletionTimestamp: '2024-05-06T11:00:00Z', annotations: {volume.beta.kubernetes.io/storage-class: old}}\n", []cellCase{
		{"deleted", "status: {phase: Bound}", "Status", "Terminating"},
		{"annotation", full, "StorageClass", "old"},
	})
}

func TestPersistentVolumeClaim(t *testing.T) {
	head := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n"
	with := func(rest string) string {
		return "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, " + rest + "}"
	}
	snapshot := "{apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}"
	runHooks(t, head, []hookCase{
		{"phase", with(""), "status", `{"phase":"Pending"}`},
		{"source", with("dataSource: " + snapshot), "spec/dataSourceRef/kind", `"VolumeSnapshot"`},
		{"reference", with("dataSourceRef: " + snapshot), "spec/dataSource/kind", `"VolumeSnapshot"`},
		{"other source", with("dataSource: {apiGroup: a.b, kind: X, name: x}"), "spec/dataSource", ``},
		{"other reference", with("dataSourceRef: {apiGroup: a.b, kind: X, name: x}"), "spec/dataSource/kind", `"X"`},
	})
	runCreate(t, head, []createCase{
		{"right", with("storageClassName: ''"), ""},
		{"nothing", "spec: {}", "spec.accessModes: Required; spec.resources[storage]: Required"},
		{"modes that exclude each other", "spec: {accessModes: [ReadWriteMany, ReadWriteOncePod], resources: {requests: {storage: 1Gi}}}", "spec.accessModes: NotSupported; spec.accessModes: Forbidden"},
		{"zero", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 0}}}", "spec.resources[storage]: Invalid"},
		{"class", with("storageClassName: A"), "spec.storageClassName: Invalid"},
		{"selector", with("selector: {matchExpressions: [{key: a, operator: In}]}"), "spec.selector.matchExpressions[0].values: Required"},
		{"source kind", with("dataSourceRef: {kind: X, name: x}"), "spec.dataSource: Invalid; spec.dataSourceRef: Invalid"},
		{"two sources", with("dataSource: " + snapshot + ", dataSourceRef: {kind: PersistentVolumeClaim, name: x}"), "spec: Invalid"},
	})
	larger := "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}"
	runUpdate(t, head, []updateCase{
		{"volume", with(""), with("volumeName: v"), ""},
		{"other volume", with("volumeName: v"), with("volumeName: w"), "spec: Forbidden"},
		{"modes", with(""), "spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}", "spec: Forbidden"},
		{"size", with(""), larger, "spec: Forbidden"},
		{"smaller", larger, with(""), "spec: Forbidden; spec.resources.requests.storage: Forbidden"},
	})
	old, r := create(t, head+with(""))
	old.Get("status").SetString("phase", "Bound")
	obj, _ := decode(t, head+larger)
	obj.Put("status", old.Get("status"))
	expect(t, causes(r, obj, old), "")

	inClass := func(name string) string {
		return strings.Replace(head, "name: c", "name: c, annotations: {volume.beta.kubernetes.io/storage-class: "+name+"}", 1) + with("")
	}
	old, r = create(t, inClass("a"))
	obj, _ = create(t, inClass("b"))
	expect(t, causes(r, obj, old), "metadata.annotations.volume.beta.kubernetes.io/storage-class: Invalid")
	bound := with("volumeName: v, storageClassName: c")
	runCells(t, head, []cellCase{
		{"pending", with(""), "Capacity", ""},
		{"pending", with(""), "Access Modes", ""},
		{"unknown", bound, "Capacity", "0"},
		{"bound", bound + "\nstatus: {phase: Bound, capacity: {storage: 5Gi}, accessModes: [ReadWriteOncePod, ReadWriteMany]}", "Capacity", "5Gi"},
		{"bound", bound + "\nstatus: {phase: Bound, capacity: {storage: 5Gi}, accessModes: [ReadWriteOncePod, ReadWriteMany]}", "Access Modes", "RWX,RWOP"},
		{"pending", with("") + "\nstatus: {phase: Pending}", "Status", "Pending"},
		{"bound", bound, "StorageClass", "c"},
		{"bound", bound, "VolumeMode", "Filesystem"},
	})
}

func TestLimitRange(t *testing.T) {
	head := "apiVersion: v1\nkind: LimitRange\nmetadata: {name: l}\n"
	item := func(text string) string { return "spec: {limits: [{" + text + "}]}" }
	at := "spec.limits[0]"
	runHooks(t, head, []hookCase{
		{"max", item("type: Container, max: {cpu: 4}, min: {cpu: 1}"), "spec/limits/0", `{"type":"Container","max":{"cpu":"4"},"min":{"cpu":"1"},"default":{"cpu":"4"},"defaultRequest":{"cpu":"4"}}`},
		{"min", item("type: Container, min: {cpu: 1}"), "spec/limits/0", `{"type":"Container","min":{"cpu":"1"},"defaultRequest":{"cpu":"1"}}`},
		{"pod", item("type: Pod, max: {cpu: 4}"), "spec/limits/0", `{"type":"Pod","max":{"cpu":"4"}}`},
	})
	runCreate(t, head, []createCase{
		{"min over max", item("type: Container, max: {cpu: 1}, min: {cpu: 2}"), at + ".defaultRequest[cpu]: Invalid;" + at + ".default[cpu]: Invalid;" + at + ".min[cpu]: Invalid"},
		{"default over max", item("type: Container, max: {cpu: 1}, default: {cpu: 2}, defaultRequest: {cpu: 1}"), at + ".default[cpu]: Invalid"},
		{"request over default", item("type: Container, default: {cpu: 1}, defaultRequest: {cpu: 2}"), at + ".defaultRequest[cpu]: Invalid"},
		{"pod default", item("type: Pod, default: {cpu: 1}, defaultRequest: {cpu: 1}"), at + ".default: Forbidden;" + at + ".defaultRequest: Forbidden"},
		{"claim", item("type: PersistentVolumeClaim"), at + ".limits: Required"},
		{"type", item("type: X"), at + ".type: Invalid"},
		{"own type", item("type: example.com/X, max: {example.com/a: 1}"), ""},
		{"twice", "spec: {limits: [{type: Pod}, {type: Pod}]}", "spec.limits[1].type: Duplicate"},
		{"resource", item("type: Pod, max: {x: 1}"), at + ".max[x]: Invalid"},
		{"ratio", item("type: Pod, maxLimitRequestRatio: {cpu: 500m}"), at + ".maxLimitRequestRatio[cpu]: Invalid"},
		{"wide ratio", item("type: Pod, min: {cpu: 1}, max: {cpu: 2}, maxLimitRequestRatio: {cpu: 3}"), at + ".maxLimitRequestRatio[cpu]: Invalid"},
	})
}

func TestResourceQuota(t *testing.T) {
	head := "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"
	selector := func(e string) string { return "spec: {scopeSelector: {matchExpressions: [{" + e + "}]}}" }
	at := "spec.scopeSelector.matchExpressions"
	runCreate(t, head, []createCase{
		{"right", "spec: {hard: {pods: 5, requests.cpu: 1, count/deployments.apps: 3, requests.storage: 1Gi}}", ""},
		{"negative", "spec: {hard: {pods: -1}}", "spec.hard[pods]: Invalid"},
		{"fraction", "spec: {hard: {pods: 500m}}", "spec.hard[pods]: Invalid"},
		// Amounts whose thousandths do not fit into 64 bits are those that 1.25 refuses.
		{"wide thousandths", "spec: {hard: {pods: \"3212233079244.8599528e12\", count/configmaps: 558530435.617483T, secrets: 94811311440242646.975140261P}}", "spec.hard[count/configmaps]: Invalid; spec.hard[pods]: Invalid; spec.hard[secrets]: Invalid"},
		{"fits", "spec: {hard: {pods: 9223372036854775, secrets: 1000m, services: 1e3, requests.cpu: 1m}}", ""},
		{"unknown", "spec: {hard: {x: 1, storage: 1}}", "spec.hard[x]: Invalid; spec.hard[storage]: Invalid"},
		{"scope", "spec: {hard: {pods: 1}, scopes: [NotTerminating]}", ""},
		{"unknown scope", "spec: {scopes: [X]}", "spec.scopes: Invalid"},
		{"conflict", "spec: {scopes: [Terminating, NotTerminating]}", "spec.scopes: Invalid"},
		{"scope of others", "spec: {hard: {secrets: 1}, scopes: [Terminating]}", "spec.scopes: Invalid"},
		{"best effort", "spec: {hard: {cpu: 1}, scopes: [BestEffort]}", "spec.scopes: Invalid"},
		{"in", selector("scopeName: PriorityClass, operator: In, values: [a]"), ""},
		{"in nothing", selector("scopeName: PriorityClass, operator: In"), at + ".values: Required"},
		{"exists with values", selector("scopeName: PriorityClass, operator: Exists, values: [a]"), at + ".values: Invalid"},
		{"operator", selector("scopeName: Terminating, operator: In, values: [a]"), at + ".operator: Invalid"},
	})
	status := "status: {hard: {limits.cpu: 4, pods: 10, requests.cpu: 2}, used: {limits.cpu: 1, pods: 3}}"
	runCells(t, head, []cellCase{
		{"two", status, "Request", "pods: 3/10, requests.cpu: 0/2"},
		{"one", status, "Limit", "limits.cpu: 1/4"},
		{"none", "spec: {hard: {pods: 5}}", "Request", ""},
	})
}
