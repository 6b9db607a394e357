package policy

import "github.com/capstan-dev/capstan/internal/document"

// From 1.28 on an init container may restart whenever it ends: a sidecar. From 1.34 on each container may say, also by its exit
// code, when it does.

// isSidecar reports whether an init container runs while the others do.
func isSidecar(container document.Value) bool { return container.Get("restartPolicy").Equals("Always") }

// containerRestarts checks when a container, one that runs first or a regular one, is started again.
func (p Policy) containerRestarts(c *causes, container document.Value, first bool) {
	policy, rules := container.Get("restartPolicy"), container.Get("restartPolicyRules")
	if !isSet(policy) {
		if !isEmpty(rules) {
			c.Required(member(container, "restartPolicy"), "must specify restartPolicy when restart rules are used")
		}
		return
	}
	switch text := policy.Text(); {
	case !p.on("ContainerRestartRules") && !first:
		c.Forbidden(policy.Path(), "may not be set for non-init containers")
	case !p.on("ContainerRestartRules"):
		if text != "Always" {
			c.NotSupported(policy, "Always")
		}
	case text != "Always" && text != "Never" && text != "OnFailure":
		c.NotSupported(policy, "Always", "Never", "OnFailure")
	case first && text == "Always" && !isEmpty(rules) && !p.on(restartsAll):
		c.Forbidden(rules.Path(), "a sidecar, which always restarts, has no use for rules")
	}
	for _, rule := range rules.Elements() {
		if action := rule.Get("action"); action.Equals("RestartAllContainers") && !p.on(restartsAll) {
			c.NotSupported(action, "Restart")
		}
	}
}

// restartsAll is the gate of a rule that has all containers of a pod restart.
const restartsAll = "RestartAllContainersOnContainerExits"

// mayRestart reports whether a container of a pod's list that ended with a code is started again.
func (p Policy) mayRestart(spec, container document.Value, code int64) bool {
	policy := spec.Get("restartPolicy").Text()
	if own := container.Get("restartPolicy"); isSet(own) {
		for _, rule := range container.Get("restartPolicyRules").Elements() {
			if !matchesCode(rule.Get("exitCodes"), code) {
				continue
			}
			if action := rule.Get("action"); action.Equals("Restart") || action.Equals("RestartAllContainers") && p.on(restartsAll) {
				return true
			}
			break
		}
		policy = own.Text()
	}
	return policy != "Never" && (policy != "OnFailure" || code != 0)
}

// matchesCode reports whether a rule is about an exit code.
func matchesCode(codes document.Value, code int64) bool {
	in := false
	for _, v := range codes.Get("values").Elements() {
		in = in || number(v) == code
	}
	return isSet(codes) && in == codes.Get("operator").Equals("In")
}

// anyRestartsAll reports whether some container may have all of the pod restart.
func anyRestartsAll(spec document.Value) bool {
	for container := range containersIn(spec, podContainers[:2]...) {
		if container.Get("restartPolicyRules").ElementBy("action", "RestartAllContainers").Exists() {
			return true
		}
	}
	return false
}
