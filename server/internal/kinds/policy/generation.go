package policy

import "github.com/capstan-dev/capstan/internal/document"

// countMetadata makes the object a new generation when a map in its metadata has changed.
// Other changes are counted later, and not once more.
func countMetadata(obj, old document.Value, name string) {
	a, b := obj.At("metadata", name), old.At("metadata", name)
	if a.Len() == 0 && b.Len() == 0 || document.Equal(a, b) {
		return
	}
	nextGeneration(obj, old)
}

// nextGeneration makes the object a new generation of the old one.
func nextGeneration(obj, old document.Value) {
	n, _ := old.At("metadata", "generation").Int()
	obj.SetObject("metadata").SetInt("generation", n+1)
}
