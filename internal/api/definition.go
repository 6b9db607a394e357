package api

import (
	"context"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Definition is the part of a row that comes from the definition of a custom resource.
type Definition struct {
	Name        string // of the definition: "widgets.example.com"
	UID         string
	Terminating bool   // its objects are being deleted; creates are refused
	Warning     string // to users of a deprecated version
	Deprecated  bool
	Schema      func() []byte // of this version, as JSON; nil for none
	Rules       func() Rules  // of this version, compiled at the first call; nil for none
	Hash        [32]byte      // of everything that the rows of the definition are made of
	Made        *Made         // the values that are made of the definition when they are used

	// Key is the definition's key in the store. At Revision the store's entry is known to
	// be what the row is made of.
	Key      string
	Revision atomic.Uint64
	// FormKey is the key of the record about the form in which objects are stored, and Form
	// the revision of the record that the row goes with: 0 for none.
	FormKey string
	Form    uint64
}

// Rules are expressions that the objects of a custom resource have to satisfy.
type Rules interface {
	// Check evaluates the rules for an object that replaces old, absent for a new one.
	// Both have the types of the version. unbounded says that some values are not
	// within the bounds of the schema, so that estimates of costs do not hold.
	Check(ctx context.Context, obj, old document.Value, unbounded bool) Broken
}

// Broken are the rules that an object breaks. Those that were broken before, in values
// that an update does not touch, are forgiven: their mistakes are texts for warnings.
type Broken struct {
	Causes   []schema.Cause
	Forgiven []string
}
