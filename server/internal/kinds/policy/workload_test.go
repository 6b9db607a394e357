package policy_test

import (
	"strings"
	"testing"
)

// workload is a workload with template t and more members in its spec.
func workload(kind, template, more string) string {
	return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: w}\nspec: {template: {" + template + "}, " + more + "}"
}

const (
	appTemplate = "metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i}]}"
	appSelector = "selector: {matchLabels: {app: a}}"
)

func TestSelectors(t *testing.T) {
	for _, kind := range []string{"Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"} {
		t.Run(kind, func(t *testing.T) {
			missing, refused, more := "spec.selector: Required; ", "; spec.selector: Invalid", ""
			if kind == "DaemonSet" { // it has fewer checks of the selector and more of the template
				missing, refused, more = "", "", "; spec.template.labels: Invalid"
			}
			runCreate(t, "", []createCase{
				{"right", workload(kind, appTemplate, appSelector), ""},
				{"none", workload(kind, appTemplate, ""), missing + "spec.template.metadata.labels: Invalid"},
				{"empty", workload(kind, appTemplate, "selector: {}"), "spec.selector: Invalid"},
				{"other", workload(kind, appTemplate, "selector: {matchLabels: {app: b}}"), "spec.template.metadata.labels: Invalid"},
				{"in", workload(kind, appTemplate, "selector: {matchExpressions: [{key: app, operator: In, values: [b, a]}, {key: x, operator: DoesNotExist}]}"), ""},
				{"not in", workload(kind, appTemplate, "selector: {matchExpressions: [{key: app, operator: NotIn, values: [a]}]}"), "spec.template.metadata.labels: Invalid"},
				{"exists", workload(kind, appTemplate, "selector: {matchExpressions: [{key: x, operator: Exists}]}"), "spec.template.metadata.labels: Invalid"},
				{"no values", workload(kind, appTemplate, "selector: {matchExpressions: [{key: app, operator: In}]}"),
					"spec.selector.matchExpressions[0].values: Required" + refused},
				{"values", workload(kind, appTemplate, "selector: {matchExpressions: [{key: app, operator: Exists, values: [a]}]}"),
					"spec.selector.matchExpressions[0].values: Forbidden" + refused},
				{"no key", workload(kind, appTemplate, "selector: {matchExpressions: [{operator: Exists}]}"), "spec.selector.matchExpressions[0].key: Invalid" + refused},
				{"operator", workload(kind, appTemplate, "selector: {matchExpressions: [{key: app, operator: Is}]}"), "spec.selector.matchExpressions[0].operator: Invalid" + refused},
				{"no operator", workload(kind, appTemplate, "selector: {matchExpressions: [{key: app}]}"), "spec.selector.matchExpressions[0].operator: Invalid" + refused},
				{"bad value", workload(kind, appTemplate, "selector: {matchExpressions: [{key: app, operator: NotIn, values: ['-']}]}"), strings.TrimPrefix(refused, "; ")},
				{"bad key", workload(kind, "metadata: {labels: {'a b': c}}, spec: {containers: [{name: c, image: i}]}", "selector: {matchLabels: {'a b': c}}"),
					"spec.selector.matchLabels: Invalid" + refused + more},
				{"restarts", workload(kind, "metadata: {labels: {app: a}}, spec: {restartPolicy: Never, activeDeadlineSeconds: 5, containers: [{name: c, image: i}]}", appSelector),
					"spec.template.spec.restartPolicy: NotSupported; spec.template.spec.activeDeadlineSeconds: Forbidden"},
				{"annotation", workload(kind, "metadata: {labels: {app: a}, annotations: {'a b': c}}, spec: {containers: [{name: c, image: i}]}", appSelector), "spec.template.annotations: Invalid"},
			})
			if kind == "StatefulSet" {
				return
			}
			several := appSelector
			if kind != "DaemonSet" {
				several += ", replicas: 2"
			}
			runCreate(t, "", []createCase{
				{"mount", workload(kind, "metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: x, mountPath: /}]}]}", appSelector),
					"spec.template.spec.containers[0].volumeMounts[0].name: NotFound"},
				{"disk", workload(kind, "metadata: {labels: {app: a}}, spec: {volumes: [{name: v, gcePersistentDisk: {pdName: p}}], containers: [{name: c, image: i}]}",
					several),
					"spec.template.spec.volumes[0].gcePersistentDisk.readOnly: Invalid"},
			})
		})
	}
}

