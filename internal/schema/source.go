package schema

import (
	"fmt"
	"slices"
)

// Position is a position in a document. The zero Position is unknown (schemas that arrive
// over the network have none).
type Position struct {
	File string
	Line int
}

func (p Position) String() string {
	if p.File == "" {
		return "schema"
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// References says that a text is the name of an object.
type References struct {
	Pos                       Position
	Kind, OnMissing, OnDelete string
}

// Lifecycle says in which releases of an API a part of its documents is there.
type Lifecycle struct {
	Since string // the first release with it; "" for all
	Until string // the first release without it; "" for none
}

// Has reports whether a part is there in one of all releases, which are in their order.
func (l Lifecycle) Has(all []string, release string) bool {
	now := slices.Index(all, release)
	return (l.Since == "" || now >= slices.Index(all, l.Since)) && (l.Until == "" || now < slices.Index(all, l.Until))
}

// Schema is one JSON Schema object before references are resolved. The loader of the
// generator and the reader of custom resource definitions both make it; Compile turns it
// into table rows.
type Schema struct {
	Pos         Position
	ID          string // of a document: "apps/v1/Deployment", which follows from its path
	Ref         string // $ref: "#/$defs/X" or "/meta/v1/ObjectMeta"
	Description string
	Type        string // object, array, string, integer, number, boolean; "" for any
	Format      string
	Properties  []Property // in document order, which is the canonical order
	Required    []string   // refused without, and published as required
	Items       *Schema
	Additional  *Schema    // additionalProperties: the values of a map
	Defs        []Property // $defs, named types of the same document
	Absent      []AbsentField

	Enum             []string
	Default          []byte // JSON text; nil for none
	DefaultWhen      string // x-cluster-default-when: {DefaultWhen: DefaultWhenIs}
	DefaultWhenIs    []string
	Pattern          string
	Minimum, Maximum *float64
	ExclusiveMinimum *float64
	ExclusiveMaximum *float64
	MinLength        *int
	MaxLength        *int
	MinItems         *int
	MaxItems         *int

	// The x-cluster-… extensions.
	Rules         []Demand     // x-cluster-rules
	Unique        []string     // x-cluster-unique
	KeyCheck      string       // x-cluster-keys
	MaxBytes      *int         // x-cluster-max-bytes
	Why           string       // x-cluster-why
	Binary        int          // x-cluster-binary: its number, or that which follows from the fields before it
	BinaryOuter   int          // x-cluster-binary-outer of the object that has the field
	Reserved      []WireNumber // x-cluster-binary-reserved: numbers of fields that are gone
	Presence      string       // x-cluster-presence: implicit | explicit | always
	ListType      string       // x-cluster-list-type: atomic | set | map
	ListMapKeys   []string     // x-cluster-list-map-keys
	MapType       string       // x-cluster-map-type: atomic | granular
	PatchStrategy []string     // x-cluster-patch-strategy: merge | retainKeys | replace
	PatchMergeKey string       // x-cluster-patch-merge-key
	Immutable     bool         // x-cluster-immutable
	References    *References  // x-cluster-references; nil for none
	PreserveAny   bool         // x-cluster-preserve-unknown-fields
	DefaultHook   bool         // x-cluster-hooks: [default]
	ValidateHook  bool         // x-cluster-hooks: [validate]
	SkipHook      bool         // x-cluster-hooks: [skip]
	HookRevision  int          // x-cluster-hook-revision
	Goname        string       // x-cluster-go-name, where the derived name would clash
	BinaryForm    string       // x-cluster-binary-form: raw | json | string-list | object-or-list | object-or-boolean | object-or-strings
	Objects       string       // x-cluster-objects: a $ref for values that are objects; with x-cluster-preserve-unknown-fields
	RoundUp       bool         // x-cluster-round-up: of a quantity
	FormatCheck   string       // x-cluster-format: a named check of a string, e.g. "dns1123-label"

	AsSent      bool   // x-cluster-as-sent: members are explicit, and missing if they are not sent
	FeatureGate string // x-cluster-feature-gate
	GateValue   string // x-cluster-gate-value, with it
	GateHolder  bool   // x-cluster-gate-holder
	Ungated     bool   // x-cluster-feature-gates: false

	RequiredPublished []string // x-cluster-required-published: published as required, not refused without
	RequiredEnforced  []string // x-cluster-required-enforced: refused without, not published as required

	// Missing is x-cluster-missing: the values that count as missing, unless as usual:
	// by-rules (Field.ByRules), nonzero (Field.Nonzero) or not-sent (Field.MayBeZero).
	Missing string

	Null       bool     // x-cluster-null: written as null when it has no value
	OpenEnum   bool     // x-cluster-validate-enum: false, the enum is not enforced
	OneOf      []string // x-cluster-one-of: members of which one is set
	OneOfAs    string   // x-cluster-one-of-what: a name for these members in messages
	OneNeeded  bool     // x-cluster-one-of-required: none is an error
	CauseName  string   // x-cluster-cause-name
	CauseOrder []string // x-cluster-cause-order
	CauseList  bool     // x-cluster-cause-index: false

	// Validate is x-cluster-validate: whether the field's value is validated. Nil: it is.
	Validate *bool
	Cause    []string // x-cluster-cause: how a value that is not in enum is refused: invalid, parent

	// Notes of JSON Schema, and further restrictions.
	Title    string
	Examples []string // canonical JSON, each right for the schema
	Anchor   string   // $anchor: a name for references, of a type with a name
	Nullable bool     // null is a value: Null is set, and required members may be null
	Further  *Further // nil for none

	Deprecated bool // writers of the field are warned
	ReadOnly   bool // what clients send is dropped, an update keeps the value: only hooks set it
	WriteOnly  bool // for hooks: neither stored nor shown

	Lifecycle   Lifecycle // x-cluster-lifecycle
	RenamedFrom []string  // x-cluster-renamed-from: names of the field in other versions of the kind
}

// WireNumber is the number of a field in the binary form of an object, inside an embedded
// message if Outer is not 0 (More.Outer).
type WireNumber struct{ Outer, Number int }

// String is the number as documents write it: "4", or "2.4" inside the message 2.
func (n WireNumber) String() string {
	text := fmt.Sprint(n.Number)
	for outer := n.Outer; outer != 0; outer >>= OuterBits {
		text = fmt.Sprint(outer&MostOuter) + "." + text
	}
	return text
}

// AbsentField is the place of a field that the release of the documents lacks: its number stays its own.
type AbsentField struct {
	Name                string
	Before              int  // the index in Schema.Properties that the field is before
	OneOf               bool // Schema.OneOf has it in other releases
	Binary, BinaryOuter int  // as in Schema
}

// Property is a named schema.
type Property struct {
	Name   string
	Pos    Position
	Schema *Schema
}

// SameField reports whether a property of another version is the same field: it has the same name, or one of the two was
// renamed from the other.
func (p Property) SameField(other Property) bool { return p.names().Same(other.names()) }

func (p Property) names() FieldNames { return FieldNames{p.Name, p.Schema.RenamedFrom} }

// FieldNames are the name of a field and those that it has in other versions.
type FieldNames struct {
	Name        string
	RenamedFrom []string
}

// Same reports whether two fields are the same one: see Property.SameField.
func (f FieldNames) Same(other FieldNames) bool {
	return f.Name == other.Name || slices.Contains(f.RenamedFrom, other.Name) || slices.Contains(other.RenamedFrom, f.Name)
}

// Publishes reports whether a property is published as required.
func (s *Schema) Publishes(name string) bool {
	return slices.Contains(s.Required, name) || slices.Contains(s.RequiredPublished, name)
}

// Enforces reports whether objects without a property are refused.
func (s *Schema) Enforces(name string) bool {
	return slices.Contains(s.Required, name) || slices.Contains(s.RequiredEnforced, name)
}

// Published lists the properties that are published as required.
func (s *Schema) Published() []string {
	if len(s.RequiredPublished) == 0 {
		return s.Required
	}
	var names []string
	for _, p := range s.Properties {
		if s.Publishes(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}
