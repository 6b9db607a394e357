package policy_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func TestStorageClass(t *testing.T) {
	head := "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: s}\n"
	with := func(text string) string { return "provisioner: p.io/x\n" + text }
	placed := with("allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b, c]}]}, {matchLabelExpressions: [{key: a, values: [c, b]}]}]")
	term := func(text string) string { return with("allowedTopologies: [{matchLabelExpressions: [" + text + "]}]") }
	at := "allowedTopologies[0].matchLabelExpressions"
	runCreate(t, head, []createCase{
		{"right", with(""), ""},
		{"capitals", "provisioner: P.io/X", ""},
		{"nobody", "", "provisioner: Required"},
		{"words", "provisioner: a b", "provisioner: Invalid"},
		{"empty parameter", with("parameters: {'': a}"), "parameters: Invalid"},
		{"large parameters", with("parameters: {a: " + strings.Repeat("x", 256<<10) + "}"), "parameters: TooLong"},
		{"places", term("{key: a, values: [b, c]}"), ""},
		{"keys", term("{key: a, values: [b]}, {key: a, values: [c]}"), at + "[1].key: Duplicate"},
		{"no values", term("{key: a}"), at + "[0].values: Required"},
		{"no key", term("{values: [a]}"), at + "[0].key: Invalid"},
		{"the same places", placed, "allowedTopologies[1].matchLabelExpressions: Duplicate"},
		{"no place", with("allowedTopologies: [{}]"), "allowedTopologies[0].matchLabelExpressions: Duplicate"},
		{"values", term("{key: a, values: [b, b]}"), at + "[0].values[1]: Duplicate"},
		{"bad key", term("{key: a b, values: [b]}"), at + "[0].key: Invalid"},
		{"terms", with("allowedTopologies: [{matchLabelExpressions: [{key: a, values: [b]}]}, {matchLabelExpressions: [{key: a, values: [b]}]}]"),
			"allowedTopologies[1].matchLabelExpressions: Duplicate"},
	})
	runUpdate(t, head, []updateCase{
		{"growth", with(""), with("allowVolumeExpansion: true\nmountOptions: [ro]"), ""},
		{"provisioner", with(""), "provisioner: q.io/x", "provisioner: Forbidden"},
		{"parameters", with(""), with("parameters: {a: b}"), "parameters: Forbidden"},
		{"reclaim", with(""), with("reclaimPolicy: Retain"), "reclaimPolicy: Forbidden"},
		{"binding", with(""), with("volumeBindingMode: WaitForFirstConsumer"), "volumeBindingMode: Invalid"},
	})
	runCells(t, head, []cellCase{{"plain", with(""), "Name", "s"}, {"growth", with(""), "AllowVolumeExpansion", false}})
	runCells(t, "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: s, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}\n",
		[]cellCase{{"default", with(""), "Name", "s (default)"}})
}

// TestProvisionerShown: the cause of a wrong provisioner shows its text in lower case.
func TestProvisionerShown(t *testing.T) {
	obj, r := create(t, "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: s}\nprovisioner: A b\n")
	all := r.Hooks.Validate(obj, document.Value{})
	if len(all) != 1 || !strings.HasPrefix(all[0].Message, `Invalid value: "a b": `) {
		t.Errorf("causes: %v", all)
	}
}

func TestCSIDriver(t *testing.T) {
	head := "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: d.io}\n"
	runHooks(t, head, []hookCase{
		{"modes", "spec: {}", "spec/volumeLifecycleModes", `["Persistent"]`},
		{"attach", "spec: {}", "spec/attachRequired", "true"},
	})
	runCreate(t, head, []createCase{
		{"right", "spec: {}", ""},
		{"tokens", "spec: {tokenRequests: [{audience: a}, {audience: a}]}", "spec.tokenRequests[1].audience: Duplicate"},
		{"short", "spec: {tokenRequests: [{audience: a, expirationSeconds: 599}]}", "spec.tokenRequests[0].expirationSeconds: Invalid"},
		{"mode", "spec: {volumeLifecycleModes: [Eternal]}", "spec.volumeLifecycleModes: NotSupported"},
	})
	runUpdate(t, head, []updateCase{
		{"attach", "spec: {}", "spec: {attachRequired: false}", "spec.attachedRequired: Invalid"},
		{"modes", "spec: {}", "spec: {volumeLifecycleModes: [Ephemeral]}", "spec.volumeLifecycleModes: Invalid"},
		{"capacity", "spec: {}", "spec: {storageCapacity: true, requiresRepublish: true}", ""},
	})
	old, r := create(t, head+"spec: {}")
	for _, c := range []struct{ object, want string }{
		{"spec: {storageCapacity: true}", ""},
		{"spec: {requiresRepublish: true}", "1"},
		{"spec: {tokenRequests: [{audience: a}]}", "1"},
	} {
		obj, _ := decode(t, head+c.object)
		r.Hooks.Update(obj, old)
		expectAt(t, obj, "metadata/generation", c.want)
	}
	runCells(t, head, []cellCase{
		{"none", "spec: {}", "TokenRequests", "<unset>"},
		{"two", "spec: {tokenRequests: [{audience: a}, {audience: b}]}", "TokenRequests", "a,b"},
		{"default", "spec: {}", "Modes", "Persistent"},
	})
}

