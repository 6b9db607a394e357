package conversion

import "github.com/capstan-dev/capstan/internal/document"

// A device of a slice has its description inside, in the member basic, before resource.k8s.io/v1beta2. The capacity of a device
// is a quantity in v1alpha3, and an object with the quantity later.
const basic = "basic"

// unwrap gives the devices of a slice the later form.
func unwrap(from, to document.Value) {
	eachElement(from.At("spec", "devices"), to.At("spec", "devices"), func(from, to document.Value) {
		for name, v := range from.Get(basic).Members() {
			to.Put(name, v)
		}
	})
}

// wrap does the opposite of unwrap.
func wrap(from, to document.Value) {
	eachElement(from.At("spec", "devices"), to.At("spec", "devices"), func(from, to document.Value) {
		inside := to.SetObject(basic)
		for name, v := range from.Members() {
			if name != "name" {
				inside.Put(name, v)
			}
		}
	})
}

// ResourceV1beta1ResourceSliceToV1beta2 unwraps devices.
func (Hooks) ResourceV1beta1ResourceSliceToV1beta2(from, to document.Value) { unwrap(from, to) }

// ResourceV1beta2ResourceSliceToV1beta1 wraps devices.
func (Hooks) ResourceV1beta2ResourceSliceToV1beta1(from, to document.Value) { wrap(from, to) }

// ResourceV1beta1ResourceSliceToV1 unwraps devices.
func (Hooks) ResourceV1beta1ResourceSliceToV1(from, to document.Value) { unwrap(from, to) }

// ResourceV1ResourceSliceToV1beta1 wraps devices.
func (Hooks) ResourceV1ResourceSliceToV1beta1(from, to document.Value) { wrap(from, to) }

// ResourceV1alpha3ResourceSliceToV1beta1 makes objects of capacities.
func (Hooks) ResourceV1alpha3ResourceSliceToV1beta1(from, to document.Value) {
	eachElement(from.At("spec", "devices"), to.At("spec", "devices"), func(from, to document.Value) {
		for name, v := range from.At(basic, "capacity").Members() {
			to.SetObject(basic).SetObject("capacity").SetObject(name).Put("value", v)
		}
	})
}

// ResourceV1beta1ResourceSliceToV1alpha3 makes quantities of capacities.
func (Hooks) ResourceV1beta1ResourceSliceToV1alpha3(from, to document.Value) {
	eachElement(from.At("spec", "devices"), to.At("spec", "devices"), func(from, to document.Value) {
		for name, v := range from.At(basic, "capacity").Members() {
			to.SetObject(basic).SetObject("capacity").Put(name, v.Get("value"))
		}
	})
}