func TestDeployment(t *testing.T) {
	with := func(more string) string { return workload("Deployment", appTemplate, appSelector+", "+more) }
	rolling := func(text string) string { return with("strategy: {rollingUpdate: {" + text + "}}") }
	at := "spec.strategy.rollingUpdate"
	runHooks(t, "", []hookCase{
		{"default", with(""), "spec/strategy", `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}}`},
		{"zero", rolling("maxSurge: 0"), "spec/strategy/rollingUpdate", `{"maxUnavailable":"25%","maxSurge":0}`},
		{"recreate", with("strategy: {type: Recreate}"), "spec/strategy", `{"type":"Recreate"}`},
	})
	runCreate(t, "", []createCase{
		{"deadline", with("minReadySeconds: 9, progressDeadlineSeconds: 9"), "spec.progressDeadlineSeconds: Invalid"},
		{"recreate", with("strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}"), at + ": Forbidden"},
		{"nothing", rolling("maxSurge: 0, maxUnavailable: 0%"), at + ".maxUnavailable: Invalid"},
		{"negative", rolling("maxSurge: -1"), at + ".maxSurge: Invalid"},
		{"text", rolling("maxSurge: many"), at + ".maxSurge: Invalid"},
		{"too much", rolling("maxUnavailable: 101%"), at + ".maxUnavailable: Invalid"},
		{"surge", rolling("maxSurge: 200%"), ""},
		{"number", rolling("maxUnavailable: 500"), ""},
		{"strategy", with("strategy: {type: Slow}"), "spec.strategy: NotSupported"},
	})
	runStatus(t, "", []updateCase{
		{"counts", with(""), with("") + "\nstatus: {replicas: 1, updatedReplicas: 2, readyReplicas: 3, availableReplicas: 4, unavailableReplicas: -1}",
			"status.updatedReplicas: Invalid; status.readyReplicas: Invalid; status.availableReplicas: Invalid; status.unavailableReplicas: Invalid"},
		{"fewer collisions", with("") + "\nstatus: {collisionCount: 2}", with("") + "\nstatus: {collisionCount: 1}", "status.collisionCount: Invalid"},
		{"more collisions", with(""), with("") + "\nstatus: {collisionCount: 1}", ""},
	})
	status := with("replicas: 3") + "\nstatus: {readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1}"
	runCells(t, "", []cellCase{
		{"some", status, "Ready", "1/3"},
		{"some", status, "Up-to-date", int64(2)},
		{"some", status, "Available", int64(1)},
		{"default", with(""), "Ready", "0/1"},
		{"two", workload("Deployment", "spec: {containers: [{name: a, image: i}, {name: b, image: j}]}", ""), "Containers", "a,b"},
		{"two", workload("Deployment", "spec: {containers: [{name: a, image: i}, {name: b, image: j}]}", ""), "Images", "i,j"},
		{"labels", workload("Deployment", appTemplate, "selector: {matchLabels: {b: c, a: d}}"), "Selector", "a=d,b=c"},
		{"expressions", workload("Deployment", appTemplate, "selector: {matchLabels: {app: x}, matchExpressions: [{key: app, operator: In, values: [x]}]}"), "Selector", "app=x,app in (x)"},
		{"none", workload("Deployment", appTemplate, ""), "Selector", "<none>"},
		{"wrong", workload("Deployment", appTemplate, "selector: {matchExpressions: [{key: app, operator: X}]}"), "Selector", "<error>"},
	})
}

func TestDaemonSet(t *testing.T) {
	with := func(more string) string { return workload("DaemonSet", appTemplate, appSelector+", "+more) }
	rolling := func(text string) string { return with("updateStrategy: {rollingUpdate: {" + text + "}}") }
	at := "spec.updateStrategy.rollingUpdate"
	runHooks(t, "", []hookCase{
		{"default", with(""), "spec/updateStrategy", `{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1,"maxSurge":0}}`},
		{"on delete", with("updateStrategy: {type: OnDelete}"), "spec/updateStrategy", `{"type":"OnDelete"}`},
		{"on delete with settings", with("updateStrategy: {type: OnDelete, rollingUpdate: {}}"), "spec/updateStrategy", `{"type":"OnDelete","rollingUpdate":{"maxUnavailable":0,"maxSurge":0}}`},
		{"generation", with(""), "metadata/annotations", `{"deprecated.daemonset.template.generation":"1"}`},
	})
	runCreate(t, "", []createCase{
		{"both", rolling("maxUnavailable: 1, maxSurge: 1"), at + ".maxSurge: Invalid"},
		{"none", rolling("maxUnavailable: 0"), at + ".maxUnavailable: Required"},
		{"no share", rolling("maxUnavailable: ''"), at + ".maxUnavailable: Invalid; " + at + ".maxUnavailable: Required"},
		{"surge", rolling("maxUnavailable: 0, maxSurge: 10%"), ""},
		{"too much", rolling("maxUnavailable: 0, maxSurge: 101%"), at + ".maxSurge: Invalid"},
		{"strategy", with("updateStrategy: {type: Slow}"), "spec.updateStrategy: NotSupported"},
	})
	old, r := create(t, with(""))
	for _, c := range []struct{ object, want string }{
		{with("minReadySeconds: 5"), `{"deprecated.daemonset.template.generation":"1"}`},
		{workload("DaemonSet", "metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: j}]}", appSelector), `{"deprecated.daemonset.template.generation":"2"}`},
	} {
		obj, _ := decode(t, c.object)
		r.Hooks.Update(obj, old)
		expectAt(t, obj, "metadata/annotations", c.want)
		expect(t, causes(r, obj, old), "")
	}
	runCells(t, "", []cellCase{
		{"none", with(""), "Node Selector", "<none>"},
		{"labels", workload("DaemonSet", "spec: {nodeSelector: {b: c, a: b}, containers: []}", ""), "Node Selector", "a=b,b=c"},
	})
}