func TestCSINode(t *testing.T) {
	head := "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: c}\n"
	with := func(text string) string { return "spec: {drivers: [" + text + "]}" }
	runCreate(t, head, []createCase{
		{"none", with(""), ""},
		{"nothing", "", ""},
		{"no id", with("{name: a}"), "spec.drivers[0].nodeID: Required"},
		{"twice", with("{name: a, nodeID: x}, {name: a, nodeID: x}"), "spec.drivers[1].name: Duplicate"},
		{"keys", with("{name: a, nodeID: x, topologyKeys: [a, a]}"), "spec.drivers[0]: Duplicate"},
		{"empty key", with("{name: a, nodeID: x, topologyKeys: ['']}"), "spec.drivers[0]: Required; spec.drivers[0]: Invalid"},
		{"no name", with("{nodeID: x}"), "spec.drivers[0].name: Required; spec.drivers[0].name: Invalid"},
		{"name", with("{name: A.b, nodeID: x}"), ""},
		{"long id", with("{name: a, nodeID: " + strings.Repeat("x", 257) + "}"), "spec.drivers[0].nodeID: Invalid"},
		{"count", with("{name: a, nodeID: x, allocatable: {count: -1}}"), "spec.drivers[0].allocatable.count: Invalid"},
	})
	runUpdate(t, head, []updateCase{
		{"gone", with("{name: a, nodeID: x}"), with("{name: b, nodeID: x}"), ""},
		{"changed", with("{name: a, nodeID: x}"), with("{name: a, nodeID: z}"), "CSINodeDriver: Invalid"},
	})
	runCells(t, head, []cellCase{{"two", with("{name: a, nodeID: x}, {name: b, nodeID: x}"), "Drivers", int64(2)}})
}

func TestCSIStorageCapacity(t *testing.T) {
	head := "apiVersion: storage.k8s.io/v1\nkind: CSIStorageCapacity\nmetadata: {name: c}\n"
	runCreate(t, head, []createCase{
		{"right", "storageClassName: s\ncapacity: 1Gi", ""},
		{"no class", "", "storageClassName: Invalid"},
		{"less than nothing", "storageClassName: s\ncapacity: -1\nmaximumVolumeSize: -1Gi", "capacity: Invalid"},
	})
	runUpdate(t, head, []updateCase{
		{"capacity", "storageClassName: s\ncapacity: 1Gi", "storageClassName: s\ncapacity: 2Gi", ""},
		{"class", "storageClassName: s", "storageClassName: t", "storageClassName: Invalid"},
		{"nodes", "storageClassName: s", "storageClassName: s\nnodeTopology: {}", "nodeTopology: Invalid"},
	})
}

func TestVolumeAttachment(t *testing.T) {
	head := "apiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {name: v}\n"
	with := func(source string) string { return "spec: {attacher: d.io, nodeName: nn, source: {" + source + "}}" }
	inline := func(more string) string {
		return with("inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: d.io, volumeHandle: h}" + more + "}")
	}
	at := "spec.source.inlineVolumeSpec"
	runHooks(t, head, []hookCase{{"no defaults of volumes", inline(""), "spec/source/inlineVolumeSpec/volumeMode", ""}})
	runCreate(t, head, []createCase{
		{"right", with("persistentVolumeName: pv"), ""},
		{"nothing", "spec: {}", "spec.attacher: Required; spec.attacher: Invalid; spec.nodeName: Invalid; spec.source: Required"},
		{"both and wrong", with("persistentVolumeName: pv, inlineVolumeSpec: {}"), "spec.source: Forbidden"},
		{"inline and wrong", with("inlineVolumeSpec: {nodeAffinity: {required: {nodeSelectorTerms: [{}]}}, volumeMode: Block}"),
			at + ".accessModes: Required; " + at + ".csi: Required; " + at + ": Required; " + at + ".volumeMode: Forbidden; " + at + ".nodeAffinity: Forbidden"},
		{"no name", with("persistentVolumeName: ''"), "spec.source.persistentVolumeName: Invalid; spec.source.persistentVolumeName: Required"},
		{"both", with("persistentVolumeName: pv, inlineVolumeSpec: {accessModes: [ReadWriteOnce], csi: {driver: d, volumeHandle: h}}"), "spec.source: Forbidden"},
		{"inline", inline(""), ""},
		{"what volumes have", inline(", capacity: {storage: 1Gi}, storageClassName: s"), at + ".capacity: Forbidden; " + at + ".storageClassName: Forbidden"},
		{"other source", with("inlineVolumeSpec: {accessModes: [ReadWriteOnce], nfs: {server: s, path: /}}"), at + ".csi: Required"},
	})
	runUpdate(t, head, []updateCase{
		{"same", inline(""), inline(""), ""},
		{"node", with("persistentVolumeName: pv"), "spec: {attacher: d.io, nodeName: mm, source: {persistentVolumeName: pv}}", "spec: Invalid"},
	})
}
