package conversion

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// The weight of a level, whose name differs from flowcontrol.apiserver/v1beta3 on. In v1 it
// may be 0; the versions before have the default instead, and an annotation, as in later
// releases.
const (
	storedShares  = "assuredConcurrencyShares"
	laterShares   = "nominalConcurrencyShares"
	defaultShares = 30
	zeroShares    = "flowcontrol." + profile.GroupSuffix + "/v1beta3-preserve-zero-concurrency-shares"
)

// WithoutShares reports whether a stored level has the weight 0.
func WithoutShares(level document.Value) bool {
	n, ok := level.At("spec", "limited", storedShares).Int()
	return ok && n == defaultShares && level.At("metadata", "annotations", zeroShares).Exists()
}

// FlowcontrolApiserverV1PriorityLevelConfigurationToV1beta2 renames the weight of a level.
func (h Hooks) FlowcontrolApiserverV1PriorityLevelConfigurationToV1beta2(from, to document.Value) {
	if n, ok := from.At("spec", "limited", laterShares).Int(); ok && n == 0 {
		to.At("spec", "limited").SetInt(storedShares, defaultShares)
		to.SetObject("metadata").SetObject("annotations").SetString(zeroShares, "")
		return
	}
	h.FlowcontrolApiserverV1beta3PriorityLevelConfigurationToV1beta2(from, to)
}

// FlowcontrolApiserverV1beta2PriorityLevelConfigurationToV1 does the opposite.
func (h Hooks) FlowcontrolApiserverV1beta2PriorityLevelConfigurationToV1(from, to document.Value) {
	h.FlowcontrolApiserverV1beta2PriorityLevelConfigurationToV1beta3(from, to)
	if n, ok := from.At("spec", "limited", storedShares).Int(); ok && n == 0 { // no weight, which only broken objects have
		to.At("spec", "limited").Remove(laterShares)
	}
	if annotations := to.At("metadata", "annotations"); annotations.Exists() {
		if annotations.Remove(zeroShares); annotations.Len() == 0 {
			to.Get("metadata").Remove("annotations")
		}
	}
}

// FlowcontrolApiserverV1beta3PriorityLevelConfigurationToV1beta2 renames the weight of a
// level.
func (Hooks) FlowcontrolApiserverV1beta3PriorityLevelConfigurationToV1beta2(from, to document.Value) {
	if v := from.At("spec", "limited", laterShares); v.Exists() {
		to.At("spec", "limited").Put(storedShares, v)
	}
}

// FlowcontrolApiserverV1beta2PriorityLevelConfigurationToV1beta3 does the opposite.
func (Hooks) FlowcontrolApiserverV1beta2PriorityLevelConfigurationToV1beta3(from, to document.Value) {
	v := from.At("spec", "limited", storedShares)
	switch {
	case WithoutShares(from):
		to.At("spec", "limited").SetInt(laterShares, 0)
	case v.Exists():
		to.At("spec", "limited").Put(laterShares, v)
	}
}