func TestStatefulSet(t *testing.T) {
	with := func(more string) string { return workload("StatefulSet", appTemplate, appSelector+", "+more) }
	runHooks(t, "", []hookCase{
		{"default", with(""), "spec/updateStrategy", `{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`},
		{"type", with("updateStrategy: {type: RollingUpdate}"), "spec/updateStrategy", `{"type":"RollingUpdate"}`},
		{"type and settings", with("updateStrategy: {type: RollingUpdate, rollingUpdate: {}}"), "spec/updateStrategy", `{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`},
		{"partition", with("updateStrategy: {rollingUpdate: {partition: 2}}"), "spec/updateStrategy", `{"type":"RollingUpdate","rollingUpdate":{"partition":2}}`},
		{"claim", with("volumeClaimTemplates: [{metadata: {name: d}}]"), "spec/volumeClaimTemplates/0/kind", `"PersistentVolumeClaim"`},
		{"claim version", with("volumeClaimTemplates: [{metadata: {name: d}}]"), "spec/volumeClaimTemplates/0/apiVersion", `"v1"`},
	})
	runCreate(t, "", []createCase{
		{"volume of a claim", workload("StatefulSet", "metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: d, mountPath: /d}]}]}",
			appSelector+", volumeClaimTemplates: [{metadata: {name: d}}]"), ""},
		{"settings", with("updateStrategy: {type: OnDelete, rollingUpdate: {partition: 1}}"), "spec.updateStrategy.rollingUpdate: Invalid"},
		{"strategy", with("updateStrategy: {type: Slow}, podManagementPolicy: Fast"), "spec.updateStrategy: Invalid; spec.podManagementPolicy: Invalid"},
		{"pods", workload("StatefulSet", "metadata: {labels: {app: a}}, spec: {containers: [{name: 'C C'}]}", appSelector), ""},
		{"claims", with("volumeClaimTemplates: [{spec: {accessModes: [Sometimes]}}]"), ""},
	})
	runUpdate(t, "", []updateCase{
		{"replicas", with("replicas: 1"), with("replicas: 2, minReadySeconds: 5, updateStrategy: {type: OnDelete}"), ""},
		{"service", with("serviceName: a"), with("serviceName: b"), "spec: Forbidden"},
		{"history", with(""), with("revisionHistoryLimit: 5"), "spec: Forbidden"},
		{"claims", with(""), with("volumeClaimTemplates: [{metadata: {name: d}}]"), "spec: Forbidden"},
	})
	runStatus(t, "", []updateCase{{"counts", with(""), with("") + "\nstatus: {replicas: -1, readyReplicas: -1, updatedReplicas: -1, currentReplicas: 1}",
		"status.replicas: Invalid; status.readyReplicas: Invalid; status.updatedReplicas: Invalid; status.currentReplicas: Invalid; status.availableReplicas: Invalid"}})
	runCells(t, "", []cellCase{{"some", with("replicas: 2") + "\nstatus: {readyReplicas: 1}", "Ready", "1/2"}})
}

func TestReplicationController(t *testing.T) {
	head := "apiVersion: v1\nkind: ReplicationController\nmetadata: {name: rc}\n"
	template := "template: {" + appTemplate + "}"
	runHooks(t, head, []hookCase{
		{"selector", "spec: {" + template + "}", "spec/selector", `{"app":"a"}`},
		{"labels", "spec: {" + template + "}", "metadata/labels", `{"app":"a"}`},
		{"given", "spec: {selector: {x: z}, " + template + "}", "spec/selector", `{"x":"z"}`},
	})
	runCreate(t, head, []createCase{
		{"right", "spec: {" + template + "}", ""},
		{"nothing", "spec: {}", "spec.selector: Required; spec.template: Required"},
		{"other", "spec: {selector: {app: b}, " + template + "}", "spec.template.metadata.labels: Invalid"},
	})
	runCells(t, head, []cellCase{{"labels", "spec: {" + template + "}", "Selector", "app=a"}})
}

func TestPodTemplate(t *testing.T) {
	head := "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: t}\n"
	runCreate(t, head, []createCase{
		{"label", "template: {metadata: {labels: {a: '-'}}, spec: {containers: [{name: c, image: i}]}}", "template.labels: Invalid"},
		{"ephemeral", "template: {spec: {containers: [{name: c, image: i}], ephemeralContainers: [{name: e, image: i}]}}", "template.spec.ephemeralContainers: Forbidden"},
	})
	runCells(t, head, []cellCase{{"labels", "template: {" + appTemplate + "}", "Pod Labels", "app=a"}})
}

func TestControllerRevision(t *testing.T) {
	head := "apiVersion: apps/v1\nkind: ControllerRevision\nrevision: 1\ndata: {}\n"
	runCells(t, head, []cellCase{
		{"owner", "metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: X, name: x, uid: u}, {apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u, controller: true}]}", "Controller", "daemonset.apps/d"},
		{"none", "metadata: {name: a}", "Controller", "<none>"},
	})
}
