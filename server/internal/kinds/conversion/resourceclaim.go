package conversion

import "github.com/capstan-dev/capstan/internal/document"

// A request for devices has its exact form inside, in the member exactly, from resource.k8s.io/v1beta2 on. In v1beta1 that form's
// members are those of the request.
const exactly = "exactly"

// ofRequest are the members of a request in each version.
var ofRequest = map[string]bool{"name": true, "firstAvailable": true}

// nest gives requests of v1beta1 the later form.
func nest(from, to document.Value) {
	eachElement(from.At("devices", "requests"), to.At("devices", "requests"), func(from, to document.Value) {
		for name, v := range from.Members() {
			if !ofRequest[name] && !v.Equals("") { // the class of a request without the exact form
				to.SetObject(exactly).Put(name, v)
			}
		}
	})
}

// flatten does the opposite of nest.
func flatten(from, to document.Value) {
	eachElement(from.At("devices", "requests"), to.At("devices", "requests"), func(from, to document.Value) {
		for name, v := range from.Get(exactly).Members() {
			to.Put(name, v)
		}
	})
}

// eachElement visits the elements of two lists of one length.
func eachElement(from, to document.Value, visit func(from, to document.Value)) {
	for i, v := range from.Elements() {
		visit(v, to.Index(i))
	}
}

// ResourceV1beta1ResourceClaimToV1beta2 nests requests.
func (Hooks) ResourceV1beta1ResourceClaimToV1beta2(from, to document.Value) {
	nest(from.Get("spec"), to.Get("spec"))
}

// ResourceV1beta2ResourceClaimToV1beta1 flattens requests.
func (Hooks) ResourceV1beta2ResourceClaimToV1beta1(from, to document.Value) {
	flatten(from.Get("spec"), to.Get("spec"))
}

// ResourceV1beta1ResourceClaimToV1 nests requests.
func (Hooks) ResourceV1beta1ResourceClaimToV1(from, to document.Value) {
	nest(from.Get("spec"), to.Get("spec"))
}

// ResourceV1ResourceClaimToV1beta1 flattens requests.
func (Hooks) ResourceV1ResourceClaimToV1beta1(from, to document.Value) {
	flatten(from.Get("spec"), to.Get("spec"))
}

// ResourceV1beta1ResourceClaimTemplateToV1beta2 nests requests.
func (Hooks) ResourceV1beta1ResourceClaimTemplateToV1beta2(from, to document.Value) {
	nest(from.At("spec", "spec"), to.At("spec", "spec"))
}

// ResourceV1beta2ResourceClaimTemplateToV1beta1 flattens requests.
func (Hooks) ResourceV1beta2ResourceClaimTemplateToV1beta1(from, to document.Value) {
	flatten(from.At("spec", "spec"), to.At("spec", "spec"))
}

// ResourceV1beta1ResourceClaimTemplateToV1 nests requests.
func (Hooks) ResourceV1beta1ResourceClaimTemplateToV1(from, to document.Value) {
	nest(from.At("spec", "spec"), to.At("spec", "spec"))
}

// ResourceV1ResourceClaimTemplateToV1beta1 flattens requests.
func (Hooks) ResourceV1ResourceClaimTemplateToV1beta1(from, to document.Value) {
	flatten(from.At("spec", "spec"), to.At("spec", "spec"))
}
