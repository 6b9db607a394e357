package policy

import "github.com/capstan-dev/capstan/internal/document"

// The strategies by which workloads replace their pods have defaults that hold
// for rolling updates only.

// DefaultDeploymentStrategy replaces a quarter at a time.
func (Policy) DefaultDeploymentStrategy(strategy document.Value) {
	if !strategy.Get("type").Equals("RollingUpdate") {
		return
	}
	rolling := strategy.SetObject("rollingUpdate")
	for _, name := range []string{"maxUnavailable", "maxSurge"} {
		if !rolling.Get(name).Exists() {
			rolling.SetString(name, "25%")
		}
	}
}

// DefaultDaemonSetUpdateStrategy replaces one node's pod at a time.
func (Policy) DefaultDaemonSetUpdateStrategy(strategy document.Value) {
	if !strategy.Get("type").Equals("RollingUpdate") {
		return
	}
	rolling := strategy.SetObject("rollingUpdate")
	if !rolling.Get("maxUnavailable").Exists() {
		rolling.SetInt("maxUnavailable", 1)
	}
	if !rolling.Get("maxSurge").Exists() {
		rolling.SetInt("maxSurge", 0)
	}
}

// DefaultStatefulSetSpec replaces all pods, where the strategy was not named at
// all or names rolling updates with settings of their own.
func (Policy) DefaultStatefulSetSpec(spec document.Value) {
	strategy := spec.Get("updateStrategy")
	rolling := strategy.Get("rollingUpdate")
	if strategy.Get("type").Text() == "" {
		strategy.SetString("type", "RollingUpdate")
		rolling = strategy.SetObject("rollingUpdate")
	}
	if strategy.Get("type").Equals("RollingUpdate") && rolling.Exists() && !rolling.Get("partition").Exists() {
		rolling.SetInt("partition", 0)
	}
}

// claimKind completes the claims of a template: they are objects of their own.
func claimKind(claim document.Value) {
	claim.SetString("kind", "PersistentVolumeClaim")
	claim.SetString("apiVersion", "v1")
	status := claim.SetObject("status")
	if status.Get("phase").Text() == "" {
		status.SetString("phase", "Pending")
	}
}

// DefaultStatefulSet completes the claim templates.
func (Policy) DefaultStatefulSet(obj document.Value) {
	for _, claim := range obj.At("spec", "volumeClaimTemplates").Elements() {
		claimKind(claim)
	}
}
