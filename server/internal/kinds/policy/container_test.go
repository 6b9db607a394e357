package policy_test

import "testing"

func TestContainers(t *testing.T) {
	with := func(rest string) string { return "spec: {containers: [{name: c, image: i, " + rest + "}]}" }
	initWith := func(rest string) string {
		return "spec: {containers: [{name: c, image: i}], initContainers: [{name: d, image: i, " + rest + "}]}"
	}
	at := "spec.containers[0]"
	runCreate(t, podHead, []createCase{
		{"port names", with("ports: [{name: a, containerPort: 1}, {name: a, containerPort: 2}]"), at + ".ports[1].name: Duplicate"},
		{"init probe", initWith("readinessProbe: {exec: {command: [a]}}"), "spec.initContainers[0].readinessProbe: Forbidden"},
		{"init lifecycle", initWith("lifecycle: {preStop: {exec: {command: [a]}}}"), "spec.initContainers[0].lifecycle: Forbidden"},
		{"init probe of nothing", initWith("livenessProbe: {}"), "spec.initContainers[0].livenessProbe: Forbidden"},

		{"probe", with("livenessProbe: {tcpSocket: {port: 80}}"), ""},
		{"no handler", with("livenessProbe: {}"), at + ".livenessProbe: Required"},
		{"two handlers", with("livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 80}}"), at + ".livenessProbe.tcpSocket: Forbidden"},
		{"port 0", with("readinessProbe: {tcpSocket: {port: 0}}"), at + ".readinessProbe.tcpSocket.port: Invalid"},
		{"port name", with("readinessProbe: {httpGet: {port: a_b}}"), at + ".readinessProbe.httpGet.port: Invalid"},
		{"threshold", with("startupProbe: {successThreshold: 2, tcpSocket: {port: 80}}"), at + ".startupProbe.successThreshold: Invalid"},
		{"ready threshold", with("readinessProbe: {successThreshold: 2, tcpSocket: {port: 80}}"), ""},
		{"ready grace", with("readinessProbe: {terminationGracePeriodSeconds: 2, tcpSocket: {port: 80}}"), at + ".readinessProbe.terminationGracePeriodSeconds: Invalid"},
		{"hook", with("lifecycle: {postStart: {}}"), at + ".lifecycle.postStart: Required"},

		{"value and source", with("env: [{name: A, value: b, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"), at + ".env[0].valueFrom: Invalid"},
		{"no source", with("env: [{name: A, valueFrom: {}}]"), at + ".env[0].valueFrom: Invalid"},
		{"two sources", with("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}, secretKeyRef: {name: a, key: b}}}]"), at + ".env[0].valueFrom: Invalid"},
		{"label", with("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a']\"}}}]"), ""},
		{"bad label", with("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['a b']\"}}}]"), at + ".env[0].valueFrom.fieldRef: Invalid"},
		{"all labels", with("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]"), at + ".env[0].valueFrom.fieldRef.fieldPath: NotSupported"},
		{"subscript", with("env: [{name: A, valueFrom: {fieldRef: {fieldPath: \"metadata.name['a']\"}}}]"), at + ".env[0].valueFrom.fieldRef: Invalid"},
		{"unknown field", with("env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.x}}}]"), at + ".env[0].valueFrom.fieldRef.fieldPath: Invalid"},
		{"field version", with("env: [{name: A, valueFrom: {fieldRef: {apiVersion: v2, fieldPath: metadata.name}}}]"), at + ".env[0].valueFrom.fieldRef.fieldPath: Invalid"},
		{"resource", with("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}]"), ""},
		{"huge pages", with("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.hugepages-2Mi}}}]"), ""},
		{"unknown resource", with("env: [{name: A, valueFrom: {resourceFieldRef: {resource: cpu}}}]"), at + ".env[0].valueFrom.resourceFieldRef.resource: NotSupported"},
		{"divisor", with("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 2}}}]"), at + ".env[0].valueFrom.resourceFieldRef.divisor: Invalid"},
		{"env from nothing", with("envFrom: [{prefix: A}]"), at + ".envFrom: Invalid"},
		{"env from both", with("envFrom: [{configMapRef: {name: a}, secretRef: {name: b}}]"), at + ".envFrom: Invalid"},

		{"request over limit", with("resources: {limits: {cpu: 1}, requests: {cpu: 2}}"), at + ".resources.requests: Invalid"},
		{"request of limit", with("resources: {limits: {cpu: 1}, requests: {cpu: 1000m}}"), ""},
		{"negative", with("resources: {limits: {cpu: -1}}"), at + ".resources.limits[cpu]: Invalid; " + at + ".resources.requests[cpu]: Invalid"},
		{"unknown name", with("resources: {requests: {gpu: 1}}"), at + ".resources.requests[gpu]: Invalid"},
		{"extended", with("resources: {limits: {example.com/gpu: 2}, requests: {example.com/gpu: 1}}"), at + ".resources.requests: Invalid"},
		{"extended fraction", with("resources: {limits: {example.com/gpu: 500m}}"), at + ".resources.limits[example.com/gpu]: Invalid; " + at + ".resources.requests[example.com/gpu]: Invalid"},
		{"extended request", with("resources: {requests: {example.com/gpu: 1}}"), at + ".resources.limits: Required"},
		{"only huge pages", with("resources: {limits: {hugepages-2Mi: 2Mi}}"), at + ".resources: Forbidden"},

		{"privileged", with("securityContext: {privileged: true, allowPrivilegeEscalation: false}"), at + ".securityContext: Invalid"},
		{"proc mount", with("securityContext: {procMount: X}"), at + ".securityContext.procMount: NotSupported"},
	})
}

func TestEphemeralContainers(t *testing.T) {
	base := "containers: [{name: c, image: i}]"
	old, r := create(t, podHead+"spec: {"+base+"}")
	for _, c := range []struct{ name, container, want string }{
		{"right", "{name: e, image: i, targetContainerName: c}", "spec: Forbidden"},
		{"target", "{name: e, image: i, targetContainerName: x}", "spec: Forbidden; spec.ephemeralContainers[0].targetContainerName: NotFound"},
		{"name", "{name: c, image: i}", "spec: Forbidden; spec.ephemeralContainers[0].name: Duplicate"},
		{"ports", "{name: e, image: i, ports: [{containerPort: 1}]}", "spec: Forbidden; spec.ephemeralContainers[0].ports: Forbidden"},
	} {
		t.Run(c.name, func(t *testing.T) {
			obj, _ := decode(t, podHead+"spec: {"+base+", ephemeralContainers: ["+c.container+"]}")
			expect(t, causes(r, obj, old), c.want)
		})
	}
}
