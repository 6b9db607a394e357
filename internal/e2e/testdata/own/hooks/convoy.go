package hooks

import (
	"strconv"

	"github.com/capstan-dev/capstan/object"
)

// CellConvoyLong shows whether a convoy has many trucks.
func (Hooks) CellConvoyLong(obj object.Value) any {
	n, _ := obj.At("spec", "replicas").Int()
	return strconv.FormatBool(n > 10)
}

// CreateConvoy begins with an empty status.
func (Hooks) CreateConvoy(obj object.Value) { obj.Remove("status") }

// UpdateConvoy keeps the lights.
func (Hooks) UpdateConvoy(obj, old object.Value) {
	if !obj.At("spec", "lights").Exists() {
		_ = obj.Object("spec").Set("lights", old.At("spec", "lights"))
	}
}

// StatusConvoy keeps nothing.
func (Hooks) StatusConvoy(obj, old object.Value) {}

// DefaultConvoySpec gives night convoys their lights.
func (Hooks) DefaultConvoySpec(v object.Value) {
	if v.At("mode").Text() == "Night" && !v.At("lights").Exists() {
		_ = v.Set("lights", "bright")
	}
}

// SkipConvoySpec skips nothing.
func (Hooks) SkipConvoySpec(v object.Value) []string { return nil }

// ValidateConvoySpec forbids fast convoys at night.
func (Hooks) ValidateConvoySpec(v object.Value) []object.Cause {
	if speed, _ := v.At("speed").Int(); speed > 50 && v.At("mode").Text() == "Night" {
		return []object.Cause{object.Invalid(v.Path()+".speed", v.At("speed"), "too fast at night")}
	}
	return nil
}

// ValidateConvoy and ValidateConvoyInFleetV1 find nothing.
func (Hooks) ValidateConvoy(obj, old object.Value) []object.Cause          { return nil }
func (Hooks) ValidateConvoyInFleetV1(obj, old object.Value) []object.Cause { return nil }

// WarnConvoy warns of long convoys.
func (Hooks) WarnConvoy(obj, old object.Value) []string {
	if n, _ := obj.At("spec", "replicas").Int(); n > 10 {
		return []string{"long convoys need a permit"}
	}
	return nil
}

// FleetV1ConvoyToStorage and FleetV1ConvoyFromStorage rename the speed.
func (Hooks) FleetV1ConvoyToStorage(from, to object.Value) {
	_ = to.Object("spec").Set("speed", from.At("spec", "velocity"))
}
func (Hooks) FleetV1ConvoyFromStorage(from, to object.Value) {
	_ = to.Object("spec").Set("velocity", from.At("spec", "speed"))
}
