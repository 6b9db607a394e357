package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// A starting pod runs its init containers one by one, and then all others. A table shows
// the state of the running ones. The three cells below read no more than they need: lists
// of pods are long.

// atInit finds the first unfinished init container, and its index. There is none when the
// pod's other containers may run.
func atInit(status document.Value) (int, document.Value) {
	for i, container := range status.Get("initContainerStatuses").Elements() {
		terminated := container.At("state", "terminated")
		if !isSet(terminated) || number(terminated.Get("exitCode")) != 0 {
			return i, container
		}
	}
	return 0, document.Value{}
}

// CellPodStatus is the phase, or a more specific reason.
func (Policy) CellPodStatus(obj document.Value) any {
	status := obj.Get("status")
	if isSet(obj.At("metadata", "deletionTimestamp")) {
		if status.Get("reason").Equals("NodeLost") {
			return "Unknown"
		}
		return "Terminating"
	}
	if i, container := atInit(status); container.Exists() {
		return initReason(container, i, obj)
	}
	return containersReason(status)
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
func containersReason(status document.Value) string {
	word, running := "", false
	for _, container := range status.Get("containerStatuses").Elements() {
		state := container.Get("state")
		reason, terminated := state.At("waiting", "reason"), state.Get("terminated")
		switch {
		case isReady(container):
			running = true
		case word != "":
		case !isEmpty(reason):
			word = reason.Text()
		case isSet(terminated):
			word = endReason(terminated)
		}
	}
	if word == "" {
		if word = statusWord(status.Get("reason")); word == "" {
			word = statusWord(status.Get("phase"))
		}
	}
	if word == "Completed" && running {
		if hasCondition(status, "Ready") {
			return "Running"
		}
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
func (Policy) CellPodReady(obj document.Value) any {
	status, ready := obj.Get("status"), 0
	if _, container := atInit(status); !container.Exists() {
		for _, container := range status.Get("containerStatuses").Elements() {
			if isReady(container) {
				ready++
			}
		}
	}
	return ofAll(ready, obj.At("spec", "containers").Len())
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
// ago)". While init containers run only they count.
func (Policy) CellPodRestarts(obj document.Value) any {
	status := obj.Get("status")
	restarts, last := int64(0), document.Value{}
	count := func(container document.Value) {
		restarts += number(container.Get("restartCount"))
		end := container.At("lastState", "terminated", "finishedAt")
		if !isEmpty(end) && (!last.Exists() || end.Text() > last.Text()) {
			last = end
		}
	}
	at, container := atInit(status)
	for i, early := range status.Get("initContainerStatuses").Elements() {
		if container.Exists() && i > at {
			break
		}
		count(early)
	}
	if !container.Exists() {
		restarts = 0
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
