// Package model holds the content of the documents with every reference resolved. Emitters
// and templates see nothing else.
package model

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Profile holds the names that a deployment may change (openapi/profile.yaml).
type Profile struct {
	GroupSuffix     string // "k8s.io"
	LabelDomain     string // "kubernetes.io"
	MediaTypeWord   string // "kubernetes"
	ExtensionPrefix string // "x-kubernetes-"
}

// Releases are those of an API, oldest first (openapi/releases.yaml). A project that names none has one state.
type Releases struct {
	All     []string
	Default string            // the release that is read if none is asked for
	Now     string            // the release of the model
	Dates   map[string]string // of these releases and earlier ones, as 2026-11-28
}

// Begun reports whether the release of the model is a named one or a later one. To documents without releases each release has come.
func (r Releases) Begun(release string) bool {
	return len(r.All) == 0 || api.CompareReleases(release, r.Now) <= 0
}

// Nameless is the import path of a module without a go.mod, of which no code can be made.
const Nameless = "."

// Model is all documents of the project.
//
// Invariants: everything is sorted (GroupVersions by Dir, Types and Resources
// by name), so that emitting it twice gives equal bytes.
type Model struct {
	Profile       Profile
	Releases      Releases
	Module        string // the import path of another module that the documents are of; "" for this one
	Hooks         bool   // the module has a package hooks with a type Hooks
	GroupVersions []*GroupVersion
	Promises      *Promises // nil without openapi/promises.yaml
	Others        []*Model  // of the other releases of the documents, in their order
	Every         *Model    // with the parts of all releases; nil where Others is empty
}

// Whole is the model with the parts of all releases.
func (m *Model) Whole() *Model {
	if m.Every != nil {
		return m.Every
	}
	return m
}

// InOrder are the models of all releases, oldest first; the model alone where the documents have no history.
func (m *Model) InOrder() []*Model {
	all := append([]*Model{m}, m.Others...)
	slices.SortStableFunc(all, func(a, b *Model) int {
		return slices.Index(m.Releases.All, a.Releases.Now) - slices.Index(m.Releases.All, b.Releases.Now)
	})
	return all
}

// Preferred are the versions that discovery names first, by their groups.
func Preferred(groups []*GroupVersion) map[string]*GroupVersion {
	best := map[string]*GroupVersion{}
	for _, gv := range groups {
		if other := best[gv.Group]; gv.Served && !gv.Unlisted && (other == nil || gv.VersionPriority > other.VersionPriority) {
			best[gv.Group] = gv
		}
	}
	return best
}

// TypesByID are the types of group versions by their IDs.
func TypesByID(groups []*GroupVersion) map[string]*Type {
	all := map[string]*Type{}
	for _, gv := range groups {
		for _, t := range gv.Types {
			all[t.ID] = t
		}
	}
	return all
}

// GroupVersion is one openapi/<dir>.yaml with the schemas of schemas/<dir>/.
// A directory of shared types only (meta/v1) has no Resources.
type GroupVersion struct {
	Pos             schema.Position
	Dir             string // "core/v1"
	Group           string // full name, suffix included: "", "apps", "policy"
	Version         string
	Stability       string // stable, beta, alpha
	GroupPriority   int
	VersionPriority int
	Served          bool // has an openapi document
	Off             bool // not served unless an operator turns it on
	Unlisted        bool // not in discovery unless an operator turns it on
	Imported        bool // names and types were those of another API before
	Lifecycle       schema.Lifecycle
	BuiltIn         bool // is there for references only: its code is that of this module, the documents are another's
	Types           []*Type
	Resources       []*Resource
	Table           *schema.Table
}

// Type is a named type: the root of a schema document or one of its $defs.
type Type struct {
	GV     *GroupVersion
	Name   string // "PodSpec"
	ID     string // "core/v1.PodSpec"
	Root   bool   // root of its document
	Kind   bool   // has apiVersion and kind
	Schema *schema.Schema
	Rules  []schema.Position // of Schema.Rules, one by one
}

// Resource is one entry of x-cluster-resources.
type Resource struct {
	Pos                 schema.Position
	Lifecycle           schema.Lifecycle
	GV                  *GroupVersion
	Plural, Singular    string
	Kind, ListKind      string
	Type                *Type
	Namespaced, Stored  bool
	ShortNames          []string
	Categories          []string
	Verbs               []string // sorted
	NameFormat          string
	HasStatus           bool
	Gate                string // featureGate: the feature without which the resource is not served
	HasGeneration       bool
	Endpoint            api.Endpoint // of an operation, which keeps no objects
	Action              *Action      // of an operation that the module's own code performs; nil for others
	Role                string       // namespaces, definitions, signing-requests; "" for none
	ConditionalUpdate   bool         // conditionalUpdate: an update must name the resourceVersion that it replaces
	Dependents          string       // orphan, none; "" when a delete takes them along
	OrphanWarning       string       // orphanWarning: for a delete that orphans without saying so
	ProtectedNames      []string     // protectedNames: of objects that may not be deleted
	Graceful            *Grace       // graceful: nil when a delete gives no time
	Completes           bool         // completes: a phase marks a finished object
	Expires             bool         // expires: the object vanishes some time after its last write
	Keeps               []string     // paths without the leading dot
	ReadOnly, WriteOnly []string     // dotted paths of the fields that are
	StatusOnCreate      bool         // statusOnCreate: a new object keeps the status it was sent with
	DeleteReturnsObject bool         // deleteReturnsObject: delete answers with the object
	ErrorGroup          string       // named by answers to invalid objects; "" for the own one
	StorageVersion      string
	StorageVersionHash  string
	Carries             []string  // carries: dotted paths of fields that only this or only the storage version has
	StoredAs            *Resource // the resource of the storage version; nil for its own
	Conversion          *Conversion
	Hooks               []string // create, update, validate, warn
	Checks              []string // checksOnUpdate; nil for the usual
	ChecksOnCreate      int      // how often a create checks everything; 0 is once
	CheckedWhenMissing  bool
	MetadataLast        bool     // metadataLast: mistakes in the metadata of a new object are reported last
	HiddenAnnotations   []string // not in the metadata that is shown without the object
	AnyFinalizer        bool     // anyFinalizer: finalizers without a domain need not be known
	Columns             []Column
	Selectable          []Selectable
	Subresources        []Subresource // by name
	References          []Reference   // to other objects, by the type
	Reads               []Reading     // kinds that the hooks check and checkDelete read
	Listed, Restricted  bool          // such a hook may list the objects; a reference may keep them from being deleted
	Deprecation
}

