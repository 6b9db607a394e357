package objects

import (
	"context"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Evaluation is one attempt of a write: from its basis, by findings about the changed object, to
// a product for the store.
type Evaluation struct {
	*Write
	s         *Objects
	ctx       context.Context
	Opts      Options // of this attempt
	Via       *Via
	stored    Ref    // the written object, in the storage version
	version   string // the resourceVersion of a new object
	generated bool   // the name of a new object
	basis
	obj   document.Value // from convert, or convertLast, on in the storage version
	claim *allocate.Claim
	seen  [4]store.Seen // the usual room of the read set
	docs  []*document.Document
	dependence
	findings
	product
}

// basis is the stored object that a write changes.
type basis struct {
	basisRow *catalog.Row   // of the version in which the basis is stored
	current  *store.Entry   // nil when nothing is stored
	old      document.Value // current as a tree
	Shown    *store.Entry   // current in the version of the write
	Was      document.Value // Shown as a tree
}

// dependence ties the write to others: by the other objects that the evaluation has read, and by the marks for those
// that read its object.
type dependence struct {
	reads  []store.Seen
	marks  []string
	kept   []string // uids of owners by references
	broken error    // why other objects could not be read
}

// findings are the results of admission and validation of the changed object.
type findings struct {
	named    string           // the name by which admission knows the object; "" for a generated one
	causes   []schema.Cause   // of the steps before its validation
	written  []schema.Cause   // of the object by a version that is not the storage version, see written.go
	charge   admission.Charge // nil for what quotas do not count
	ranges   admission.Ranges // of the mutating plug-ins, for the validating ones
	warnings []string
	notes    [][2]string // annotations of audit events: key, value
	taken    []func()    // give back what plug-ins have taken
}

// product is the result of an evaluation.
type product struct {
	made   store.Write
	space  *stored.Space // of made
	answer *store.Entry  // if it differs from the stored object
	given  bool          // to the store, which may have written it
	parts  []part        // which are written in the same transaction
	ending ending
}

func newEvaluation(ctx context.Context, s *Objects, w *Write, current *store.Entry) *Evaluation {
	return &Evaluation{Write: w, s: s, ctx: ctx, Opts: w.Opts, Via: w.As, stored: w.Ref.Stored(),
		basis: basis{current: current, Shown: current}, product: product{space: stored.NewSpace()}}
}
