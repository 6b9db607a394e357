package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// A starting pod runs its init containers one by one, and then all others. A table shows
// the state of the running ones. The three cells below read no more than they need: lists
// of pods are long.

// initProgress is how far the init containers of a pod are. Those that always restart go on while the others run, from 1.28 on.
type initProgress struct {
	index     int            // of the first container that is neither finished nor goes on
	container document.Value // nothing when there is none
	over      bool           // the pod's other containers may run
}

// initProgress finds how far the init containers of a pod are.
func (p Policy) initProgress(pod document.Value) initProgress {
	status := pod.Get("status")
	for i, container := range status.Get("initContainerStatuses").Elements() {
		terminated := container.At("state", "terminated")
		finished := isSet(terminated) && number(terminated.Get("exitCode")) == 0
		if !finished && !(container.Get("started").Bool() && p.goesOn(pod, container)) {
			return initProgress{i, container, p.since("1.28") && hasCondition(status, "Initialized")}
		}
	}
	return initProgress{over: true}
}

// goesOn reports whether the init container with a status always restarts.
func (p Policy) goesOn(pod, container document.Value) bool {
	return p.since("1.28") && alwaysRestarts(pod.At("spec", "initContainers").ElementBy("name", container.Get("name").Text()))
}

func alwaysRestarts(container document.Value) bool {
	return container.Get("restartPolicy").Equals("Always")
}

// CellPodStatus is the phase, or a more specific reason.
func (p Policy) CellPodStatus(obj document.Value) any {
	status := obj.Get("status")
	if phase := status.Get("phase"); isSet(obj.At("metadata", "deletionTimestamp")) {
		if status.Get("reason").Equals("NodeLost") {
			return "Unknown"
		}
		if !p.since("1.31") || !phase.Equals("Succeeded") && !phase.Equals("Failed") {
			return "Terminating"
		}
	}
	init, word := p.initProgress(obj), ""
	if init.container.Exists() {
		word = initReason(init.container, init.index, obj)
	} else {
		word = p.podReason(status)
	}
	if init.over {
		return p.containersReason(status, word)
	}
	return word
}

// podReason is the reason of a pod, else its phase.
func (p Policy) podReason(status document.Value) string {
	const gated = "SchedulingGated"
	if p.since("1.26") && status.Get("conditions").ElementBy("type", "PodScheduled").Get("reason").Equals(gated) {
		return gated
	}
	if word := statusWord(status.Get("reason")); word != "" {
		return word
	}
	return statusWord(status.Get("phase"))
}

// initReason is the progress of a pod's init containers; container is the running one.
func initReason(container document.Value, i int, pod document.Value) string {
	if terminated := container.At("state", "terminated"); isSet(terminated) {
		return "Init:" + endReason(terminated)
	}
	reason := container.At("state", "waiting", "reason")
	if !isEmpty(reason) && !reason.Equals("PodInitializing") {
		return "Init:" + reason.Text()
	}
	return "Init:" + ofAll(i, pod.At("spec", "initContainers").Len())
}

// containersReason is the reason of the first container that has one, else that
// of the pod.
func (p Policy) containersReason(status document.Value, ofPod string) string {
	word, failure, running := "", "", false
	for _, container := range status.Get("containerStatuses").Elements() {
		state := container.Get("state")
		reason, terminated := state.At("waiting", "reason"), state.Get("terminated")
		end := ""
		if isEmpty(reason) && isSet(terminated) {
			end = endReason(terminated)
			if failure == "" && number(terminated.Get("exitCode")) != 0 {
				failure = end
			}
		}
		switch {
		case isReady(container):
			running = true
		case word != "":
		case !isEmpty(reason):
			word = reason.Text()
		default:
			word = end
		}
	}
	if word == "" {
		word = ofPod
	}
	switch {
	case word != "Completed":
	case running && hasCondition(status, "Ready"):
		return "Running"
	case failure != "" && p.since("1.35"):
		return failure
	case running:
		return "NotReady"
	}
	return word
}

