package policy_test

import "testing"

const podHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"

func TestPodCells(t *testing.T) {
	one := "spec: {containers: [{name: c, image: i}]}\n"
	two := "spec: {initContainers: [{name: a, image: i}, {name: b, image: i}], containers: [{name: c, image: i}, {name: d, image: i}]}\n"
	status := func(containers string) string {
		return one + "status: {phase: Running, containerStatuses: [" + containers + "]}"
	}
	inits := func(containers string) string {
		return two + "status: {phase: Pending, initContainerStatuses: [" + containers + "]}"
	}
	running := status("{name: c, ready: true, restartCount: 2, state: {running: {}}}")
	runCells(t, podHead, []cellCase{
		{"no status", one, "Status", ""},
		{"phase", one + "status: {phase: Pending}", "Status", "Pending"},
		{"reason", one + "status: {phase: Failed, reason: Evicted}", "Status", "Evicted"},
		{"running", running, "Status", "Running"},
		{"running", running, "Ready", "1/1"},
		{"running", running, "Restarts", "2"},
		{"waiting", status("{name: c, state: {waiting: {reason: ContainerCreating}}}"), "Status", "ContainerCreating"},
		{"waiting", status("{name: c, state: {waiting: {reason: ContainerCreating}}}"), "Ready", "0/1"},
		{"waiting without a reason", status("{name: c, state: {waiting: {}}}"), "Status", "Running"},
		{"crash", status("{name: c, restartCount: 5, state: {waiting: {reason: CrashLoopBackOff}}}"), "Restarts", "5"},
		{"done", status("{name: c, state: {terminated: {exitCode: 0, reason: Completed}}}"), "Status", "Completed"},
		{"exit", status("{name: c, state: {terminated: {exitCode: 3}}}"), "Status", "ExitCode:3"},
		{"signal", status("{name: c, state: {terminated: {exitCode: 137, signal: 9}}}"), "Status", "Signal:9"},
		{"the first container speaks", status("{name: c, state: {waiting: {reason: A}}}, {name: d, state: {terminated: {exitCode: 1, reason: B}}}"), "Status", "A"},
		{"completed beside a running one", status("{name: c, state: {terminated: {exitCode: 0, reason: Completed}}}, {name: d, ready: true, state: {running: {}}}"), "Status", "NotReady"},
		{"completed in a ready pod", one + "status: {phase: Running, conditions: [{type: Ready, status: 'True'}], containerStatuses: [" +
			"{name: c, state: {terminated: {exitCode: 0, reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}", "Status", "Running"},
		{"running but not ready", status("{name: c, ready: false, state: {running: {}}}"), "Ready", "0/1"},

		{"first", inits("{name: a, state: {running: {}}}, {name: b, state: {waiting: {reason: PodInitializing}}}"), "Status", "Init:0/2"},
		{"first", inits("{name: a, restartCount: 3, state: {running: {}}}"), "Restarts", "3"},
		{"first", inits("{name: a, state: {running: {}}}"), "Ready", "0/2"},
		{"second", inits("{name: a, state: {terminated: {exitCode: 0}}}, {name: b, state: {waiting: {reason: PodInitializing}}}"), "Status", "Init:1/2"},
		{"failed", inits("{name: a, state: {terminated: {exitCode: 1}}}"), "Status", "Init:ExitCode:1"},
		{"killed", inits("{name: a, state: {terminated: {exitCode: 1, signal: 15}}}"), "Status", "Init:Signal:15"},
		{"error", inits("{name: a, state: {terminated: {exitCode: 1, reason: Error}}}"), "Status", "Init:Error"},
		{"image", inits("{name: a, state: {waiting: {reason: ImagePullBackOff}}}"), "Status", "Init:ImagePullBackOff"},
		{"all done", inits("{name: a, restartCount: 1, state: {terminated: {exitCode: 0}}}, {name: b, state: {terminated: {exitCode: 0}}}"), "Status", "Pending"},
		{"all done", inits("{name: a, restartCount: 1, state: {terminated: {exitCode: 0}}}, {name: b, state: {terminated: {exitCode: 0}}}"), "Restarts", "0"},

		{"last restart", status("{name: c, restartCount: 5, lastState: {terminated: {exitCode: 1, finishedAt: '2024-05-06T11:57:00Z'}}, state: {running: {}}}, " +
			"{name: d, restartCount: 1, lastState: {terminated: {exitCode: 1, finishedAt: '2024-05-06T10:00:00Z'}}, state: {running: {}}}"), "Restarts", "6 (3m ago)"},

		{"address", one + "status: {podIP: 10.1.1.1, podIPs: [{ip: 10.1.1.1}, {ip: 'fd00::1'}]}", "IP", "10.1.1.1"},
		{"no address", one, "IP", "<none>"},
		{"none", one, "Node", "<none>"},
		{"node", "spec: {nodeName: n1, containers: [{name: c, image: i}]}", "Node", "n1"},
		{"nominated", one + "status: {nominatedNodeName: n2}", "Nominated Node", "n2"},
		{"none", one, "Nominated Node", "<none>"},
		{"none", one, "Readiness Gates", "<none>"},
		{"one of two", "spec: {readinessGates: [{conditionType: a}, {conditionType: b}], containers: [{name: c, image: i}]}\n" +
			"status: {conditions: [{type: a, status: 'True'}, {type: b, status: 'False'}]}", "Readiness Gates", "1/2"},
	})
	deleted := "apiVersion: v1\nkind: Pod\nmetadata: {name: p, deletionTimestamp: '2024-05-06T11:00:00Z'}\n"
	runCells(t, deleted, []cellCase{
		{"deleted", running, "Status", "Terminating"},
		{"node lost", one + "status: {phase: Running, reason: NodeLost}", "Status", "Unknown"},
	})
}

func BenchmarkPodCells(b *testing.B) {
	obj, r := decode(b, podHead+"spec: {nodeName: n1, containers: [{name: c, image: i}]}\n"+
		"status: {phase: Running, podIP: 10.1.1.1, containerStatuses: [{name: c, ready: true, restartCount: 0, state: {running: {}}}]}")
	b.ReportAllocs()
	for b.Loop() {
		for i := range r.Columns {
			if c := &r.Columns[i]; c.Cell != nil {
				c.Cell(shown(c, obj))
			}
		}
	}
}
