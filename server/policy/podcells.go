package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
)

// podState is what a table says of a pod.
type podState struct {
	reason      string
	ready       int
	restarts    int64
	lastRestart document.Value // the end of the last run that was followed by another
}

// look finds the state of a pod. While init containers are at work it is
// theirs; then it is that of the first container that says something.
func look(pod document.Value) podState {
	status := pod.Get("status")
	s := podState{reason: statusWord(status.Get("phase"))}
	if reason := status.Get("reason"); !isEmpty(reason) {
		s.reason = reason.Text()
	}
	if !s.initializing(pod, status.Get("initContainerStatuses")) {
		s.containers(status)
	}
	if isSet(pod.At("metadata", "deletionTimestamp")) {
		s.reason = "Terminating"
		if status.Get("reason").Equals("NodeLost") {
			s.reason = "Unknown"
		}
	}
	return s
}

// initializing looks at the init containers up to the first that has not done
// its work, and reports whether there is one.
func (s *podState) initializing(pod, statuses document.Value) bool {
	for i, container := range statuses.Elements() {
		s.count(container)
		waiting, terminated := container.At("state", "waiting"), container.At("state", "terminated")
		reason := waiting.Get("reason")
		switch {
		case isSet(terminated) && number(terminated.Get("exitCode")) == 0:
			continue
		case isSet(terminated):
			s.reason = "Init:" + endReason(terminated)
		case !isEmpty(reason) && !reason.Equals("PodInitializing"):
			s.reason = "Init:" + reason.Text()
		default:
			s.reason = "Init:" + strconv.Itoa(i) + "/" + strconv.Itoa(pod.At("spec", "initContainers").Len())
		}
		return true
	}
	return false
}

func (s *podState) containers(status document.Value) {
	s.restarts = 0
	said, running := false, false
	for _, container := range status.Get("containerStatuses").Elements() {
		s.count(container)
		state := container.Get("state")
		terminated := state.Get("terminated")
		reason := state.At("waiting", "reason")
		switch {
		case !isEmpty(reason):
			if !said {
				s.reason = reason.Text()
			}
			said = true
		case isSet(terminated):
			if !said {
				s.reason = endReason(terminated)
			}
			said = true
		case container.Get("ready").Bool() && isSet(state.Get("running")):
			running = true
			s.ready++
		}
	}
	if running && s.reason == "Completed" {
		s.reason = "NotReady"
		if hasCondition(status, "Ready") {
			s.reason = "Running"
		}
	}
}

// count adds the restarts of a container.
func (s *podState) count(container document.Value) {
	s.restarts += number(container.Get("restartCount"))
	end := container.At("lastState", "terminated", "finishedAt")
	if !isEmpty(end) && (!s.lastRestart.Exists() || end.Text() > s.lastRestart.Text()) {
		s.lastRestart = end
	}
}

// endReason says why a container ended.
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
	for _, condition := range status.Get("conditions").Elements() {
		if condition.Get("type").Equals(kind) && condition.Get("status").Equals("True") {
			return true
		}
	}
	return false
}

// CellPodStatus is the phase, or the reason that says more.
func (Policy) CellPodStatus(obj document.Value) any { return look(obj).reason }

// CellPodReady says how many containers are ready: "1/2".
func (Policy) CellPodReady(obj document.Value) any {
	return ofAll(look(obj).ready, obj.At("spec", "containers").Len())
}

// ofAll is "ready/all".
func ofAll(part, all int) string {
	if part == 1 && all == 1 {
		return "1/1"
	}
	text := strconv.AppendInt(nil, int64(part), 10)
	return string(strconv.AppendInt(append(text, '/'), int64(all), 10))
}

// CellPodRestarts says how often containers were restarted, and when last:
// "5 (3m ago)".
func (p Policy) CellPodRestarts(obj document.Value) any {
	s := look(obj)
	text := strconv.FormatInt(s.restarts, 10)
	if s.lastRestart.Exists() {
		text += " (" + codec.Age(s.lastRestart.Text(), p.Now()) + " ago)"
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

// CellPodNode is the node.
func (Policy) CellPodNode(obj document.Value) any { return textOrNone(obj.At("spec", "nodeName")) }

// CellPodNominatedNode is the node that is being cleared for the pod.
func (Policy) CellPodNominatedNode(obj document.Value) any {
	return textOrNone(obj.At("status", "nominatedNodeName"))
}

// CellPodReadinessGates says how many readiness gates are passed: "0/1".
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
