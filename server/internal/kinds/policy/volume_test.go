package policy_test

import "testing"

func TestVolumes(t *testing.T) {
	volume := func(source string) string {
		return "spec: {serviceAccountName: a, containers: [{name: c, image: i}], volumes: [{name: v, " + source + "}]}"
	}
	at := "spec.volumes[0]"
	runCreate(t, podHead, []createCase{
		{"two names", "spec: {containers: [{name: c, image: i}], volumes: [{name: v}, {name: v}]}", "spec.volumes[1].name: Duplicate"},
		{"two sources", volume("emptyDir: {}, hostPath: {path: /}, secret: {secretName: s}"), at + ".hostPath: Forbidden;" + at + ".secret: Forbidden"},
		{"backsteps", volume("hostPath: {path: /a/../b}"), at + ".hostPath.path: Invalid"},
		{"negative size", volume("emptyDir: {sizeLimit: -1}"), at + ".emptyDir.sizeLimit: Forbidden"},
		{"git", volume("gitRepo: {repository: r, directory: ../x}"), at + ".gitRepo.directory: Invalid"},
		{"item", volume("secret: {secretName: s, items: [{key: k, path: ../p}]}"), at + ".secret.items[0].path: Invalid"},
		{"hidden item", volume("configMap: {name: s, items: [{key: k, path: ..p}]}"), at + ".configMap.items[0].path: Invalid"},
		{"iscsi", volume("iscsi: {targetPortal: p, lun: 0, iqn: x}"), at + ".iscsi.iqn: Invalid"},
		{"iscsi name", volume("iscsi: {targetPortal: p, lun: 0, iqn: 'iqn.2001-04.com.example:storage'}"), ""},
		{"iscsi chap", volume("iscsi: {targetPortal: p, lun: 0, iqn: 'iqn.2001-04.com.example:storage', chapAuthSession: true}"), at + ".iscsi.secretRef: Required"},
		{"fc nothing", volume("fc: {}"), at + ".fc.targetWWNs: Required"},
		{"fc lun", volume("fc: {targetWWNs: [a]}"), at + ".fc.lun: Required"},
		{"fc both", volume("fc: {targetWWNs: [a], wwids: [b], lun: 1}"), at + ".fc.targetWWNs: Invalid"},
		{"flocker", volume("flocker: {}"), at + ".flocker: Required"},
		{"flocker both", volume("flocker: {datasetName: a, datasetUUID: b}"), at + ".flocker: Invalid"},
		{"flocker slash", volume("flocker: {datasetName: a/b}"), at + ".flocker.datasetName: Invalid"},
		{"quobyte", volume("quobyte: {registry: host, volume: v}"), at + ".quobyte.registry: Invalid"},
		{"quobyte several", volume("quobyte: {registry: 'host:1,other:2', volume: v}"), ""},
		{"azure blob", volume("azureDisk: {diskName: d, diskURI: x}"), at + ".azureDisk.diskURI: NotSupported"},
		{"azure managed", volume("azureDisk: {diskName: d, diskURI: 'https://x', kind: Managed}"), at + ".azureDisk.diskURI: NotSupported"},
		{"csi secret", volume("csi: {driver: d, nodePublishSecretRef: {}}"), at + ".csi.nodePublishSecretRef.name: Required"},
		{"csi secret name", volume("csi: {driver: d, nodePublishSecretRef: {name: A}}"), at + ".csi.name: Invalid"},
		{"claim", volume("ephemeral: {volumeClaimTemplate: {spec: {}}}"),
			at + ".ephemeral.volumeClaimTemplate.spec.accessModes: Required;" + at + ".ephemeral.volumeClaimTemplate.spec.resources[storage]: Required"},
		{"downward", volume("downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.labels}}]}"), ""},
		{"downward nothing", volume("downwardAPI: {items: [{path: p}]}"), at + ".downwardAPI: Required"},
		{"downward both", volume("downwardAPI: {items: [{path: p, fieldRef: {fieldPath: metadata.labels}, resourceFieldRef: {containerName: c, resource: limits.cpu}}]}"), at + ".downwardAPI: Invalid"},
		{"downward container", volume("downwardAPI: {items: [{path: p, resourceFieldRef: {resource: limits.cpu}}]}"), at + ".downwardAPI.resourceFieldRef.containerName: Required"},
		{"downward field", volume("downwardAPI: {items: [{path: p, fieldRef: {fieldPath: spec.nodeName}}]}"), at + ".downwardAPI.fieldRef.fieldPath: NotSupported"},
		{"downward path", volume("downwardAPI: {items: [{path: /p, fieldRef: {fieldPath: metadata.name}}]}"), at + ".downwardAPI.path: Invalid"},
		{"projected", volume("projected: {sources: [{secret: {name: s, items: [{key: k, path: p}]}}, {configMap: {name: m, items: [{key: k, path: p}]}}]}"), at + ".projected: Invalid"},
		{"projected two", volume("projected: {sources: [{secret: {name: s}, configMap: {name: m}}]}"), at + ".projected.sources[0]: Forbidden"},
	})
}

func TestMounts(t *testing.T) {
	with := func(rest string) string {
		return "spec: {volumes: [{name: v}, {name: d, persistentVolumeClaim: {claimName: x}}], containers: [{name: c, image: i, " + rest + "}]}"
	}
	at := "spec.containers[0]"
	runCreate(t, podHead, []createCase{
		{"right", with("volumeMounts: [{name: v, mountPath: /a, subPath: b}], volumeDevices: [{name: d, devicePath: /dev/x}]"), ""},
		{"unknown", with("volumeMounts: [{name: x, mountPath: /a}]"), at + ".volumeMounts[0].name: NotFound"},
		{"same path", with("volumeMounts: [{name: v, mountPath: /a}, {name: d, mountPath: /a}]"), at + ".volumeMounts[1].mountPath: Invalid"},
		{"sub path", with("volumeMounts: [{name: v, mountPath: /a, subPath: /b}]"), at + ".volumeMounts.subPath: Invalid"},
		{"two sub paths", with("volumeMounts: [{name: v, mountPath: /a, subPath: b, subPathExpr: c}]"), at + ".volumeMounts[0].subPathExpr: Invalid"},
		{"propagation", with("volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]"), at + ".volumeMounts.mountPropagation: Forbidden"},
		{"privileged", with("securityContext: {privileged: true}, volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]"), ""},
		{"no block device", with("volumeDevices: [{name: v, devicePath: /a}]"), at + ".volumeDevices[0].name: Invalid"},
		{"unknown device", with("volumeDevices: [{name: x, devicePath: /a}]"), at + ".volumeDevices[0].name: NotFound"},
		{"mounted device", with("volumeMounts: [{name: d, mountPath: /a}], volumeDevices: [{name: d, devicePath: /a}]"),
			at + ".volumeMounts[0].name: Invalid;" + at + ".volumeMounts[0].mountPath: Invalid;" + at + ".volumeDevices[0].name: Invalid;" + at + ".volumeDevices[0].devicePath: Invalid"},
		{"same device", with("volumeDevices: [{name: d, devicePath: /a}, {name: d, devicePath: /a}]"), at + ".volumeDevices[1].name: Invalid;" + at + ".volumeDevices[1].devicePath: Invalid"},
		{"device path", with("volumeDevices: [{name: d, devicePath: /a/..}]"), at + ".volumeDevices[0].devicePath: Invalid"},
	})
}
