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

// GroupVersion is one served group version: static data, written by the
// generator (or made at run time from a custom resource definition).
type GroupVersion struct {
	Group, Version  string
	GroupPriority   int  // order of groups in /apis, higher first (apiregistration's groupPriorityMinimum)
	VersionPriority int  // order of versions within the group
	Preferred       bool // the group's preferred version
	Table           *schema.Table
	Defaults        []func(document.Value) // by schema.Type.Hook - 1
	Validation      document.Hooks         // hooks of types that take part in the validation
	Resources       []Resource             // by plural name
}

// APIVersion is the text of an object's apiVersion: "v1", "apps/v1".
func (g *GroupVersion) APIVersion() string {
	if g.Group == "" {
		return g.Version
	}
	return g.Group + "/" + g.Version
}

// Prefix is the path under which the group version is served.
func (g *GroupVersion) Prefix() string {
	if g.Group == "" {
		return "/api/" + g.Version
	}
	return "/apis/" + g.Group + "/" + g.Version
}

// Resource is one row of the catalog: all that the server needs to know to
// serve a resource type in one version.
//
// Invariants: GV.Table.Types[Type] is the kind's Object type; Stored is false
// for virtual resources, which then support no verb but create (and what their
// subresources say).
type Resource struct {
	GV                  *GroupVersion
	Plural              string
	Singular            string // "" in discovery of built-in types, as in 1.25
	Kind                string
	ListKind            string
	Type                schema.Ref
	Namespaced          bool
	Stored              bool
	Verbs               Verbs
	ShortNames          []string
	Categories          []string
	StorageVersion      string     // the version whose JSON is stored: "v1"
	Form                string     // of stored objects, see schema.Table.Form: changes when they may have to be read in another way
	StorageVersionHash  string     // opaque, changes with the storage encoding
	NameFormat          string     // rule for metadata.name, e.g. "dns1123-subdomain"; see document.Formats
	HasStatus           bool       // spec and status are written by different endpoints
	HasGeneration       bool       // metadata.generation counts changes outside metadata and status
	Endpoint            Endpoint   // of an operation, which keeps no objects; "" for others
	Role                Role       // "" for nearly all
	ConditionalUpdate   bool       // an update must say the version that it replaces
	Dependents          Dependents // "": they are deleted in the background
	OrphanWarning       string     // for authors of a delete that orphans dependents without saying so; "" for none
	ProtectedNames      []string   // of objects that may not be deleted
	Graceful            *Grace     // nil: a delete gives no time
	Completes           bool       // status.phase says Succeeded or Failed when the object is done, and so do tables (pods)
	Expires             bool       // objects vanish some time after their last write (events)
	StatusOnCreate      bool       // a new object keeps the status it was sent with (nodes)
	DeleteReturnsObject bool       // delete answers with the object, not with a Status
	Keeps               [][]string // what an update leaves as it is, whatever it says, and nobody owns
	ErrorGroup          string     // the group that answers to invalid objects name; "" for GV.Group
	Columns             []Column
	Selectable          []Selectable // fields a fieldSelector may name, in the order of their values in the store's Meta
	Subresources        []Subresource
	Hooks               *Hooks   // nil when the kind has none
	Checks              []Check  // nil: UsualChecks
	ChecksOnCreate      int      // how often a create tells what is wrong; 0 is once
	HiddenAnnotations   []string // not in the metadata that is shown without the object
	CheckedWhenMissing  bool     // an update that may not create the object tells what is wrong with it first
	MetadataLast        bool     // what is wrong with the metadata of a new object is told last, of one written in this version only when nothing else is wrong
	AnyFinalizer        bool     // finalizers without a domain need not be known
	Deprecated          *Deprecation
	Off                 bool            // not served; set by the server at its start
	Gated               *document.Gated // fields of features that are off; set by the server at its start
	Conversion          *Conversion     // nil when objects are stored in this version; columns and lifecycle then are those of Storage
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

// GroupOfErrors is the group that errors name beside the kind.
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
	Path                            string   // ".status.phase": the value at that path; "" when Cell is set
	Cell                            CellFunc // computes the value; nil when Path is set
}

// CellFunc computes a table cell from an object: a string, an int64 or a bool.
type CellFunc func(obj document.Value) any

// Selectable is a field that a fieldSelector may name.
type Selectable struct {
	Name    string   // "spec.nodeName"
	Path    []string // where the value is; nil for metadata.name and metadata.namespace, which the key holds
	Else    []string // where the value is when there is none at Path, or an empty one
	Default string   // the value when the field is absent
	AliasOf string   // another Name whose value it stands for
	Never   bool     // accepted, but never equal to anything
}

// Subresource is an endpoint below one object.
type Subresource struct {
	Name                 string   // "status", "scale", "binding", …
	Endpoint             Endpoint // what it does
	Verbs                Verbs
	Group, Version, Kind string // of the body, where it differs from the resource
	Table                *schema.Table
	Type                 schema.Ref
	AlsoAccepts          []string      // further versions ("policy/v1beta1") that bodies may say they have
	Scale                *ScalePaths   // of the scale subresource
	Checks               []Check       // nil: UsualChecks, of the status UsualStatusChecks
	Keeps                [][]string    // what a write through it leaves as it is, besides the rest of the object, and does not own
	Unowned              [][]string    // what a write through it does not own either
	MissingAs            GroupResource // what a read calls an object that is not there; zero for the resource
}

// ScalePaths says where the scale subresource finds its values, as dotted
// paths ("spec.replicas").
type ScalePaths struct{ SpecReplicas, StatusReplicas, Selector []string }

// Deprecation is what a deprecated resource tells its users.
type Deprecation struct {
	Since, RemovedIn string // releases, "1.24"
	Replacement      string // "autoscaling/v2.HorizontalPodAutoscaler"; "" for none
}

// Warning is the text that users of a deprecated kind ("v1 ComponentStatus") get.
func (d *Deprecation) Warning(kind string) string {
	text := kind + " is deprecated in v" + d.Since + "+"
	if d.RemovedIn != "" {
		text += ", unavailable in v" + d.RemovedIn + "+"
	}
	if i := strings.LastIndexByte(d.Replacement, '.'); i >= 0 {
		text += "; use " + d.Replacement[:i] + " " + d.Replacement[i+1:]
	}
	return text
}

// Hooks are the hand-written rules of one kind, where a schema cannot say
// them. Each may be nil. They run on objects in the row's version, after
// decoding and schema defaults.
type Hooks struct {
	// Create sets what the server owns on a new object (status, …).
	Create func(obj document.Value)
	// Update makes obj, about to replace old, follow the rules that are not
	// errors (fields that only the server may change keep their old value).
	Update func(obj, old document.Value)
	// Status is Update for what the status endpoint writes: obj has the status and
	// the metadata that were sent, and everything else of old.
	Status func(obj, old document.Value)
	// Validate returns all that is wrong. old is the zero Value on create.
	Validate func(obj, old document.Value) []FieldError
	// Warn returns what the author of a valid object should know: what of it is
	// deprecated, or has no effect. old is the zero Value on create.
	Warn func(obj, old document.Value) []string
}
