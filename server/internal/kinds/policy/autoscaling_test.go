package policy_test

import (
	"strings"
	"testing"
)

func TestHorizontalPodAutoscaler(t *testing.T) {
	head := "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\n"
	with := func(more string) string {
		return "spec: {maxReplicas: 3, scaleTargetRef: {kind: K, name: nn}, " + more + "}"
	}
	metric := func(text string) string { return with("metrics: [{" + text + "}]") }
	at := "spec.metrics[0]"
	runCreate(t, head, []createCase{
		{"right", metric("type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: 1}}"), ""},
		{"no type", metric(""), at + ".type: Required; " + at + ".type: NotSupported"},
		{"no target", metric("type: Pods, pods: {metric: {name: m}}"), at + ".pods.target.type: Required; " + at + ".pods.target.type: Invalid; " + at + ".pods.target.averageValue: Required"},
		{"nothing", metric("type: Pods, pods: {metric: {name: m}, target: {type: AverageValue, averageValue: 0}}"), at + ".pods.target.averageValue: Invalid"},
		{"none", with("minReplicas: 0"), "spec.minReplicas: Invalid; spec.metrics: Forbidden"},
	})
	external := metric("type: External, external: {metric: {name: m}, target: {type: Value, value: 1}}")
	from := "minReplicas: 0, metrics:"
	sleeping := strings.Replace(external, "metrics:", from, 1)
	runUpdate(t, head, []updateCase{
		{"none", external, sleeping, "spec.minReplicas: Invalid"},
		{"none as before", sleeping, sleeping, ""},
	})
}

func TestConditions(t *testing.T) {
	head := "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {minAvailable: 1}\n"
	const right, at = "{type: A, status: 'True', reason: R, lastTransitionTime: '2022-01-01T00:00:00Z'}", "status.conditions[0]"
	with := func(list string) string { return "status: {conditions: [" + list + "]}" }
	runStatus(t, head, []updateCase{
		{"right", "", with(right), ""},
		{"two", "", with(right + ", " + right), "status.conditions[1].type: Duplicate"},
		{"nothing", "", with("{}"), at + ".type: Invalid; " + at + ".status: NotSupported; " + at + ".lastTransitionTime: Required; " + at + ".reason: Required"},
		{"words", "", with("{type: a b, status: Maybe, observedGeneration: -1, reason: 'no word', lastTransitionTime: '2022-01-01T00:00:00Z'}"),
			at + ".type: Invalid; " + at + ".status: NotSupported; " + at + ".observedGeneration: Invalid; " + at + ".reason: Invalid"},
	})
}