// Deprecation is the announced end of a resource or an action; zero for none. Since and RemovedIn are releases.
type Deprecation struct{ DeprecatedSince, RemovedIn, Replacement string }

// Reference is a field whose text is the name of an object.
type Reference struct {
	Pos                 schema.Position
	Path                []string // "*" stands for the elements of a list, or the values of a map
	To                  *Resource
	Own                 bool   // To is one of the documents
	OnMissing, OnDelete string // words of x-cluster-references
}

// Reading is a kind that the hooks check and checkDelete read.
type Reading struct {
	To  *Resource
	Own bool // To is one of the documents
}

// Grace is the time that the end of an object may take: the seconds at Period, or
// Default, and none while there is nothing at Needs. The paths are dotted.
type Grace struct {
	Pos     schema.Position
	Period  string
	Default int
	Needs   string // "" when all objects are given time
}

// Column is one column of the table representation: Path, Cell or Shows, an expression, is
// set. A Cell with a Path shows the value there, of whatever kind.
type Column struct {
	Pos                             schema.Position
	Name, Type, Format, Description string
	Priority                        int
	Path, Cell, Shows, Absent       string
	Orders                          bool
}

// Selectable is a field that a fieldSelector may name.
type Selectable struct {
	Pos                                schema.Position
	Name, Path, Else, Default, AliasOf string
	Never                              bool
}

// Subresource is an endpoint below one object. Type is the body's, by default the
// resource's own.
type Subresource struct {
	Lifecycle                              schema.Lifecycle
	Pos                                    schema.Position
	Name                                   string
	Endpoint                               api.Endpoint
	Verbs                                  []string
	Type                                   *Type
	AlsoAccepts                            []string // versions of bodies besides that of Type
	SpecReplicas, StatusReplicas, Selector string   // scale only, dotted paths
	Checks                                 []string // nil for the usual
	Keeps, Unowned                         []string // dotted paths
	MissingAs                              string   // "deployments/scale.apps"
	Gate                                   string   // "" for none
	Action                                 *Action  // nil for none
}

// Action is an operation that the module's own code performs. The Type of its subresource, or of its resource without
// storage, is the kind of the body, or for a GET that of the answer.
type Action struct {
	Pos         schema.Position
	Effect      string // "reads", "writes" or "streams"
	Description string
	Answer      *Type
	Verb        string // of the right to it; "" for that of its method
	Deprecation
	Errors []ActionError // with which its code refuses calls, by their codes; nil where the document does not say
}

// ActionError is an error with which the code of an action refuses calls.
type ActionError struct {
	Pos         schema.Position
	Reason      api.Reason
	Description string
}

// Streams reports whether it answers with a sequence of objects.
func (a *Action) Streams() bool { return a.Effect == "streams" }

// Conversion converts the objects of a resource to and from another storage version.
// Same: the two types are equal. Otherwise the fields of the plans are copied, and with
// Hook hand-written code does the rest.
type Conversion struct {
	Same, Hook             bool
	To, From               []Copy
	OnlyHere, OnlyInStored []string // dotted paths of the fields that one version lacks, carried in an annotation
}

// Copy is a field that both versions have: of one type, or with Below an object, or with
// Each a list or map of objects, whose fields are copied one by one.
type Copy struct {
	Name  string // in the target
	From  string // in the source; "" for the same
	Each  bool
	Below []Copy
}

// Promises are the parts of the API outside of resources that clients and operators count
// on (openapi/promises.yaml), by name.
type Promises struct {
	Gates   map[string]Gate
	Metrics map[string]Metric
	Flags   map[string]Flag
}

// Gate is a feature gate.
type Gate struct {
	Pos       schema.Position
	Lifecycle schema.Lifecycle
	Stage     string   // alpha, beta, stable, deprecated
	Enabled   *bool    // whether it is on by default, where that is not usual for the stage
	Locked    *bool    // whether it keeps its default, where that is not usual for the stage
	Needs     []string // the gates without which it cannot be on
	WasStable bool     // deprecated: it was stable before
	Since     string   // the release in which it reached the stage; "" for an unknown one
}

// On reports whether the feature is on by default.
func (g Gate) On() bool {
	if g.Enabled != nil {
		return *g.Enabled
	}
	return g.Stage == "stable" || g.Stage == "beta"
}

// Fixed reports whether the gate keeps its default, whatever a command line says.
func (g Gate) Fixed() bool {
	if g.Locked != nil {
		return *g.Locked
	}
	return g.Stage == "stable"
}

// Metric is a metric that the server exposes.
type Metric struct {
	Pos        schema.Position
	Type       string // counter, gauge, histogram
	Stability  string // alpha, stable
	Labels     []string
	Buckets    []string
	Deprecated string // the release in which it was; "" for not
}

// Flag is a flag of the server.
type Flag struct {
	Pos        schema.Position
	Default    string
	Deprecated string
}
