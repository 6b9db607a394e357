package schema

// Kind is the shape of a value.
type Kind uint8

// The kinds of values. The scalar kinds after Boolean have a JSON form of
// their own and a canonical spelling that the document package enforces.
const (
	Object      Kind = iota + 1 // a fixed set of fields
	Map                         // string keys, values of type Elem
	List                        // values of type Elem
	String                      // JSON string
	Bytes                       // JSON string in standard base64
	Boolean                     // JSON true or false
	Integer                     // JSON number without fraction, Bits wide
	Number                      // JSON number, float64
	IntOrString                 // JSON number (int32) or string
	Quantity                    // JSON string (or number on input), e.g. "100m", "1Gi"
	Time                        // RFC 3339, whole seconds, UTC
	MicroTime                   // RFC 3339 with six fractional digits, UTC
	Duration                    // Go duration text, e.g. "1m30s"
	Any                         // any JSON value, kept as sent; with Elem: one of the forms that Binary names
)

// Presence is the treatment of a zero value ("", 0, false, [], {}).
type Presence uint8

const (
	// Implicit: a zero value is the same as no value and is dropped. The
	// default for optional scalars, lists and maps.
	Implicit Presence = iota
	// Explicit: absent and zero differ, a zero is kept when it was sent. The
	// default for optional objects.
	Explicit
	// Always: written even when it was not sent, with its zero value: "", 0,
	// false, {} for objects, null for lists, maps, times and Any. The default
	// for required fields.
	Always
	// Sent: kept as it was sent, null included, and absent otherwise. The presence of
	// the fields of custom resources.
	Sent
)

// ListType is the way in which two lists merge (specification, "merge markers").
type ListType uint8

const (
	ListAtomic ListType = iota // replaced as a whole
	ListSet                    // unique scalars
	ListMap                    // elements identified by Type.ListKeys
)

// PatchStrategy is a set of strategic merge patch directives of a field.
type PatchStrategy uint8

const (
	PatchMerge      PatchStrategy = 1 << iota // lists merge (by Field.PatchKey, or as a set)
	PatchRetainKeys                           // the patch's keys replace the object's
	PatchReplace                              // objects are replaced as a whole (they merge otherwise)
	PatchAtomic                               // lists that merge are owned as a whole all the same
)

// BinaryForm is the wrapping of an Any or scalar value in the binary form.
type BinaryForm uint8

const (
	// BinaryPlain is the form of the kind itself: String and Bytes are
	// length-delimited, Integer and Boolean varints, Object and Map messages,
	// Quantity {1: string}, Time and MicroTime {1: seconds, 2: nanos},
	// Duration {1: nanoseconds}, IntOrString {1: kind, 2: int, 3: string}.
	BinaryPlain BinaryForm = iota
	// BinaryRaw is a message whose field 1 holds the JSON bytes
	// (RawExtension, FieldsV1, JSON).
	BinaryRaw
	// BinaryStringList is a message whose repeated field 1 holds the strings
	// (ExtraValue, Verbs).
	BinaryStringList
	// The forms of an Any that is an object of type Elem or something else. Each is a
	// message of two fields, one of which is present.
	BinaryObjectOrList    // 1: the object; 2, repeated: objects of a list
	BinaryObjectOrBoolean // 1: the boolean, true with an object; 2: the object
	BinaryObjectOrStrings // 1: the object; 2, repeated: strings of a list
)

// Ref is the index of a type in its Table.
type Ref int32

// None is the Ref of no type.
const None Ref = -1

// Table is the closed set of types that a group version's kinds reach. It
// refers to no other table.
//
// Invariants: every Ref is None or inside Types; types appear in the order in
// which a depth-first walk from Roots (in their order) first meets them; two
// tables compiled from the same documents are equal (reflect.DeepEqual).
type Table struct {
	Group   string // "apps"; "" for the core group
	Version string // "v1"
	Types   []Type
	Roots   []Root // by name

	// CauseOrders has the types whose causes are not in the order of the members: the
	// paths below a value that go first, in their order.
	CauseOrders map[Ref][]string
	// Outdated marks a table with deprecated fields.
	Outdated bool
	// Custom marks a table made from the definition of a custom resource: members of
	// untyped values are ordered by name, and numbers have one spelling.
	Custom bool
	// Wholes and Keyed mark such a table with embedded objects, and with sets or keyed
	// lists.
	Wholes, Keyed bool
}

// Root is a named type that a table offers: every named type declared in the group
// version, kinds and options alike.
type Root struct {
	Name string // "Pod", "PodSpec"
	Type Ref
	Form string // of a kind that is stored: its fingerprint, see Form; "" for others
}

