package servertest

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/converttest"
)

// Conversions takes drawn objects through every hand-written conversion of an API, in both directions, and fails for fields
// that are lost, and for fields that no object carried there and back. The objects in a folder are tried too: it helps
// where right objects are hard to draw. Generated code calls it.
func Conversions(t *testing.T, a *api.API, examples string) { converttest.All(t, a.Groups(), examples) }

// FuzzConversions does the same with objects of seeds that the fuzzer chooses.
func FuzzConversions(f *testing.F, a *api.API) { converttest.Fuzz(f, a.Groups()) }
