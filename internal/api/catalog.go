package api

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Verbs is a set of API verbs.
type Verbs uint16

// The verbs of the specification ("Terminology") that a resource may support.
const (
	VerbCreate Verbs = 1 << iota
	VerbDelete
	VerbDeleteCollection
	VerbGet
	VerbList
	VerbPatch
	VerbUpdate
	VerbWatch
)

var verbNames = [...]string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

// Has reports whether all of v are in the set.
func (s Verbs) Has(v Verbs) bool { return s&v == v }

// Names lists the verbs in the order of discovery (alphabetical).
func (s Verbs) Names() []string {
	var names []string
	for i, n := range verbNames {
		if s&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// GroupVersion is one served group version: static data, written by the generator (or
// made at run time from a custom resource definition).
type GroupVersion struct {
	Group, Version  string
	GroupPriority   int                    // order of groups in /apis, higher first (apiregistration's groupPriorityMinimum)
	VersionPriority int                    // order of versions within the group
	Preferred       bool                   // the group's preferred version
	Off             bool                   // not served unless it is turned on
	Unlisted        bool                   // served, for clients that know it, and not in discovery
	Table           *schema.Table          // nil where Compile makes it
	Compile         func() *schema.Table   // makes the table once, when it is first asked for
	Defaults        []func(document.Value) // by schema.Type.Hook - 1
	Validation      document.Hooks         // hooks of types that take part in validation
	Resources       []Resource             // by plural name
	// StoredRules says that objects follow the schema of their storage version only, as those of the groups of
	// 1.25 do. Objects of other groups follow that of the version of the write, too.
	StoredRules bool
}

// Types is the table of the types of the group version.
func (g *GroupVersion) Types() *schema.Table {
	if g.Compile != nil {
		return g.Compile()
	}
	return g.Table
}

// APIVersion is the text of an object's apiVersion: "v1", "apps/v1".
func (g *GroupVersion) APIVersion() string {
	if g.Group == "" {
		return g.Version
	}
	return g.Group + "/" + g.Version
}

// GroupOf is the group in the text of an apiVersion; "" for core.
func GroupOf(apiVersion string) string {
	if group, _, named := strings.Cut(apiVersion, "/"); named {
		return group
	}
	return ""
}

// Prefix is the path under which the group version is served.
func (g *GroupVersion) Prefix() string {
	if g.Group == "" {
		return "/api/" + g.Version
	}
	return "/apis/" + g.Group + "/" + g.Version
}

// Resource is one row of the catalog: the description of a resource type in one version.
//
// Invariants: GV.Types().Types[Type] is the kind's Object type; Stored is false for virtual
// resources, which then support no verb but create (and those of their subresources).
type Resource struct {
	GV                 *GroupVersion
	Plural             string
	Singular           string // "" in discovery of built-in types, as in 1.25
	Kind               string
	ListKind           string
	Type               schema.Ref
	Namespaced         bool
	Stored             bool
	Verbs              Verbs
	ShortNames         []string
	Categories         []string
	StorageVersion     string   // the version whose JSON is stored: "v1"
	Form               string   // fingerprint of stored objects, see schema.Table.Form: changes when older ones have to be read differently
	StorageVersionHash string   // opaque, changes with the storage encoding
	HasStatus          bool     // spec and status are written by different endpoints
	HasGeneration      bool     // metadata.generation counts changes outside metadata and status
	Endpoint           Endpoint // of an operation, which keeps no objects; "" for others
	Action             *Action  // of EndpointAction
	Role               Role     // "" for nearly all
	Writing
	Checking
	Deletion
	Relations
	Columns           []Column
	HiddenAnnotations []string     // not in the metadata that is shown without the object
	Selectable        []Selectable // fields a fieldSelector may name, in the order of their values in the store's Meta
	Subresources      []Subresource
	Hooks             *Hooks // nil when the kind has none
	Gate              string // the feature without which the resource is not served; "" for none
	Deprecated        *Deprecation
	Definition        *Definition // of custom resources; nil for all others
	Conversion        *Conversion // nil in the storage version; columns and lifecycle then are those of Storage
	Choice
}

// Writing is the part of a row about what writes change, keep and drop.
type Writing struct {
	ConditionalUpdate bool       // an update must name the resourceVersion that it replaces
	StatusOnCreate    bool       // a new object keeps the status that was sent (nodes)
	Keeps             [][]string // paths that an update does not change and that have no owner
	ReadOnly          [][]string // paths that only hooks set: dropped from new objects, kept by updates, without an owner
	WriteOnly         [][]string // paths that hooks see and nobody else: dropped before the object is stored
}

// Checking is the part of a row about the checks of objects, and the answer when they fail.
type Checking struct {
	NameFormat         string  // rule for metadata.name, e.g. "dns1123-subdomain"; see document.Formats
	AnyFinalizer       bool    // finalizers without a domain need not be known
	Checks             []Check // nil: UsualChecks
	ChecksOnCreate     int     // how often a create validates; 0 is once
	CheckedWhenMissing bool    // an update that may not create the object validates it first
	MetadataLast       bool    // causes in the metadata of a new object come last, and of one written in this version only when there are no others
	ErrorGroup         string  // the group in answers to invalid objects; "" for GV.Group
}

// Deletion is the part of a row about the ends of objects.
type Deletion struct {
	Dependents          Dependents // "": they are deleted in the background
	OrphanWarning       string     // for authors of a delete that orphans dependents by default; "" for none
	ProtectedNames      []string   // names of objects that may not be deleted
	Graceful            *Grace     // nil: a delete has no grace period
	Completes           bool       // status.phase Succeeded or Failed marks a finished object, also in tables (pods)
	Expires             bool       // objects are deleted some time after their last write (events)
	DeleteReturnsObject bool       // delete answers with the object, not with a Status
}

// Choice is the part of a row that the server sets at its start, by its features and versions.
type Choice struct {
	Off      bool             // not served
	Gated    *document.Gated  // fields of disabled features
	Outdated *document.Fields // deprecated fields
}

// GroupResource names the resource type in messages.
func (r *Resource) GroupResource() GroupResource {
	return GroupResource{Group: r.GV.Group, Resource: r.Plural}
}

// Invalid is the error for an object of this kind that breaks rules; the name
// may be empty.
func (r *Resource) Invalid(name string, causes []Cause) *Error {
	return Invalid(r.GroupOfErrors(), r.Kind, name, causes)
}

// GroupOfErrors is the group in errors about the kind.
func (r *Resource) GroupOfErrors() string {
	if r.ErrorGroup != "" {
		return r.ErrorGroup
	}
	return r.GV.Group
}

// Subresource returns the row with that name, or nil.
func (r *Resource) Subresource(name string) *Subresource {
	for i := range r.Subresources {
		if r.Subresources[i].Name == name {
			return &r.Subresources[i]
		}
	}
	return nil
}

// Column is one column of the table representation.
type Column struct {
	Name, Type, Format, Description string
	Priority                        int
	Path                            string   // ".status.phase": the value at that path; "" for the object itself, for a Cell
	Orders                          bool     // the rows of a list are in the order of the numbers at the path
	Absent                          string   // text in place of an absent or empty value; "" for the usual one
	Cell                            CellFunc // computes the cell from the value; nil to show the value itself
}

// CellFunc computes a table cell from a value: a string, an int64, a bool or an Ago. It
// depends on nothing else, so that the result can be kept.
type CellFunc func(v document.Value) any

// Ago is a cell that shows the age of a time in RFC 3339, "<unknown>" without one, between
// two texts.
type Ago struct{ Before, Since, After string }

// Selectable is a field that a fieldSelector may name.
type Selectable struct {
	Name    string   // "spec.nodeName"
	Path    []string // path of the value; nil for metadata.name and metadata.namespace, which the key holds
	Else    []string // path of the value when there is none at Path, or an empty one
	Default string   // the value when the field is absent
	AliasOf string   // another Name with the same value
	Never   bool     // accepted, but never equal to anything
	Served  bool     // of the object in the version of the request, not in the header
}

// Subresource is an endpoint below one object.
type Subresource struct {
	Name                 string   // "status", "scale", "binding", …
	Endpoint             Endpoint // its implementation
	Verbs                Verbs
	Group, Version, Kind string        // of the body, where it differs from the resource
	Table                *schema.Table // nil for that of the resource
	Type                 schema.Ref
	AlsoAccepts          []string      // further versions ("policy/v1beta1") of bodies
	Action               *Action       // of EndpointAction
	Scale                *ScalePaths   // of the scale subresource
	Checks               []Check       // nil: UsualChecks, of the status UsualStatusChecks
	Keeps                [][]string    // paths that a write through it does not change, besides the rest of the object, and does not own
	Unowned              [][]string    // further paths that a write through it does not own
	Gate                 string        // the feature gate without which it is not served; "" for none
	MissingAs            GroupResource // the resource in a read's error for a missing object; zero for the resource itself
}

// ScalePaths are the dotted paths ("spec.replicas") of the scale subresource's values.
type ScalePaths struct{ SpecReplicas, StatusReplicas, Selector []string }

// Deprecation describes the deprecation of a resource or an action.
type Deprecation struct {
	Since, RemovedIn string // releases, "1.24"
	Replacement      string // "autoscaling/v2.HorizontalPodAutoscaler", or words; "" for none
}

// Warning is the warning for users of a deprecated kind ("v1 ComponentStatus"), or an action.
func (d *Deprecation) Warning(kind string) string {
	text := kind + " is deprecated in v" + d.Since + "+"
	if d.RemovedIn != "" {
		text += ", unavailable in v" + d.RemovedIn + "+"
	}
	if i := strings.LastIndexByte(d.Replacement, '.'); i >= 0 && !strings.Contains(d.Replacement, " ") {
		text += "; use " + d.Replacement[:i] + " " + d.Replacement[i+1:]
	} else if d.Replacement != "" {
		text += "; use " + d.Replacement
	}
	return text
}

// Hooks are the hand-written rules of one kind, which a schema cannot express. Each may
// be nil. They run on objects in the row's version, after decoding and schema defaults.
type Hooks struct {
	// Create sets the server's fields of a new object (status, …).
	Create func(obj document.Value)
	// Update applies the rules that are not errors to obj, which replaces old (fields
	// that only the server may change keep their old value).
	Update func(obj, old document.Value)
	// Status is Update for the status endpoint: obj has the status and the metadata that
	// were sent, and everything else of old.
	Status func(obj, old document.Value)
	// Resize is Update for the endpoint that writes the resources of a pod, and ValidateResize is Validate.
	Resize         func(obj, old document.Value)
	ValidateResize func(obj, old document.Value) []FieldError
	// Validate returns all mistakes. old is the zero Value on create.
	Validate func(obj, old document.Value) []FieldError
	// ValidateParts returns the mistakes of parts that the rules of their types judge in another form than that of the object.
	ValidateParts func(obj, old document.Value, rules *document.Hooks) []FieldError
	// Check returns the mistakes of a valid object that show next to other objects. old is the zero
	// Value on create.
	Check func(view View, obj, old document.Value) []FieldError
	// CheckDelete returns why an object may not be deleted.
	CheckDelete func(view View, obj document.Value) []FieldError
	// Warn returns warnings for the author of a valid object: deprecated fields, and
	// those without effect. old is the zero Value on create.
	Warn func(obj, old document.Value) []string
}