// Type describes the values of one type. The fields that every walk over an object reads
// come first.
type Type struct {
	Kind      Kind
	Bits      uint8 // Integer: 32 or 64
	Binary    BinaryForm
	ListType  ListType // List
	AtomicMap bool     // Object and Map: owned as a whole by field managers
	Open      bool     // Object: members without a field are kept
	Loose     bool     // Object of a custom resource: members without a field are pruned, but applied configurations may have and own them
	RoundUp   bool     // Quantity: an amount finer than a thousandth becomes the next thousandth
	Hook      uint16   // Object: 1 + index of its default hook in the group version's Hooks; 0 for none
	// Check and Skip are, of an object, 1 + the index of its validation hook, and of
	// the hook that leaves members out of the validation, in the group version's
	// Hooks; 0 for none.
	Check, Skip uint16
	// HookRevision counts the changes in the values that the default hook fills in.
	HookRevision uint16
	Elem         Ref      // List and Map; of an Any, its objects; None otherwise
	Rules        *Rules   // constraints on the value itself; nil for none
	OneOf        *OneOf   // Object: members of which only one may be set; nil for none
	Values       *Values  // of custom resources: requirements on values; nil for other types
	Demands      *Demands // Object: rules across its members; nil for none
	Fields       []Field  // Object, in canonical order
	Index                 // Object: derived from Fields
	Name         string   // "core/v1.PodSpec"; "" for an anonymous type
	ListKeys     []string // List of type ListMap
}

// OneOf are members of an object of which only one may be set. The first in their order
// counts, the others are refused and not validated.
type OneOf struct {
	Fields   []uint16 // indices of Type.Fields
	Names    []string // names in causes; "" for one that is counted, but never refused
	What     string   // "volume type", in messages
	Required bool     // none set is an error
}

// Field is one member of an Object type.
type Field struct {
	Name      string
	Default   string // canonical JSON text; "" for none
	Type      Ref
	Number    uint32 // in the binary form; 0 for none
	Presence  Presence
	Patch     PatchStrategy
	Required  bool // absence on input is an error (422, FieldValueRequired)
	Null      bool // written as null when it has no value; with Explicit
	Nonzero   bool // with Required: 0 is absent too
	MayBeZero bool // with Required: a value that was sent is not absent, also "" and []
	ByRules   bool // absence on input is checked by the rules of the type, as an empty value
	Immutable bool // may not change after creation
	Unchecked bool // its value is decoded, not validated
	More      *More
}

// OuterBits are the bits of each number in More.Outer, of which MostOuter is the greatest.
const (
	OuterBits = 8
	MostOuter = 1<<OuterBits - 1
)

// More holds properties that few fields have; they are kept apart so that walks over
// objects touch less memory.
type More struct {
	Outer      uint32 // number of the embedded message that holds Number in the binary form, after those around it (OuterBits); 0: the object's own message
	PatchKey   string // merge key of PatchMerge lists; "" for scalars
	Gate       string // the feature without which the field is dropped; "" for none
	GateValue  string // the value that replaces a sent one without the feature; "" to drop the field
	GateHolder bool   // objects that hold nothing but the field are dropped with it
	Ungated    bool   // fields below are there without their features
	Outdated   bool   // deprecated: authors of a write that has it are warned
	CauseName  string // name in causes, if different; after "/" a whole path
	CauseList  bool   // causes about an element name the list, or leave out its index

	// When names a member before this one: the default is for objects in which it is one
	// of WhenIs. Empty: for all.
	When   string
	WhenIs []string
}

// Rest is More, zero for a field without it.
func (f *Field) Rest() More {
	if f.More == nil {
		return More{}
	}
	return *f.More
}

// Rules are the constraints that a schema can express. Zero means not set.
type Rules struct {
	Enum                 []string // allowed strings
	Pattern              string   // RE2, unanchored without ^ and $
	Format               string   // a named check, e.g. "dns1123-label"; see document.Formats
	HasMin, HasMax       bool
	Min, Max             float64
	ExclusiveMin         bool
	ExclusiveMax         bool
	MinLength, MaxLength uint32   // strings, in characters; MaxLength 0: none
	MinItems, MaxItems   uint32   // lists and maps; MaxItems 0: none
	Unique               []string // lists: members that identify elements, "." for whole elements; nil for none
	MaxBytes             uint32   // strings, and names and values of a map together; 0: no limit
	Keys                 string   // maps: a named check of the names, e.g. "qualified-name"; "" for none
	Why                  string   // message for broken bounds, lengths or patterns; "" for the usual words
	Invalid              bool     // a value outside Enum is called invalid, not unsupported
	AtParent             bool     // the cause names the object that holds the value
	Further              *Values  // keywords of JSON Schema beyond these; nil for none
}

// Root returns the type declared under that name, or None.
func (t *Table) Root(name string) Ref {
	if at := t.root(name); at >= 0 {
		return t.Roots[at].Type
	}
	return None
}

// FormOf is the fingerprint of the kind declared under that name; "" for kinds that are not stored.
func (t *Table) FormOf(name string) string {
	if at := t.root(name); at >= 0 {
		return t.Roots[at].Form
	}
	return ""
}

// root is the place in Roots of a name, or -1.
func (t *Table) root(name string) int {
	lo, hi := 0, len(t.Roots)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if t.Roots[mid].Name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(t.Roots) && t.Roots[lo].Name == name {
		return lo
	}
	return -1
}

// Either reports whether values are objects of type Elem or something else.
func (t *Type) Either() bool { return t.Kind == Any && t.Binary >= BinaryObjectOrList }