// isReady reports whether a container runs and is ready.
func isReady(container document.Value) bool {
	state := container.Get("state")
	return container.Get("ready").Bool() && isSet(state.Get("running")) &&
		!isSet(state.Get("terminated")) && isEmpty(state.At("waiting", "reason"))
}

// endReason is the reason why a container ended.
func endReason(terminated document.Value) string {
	if reason := statusWord(terminated.Get("reason")); reason != "" {
		return reason
	}
	if signal := number(terminated.Get("signal")); signal != 0 {
		return "Signal:" + strconv.FormatInt(signal, 10)
	}
	return "ExitCode:" + strconv.FormatInt(number(terminated.Get("exitCode")), 10)
}

// statusWord is a word of a status; the common ones need no memory.
func statusWord(v document.Value) string {
	for _, word := range [...]string{"Running", "Pending", "Succeeded", "Completed", "Failed"} {
		if v.Equals(word) {
			return word
		}
	}
	return v.Text()
}

// hasCondition reports whether a condition is true.
func hasCondition(status document.Value, kind string) bool {
	return status.Get("conditions").ElementBy("type", kind).Get("status").Equals("True")
}

// CellPodReady shows how many containers are ready: "1/2".
func (p Policy) CellPodReady(obj document.Value) any {
	status, init := obj.Get("status"), p.initProgress(obj)
	ready, all := 0, obj.At("spec", "containers").Len()
	if p.since("1.28") {
		for _, container := range obj.At("spec", "initContainers").Elements() {
			if alwaysRestarts(container) {
				all++
			}
		}
		for i, container := range status.Get("initContainerStatuses").Elements() {
			if init.container.Exists() && i >= init.index {
				break
			}
			if !isSet(container.At("state", "terminated")) && container.Get("ready").Bool() && p.goesOn(obj, container) {
				ready++
			}
		}
	}
	if init.over {
		for _, container := range status.Get("containerStatuses").Elements() {
			if isReady(container) {
				ready++
			}
		}
	}
	return ofAll(ready, all)
}

// ofAll is "ready/all".
func ofAll(part, all int) string {
	if part == 1 && all == 1 {
		return "1/1"
	}
	text := strconv.AppendInt(nil, int64(part), 10)
	return string(strconv.AppendInt(append(text, '/'), int64(all), 10))
}

// CellPodRestarts shows the number and the time of the last restart of containers: "5 (3m
// ago)". While init containers run only they count, afterwards those that go on.
func (p Policy) CellPodRestarts(obj document.Value) any {
	status, init := obj.Get("status"), p.initProgress(obj)
	restarts, last := int64(0), document.Value{}
	count := func(container document.Value) {
		restarts += number(container.Get("restartCount"))
		end := container.At("lastState", "terminated", "finishedAt")
		if !isEmpty(end) && (!last.Exists() || end.Text() > last.Text()) {
			last = end
		}
	}
	for i, early := range status.Get("initContainerStatuses").Elements() {
		if init.container.Exists() && i > init.index {
			break
		}
		if !init.over || p.goesOn(obj, early) {
			count(early)
		}
	}
	if init.over {
		for _, container := range status.Get("containerStatuses").Elements() {
			count(container)
		}
	}
	text := strconv.FormatInt(restarts, 10)
	if last.Exists() {
		return api.Ago{Before: text + " (", Since: last.Text(), After: " ago)"}
	}
	return text
}

// textOrNone is a string, "<none>" when it is empty.
func textOrNone(v document.Value) string {
	if text := v.Text(); text != "" {
		return text
	}
	return none
}

// CellPodIp is the first address.
func (Policy) CellPodIp(obj document.Value) any {
	return textOrNone(obj.At("status", "podIPs").Index(0).Get("ip"))
}

// CellPodReadinessGates shows how many readiness gates are passed: "0/1".
func (Policy) CellPodReadinessGates(obj document.Value) any {
	passed, all := 0, 0
	for _, gate := range obj.At("spec", "readinessGates").Elements() {
		all++
		if hasCondition(obj.Get("status"), gate.Get("conditionType").Text()) {
			passed++
		}
	}
	if all == 0 {
		return none
	}
	return ofAll(passed, all)
}
