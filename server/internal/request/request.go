package request

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// Target is the result of routing.
//
// Invariant: EndpointPath is set for paths that are not resources; otherwise Row is set,
// or both are empty for an unknown path.
type Target struct {
	objects.Ref
	Endpoint          Verb
	EndpointPath      string          // the first step of an endpoint's path: "/healthz"
	AlwaysServed      bool            // an endpoint that needs no place (health)
	Public            bool            // a file that is the same for everybody: neither credentials nor rights are needed
	Draining          bool            // one that answers while the server drains, as in 1.25 (health, metrics)
	Unserved          catalog.Address // of a path in the form of a resource's that is not served
	WatchPath         bool            // one of the old /watch/ paths
	OwnRepresentation bool            // an endpoint with representations other than those of objects
	Aggregated        bool            // a discovery path with an aggregated document
	TakesBody         bool            // an endpoint that reads the bodies of writes
	InCBOR            bool            // an endpoint whose documents are in CBOR too, where the release has it
	Unbounded         bool            // an endpoint without a time limit of the server
	Remote            *catalog.Remote // of a path that an extension server answers
}

// collection reports whether the target is a collection, served or not.
func (t Target) collection() bool { return t.Name == "" && t.Unserved.Name == "" }

// IsMissing reports whether the path does not exist for an operation (a review or a
// binding): that of an object, or one without the namespace it needs.
func (t *Target) IsMissing() bool {
	res := t.Row
	return res.Endpoint != "" && (t.Name != "" || res.Namespaced && t.Namespace == "")
}

// tabular reports whether the target's answers can be shown as tables: stored objects,
// and scales. Answers to operations and logs cannot.
func (t *Target) tabular() bool {
	e := t.Does()
	return e == "" && t.Sub == nil || e.AnswersObject()
}

// nameless reports whether the target is an object of a resource that has none, such as a review.
func (t *Target) nameless() bool { return t.Row != nil && t.Row.Endpoint != "" && t.Name != "" }

// Connects reports whether the target connects to a process outside of the server.
func (t *Target) Connects() bool {
	return t.Sub != nil && t.Sub.Endpoint.Connects()
}

// streams reports whether the target is an action with a sequence of answers.
func (t *Target) streams() bool {
	return t.Row != nil && t.Action() != nil && t.Action().Stream != nil
}

// lasts reports whether the answer takes as long as a process outside of the server.
func (t *Target) lasts() bool {
	return t.Connects() || t.Sub != nil && t.Sub.Endpoint == api.EndpointLog
}

// Deprecation is the warning for users of a deprecated target; "" for none.
func (t *Target) Deprecation() string {
	if t.Row != nil && t.Row.Definition != nil {
		return t.Row.Definition.Warning
	}
	d := t.deprecated()
	switch {
	case d == nil:
		return ""
	case d != t.Row.Deprecated:
		return d.Warning(t.Row.GV.APIVersion() + " " + t.Sub.Name + " of " + t.Row.Plural)
	}
	return d.Warning(t.Row.GV.APIVersion() + " " + t.Row.Kind)
}

// deprecated is the announced end of the target, which is not a custom resource: that of its row, or of its action.
func (t *Target) deprecated() *api.Deprecation {
	switch {
	case t.Row == nil:
		return nil
	case t.Row.Deprecated == nil && t.Sub != nil && t.Sub.Action != nil:
		return t.Sub.Action.Deprecated
	}
	return t.Row.Deprecated
}

// custom reports whether the target is of a custom resource.
func (t *Target) custom() bool { return t.Row != nil && t.Row.Definition != nil }

// WarnOfCustom warns users of a deprecated version of a custom resource, whatever else is
// wrong, as in 1.25.
func (r *Request) WarnOfCustom() {
	if r.Target.custom() {
		r.warnDeprecated()
	}
}

// warnDeprecated warns users of a deprecated target, and reports whether it is one.
func (r *Request) warnDeprecated() bool {
	text := r.Target.Deprecation()
	if text != "" {
		r.Warn(text)
		r.Annotate(deprecatedNote, "true")
	}
	return text != ""
}

// Request is one request on its way through the stages. It is used by one
// goroutine.
type Request struct {
	Context  context.Context
	Span     *tracing.Span // of the verb; nil for none
	whole    *tracing.Span // of the request; nil for none
	HTTP     *http.Request
	Writer   http.ResponseWriter
	Target   Target
	start    time.Time
	queued   time.Duration // at its priority level
	User     *authn.User
	Query    Query
	Accept   codec.MediaType
	Features options.Gates
	cbor     bool // the release has CBOR, and its gate is on
	inCBOR   bool // the target has it too: known from the negotiation on
	limits   *Limits
	room     Slot  // of a large answer
	seat     *seat // nil before authorization, and when it is not needed any more

	Body     []byte // complete when the verb runs
	owed     bool   // it has a body that has not been read
	taken    bool   // it is counted in the intake
	Warnings []string
	warned   int         // characters of the warnings, each cut to maxWarning
	Status   int         // as written; 0 before
	Bytes    int64       // of the body, as written
	lasts    bool        // it is counted among the long-running ones
	labelled bool        // its samples in a profile have labels
	figures  metrics.Key // zero before authorization
	trail    *trail      // its audit events; nil for none
	Rest     func()      // what remains of the answer when the verb has returned; nil for none
	Detached bool        // the rest does not need the handler of net/http, see stream
}

// Retarget is for a request whose definition has changed: it gets the present row of its
// type, and no warnings so far. It reports false when the row lacks the subresource.
func (r *Request) Retarget(row *catalog.Row) bool {
	t := &r.Target
	t.Row, r.Warnings, r.warned = row, nil, 0
	if t.Sub != nil {
		t.Sub = row.Subresource(t.Sub.Name)
		return t.Sub != nil
	}
	return true
}

// ActAs makes the request one of the user that its sender acts as. constraint is the verb by which the sender may do so in this request
// only, "" for one by which it may in all.
func (r *Request) ActAs(user *authn.User, constraint string) {
	r.User = user
	if r.trail != nil {
		r.trail.As, r.trail.Constraint = user, constraint
	}
}

// Method is the HTTP method with HEAD read as GET (specification, verb table).
func (r *Request) Method() string {
	if r.HTTP.Method == http.MethodHead {
		return http.MethodGet
	}
	return r.HTTP.Method
}

// Verb is the API verb of the request, for authorization; "" for a method without one.
func (r *Request) Verb() string {
	t := r.Target
	if t.WatchPath {
		return "watch"
	}
	switch r.Method() {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if t.collection() {
			return "deletecollection"
		}
		return "delete"
	case http.MethodGet:
		switch {
		case t.collection() && r.Query.IsWatch():
			return "watch"
		case t.collection():
			return "list"
		}
		return "get"
	}
	return ""
}

// LongRunning requests do not count against the limit of requests in flight.
func (r *Request) LongRunning() bool {
	t := r.Target
	if t.Remote != nil {
		return r.lastsRemotely()
	}
	return t.Unbounded || t.lasts() || t.streams() || r.watches()
}

// MayWait reports whether the request can take long, and is bounded in time then. A get
// of the newest state waits only for the disk, and a timer would be a good part of its
// cost; a long-running request has an end of its own.
func (r *Request) MayWait() bool {
	t := &r.Target
	get := t.Row != nil && t.Name != "" && !t.WatchPath && r.Method() == http.MethodGet
	return !r.LongRunning() && !(get && r.Query.raw == "")
}

// Deadline is the end of the request's time: the requested one from its start on, up to the
// server's limit.
func (r *Request) Deadline(most time.Duration) (time.Time, error) {
	asked, err := r.Query.duration("timeout")
	if asked <= 0 {
		asked = most
	}
	return r.start.Add(min(asked, most)), err
}

// Mutating reports whether the request may write.
func (r *Request) Mutating() bool { return r.Method() != http.MethodGet }

// Attributes are the inputs of the decision whether the user may do this.
func (r *Request) Attributes() authz.Attributes {
	a := r.attributes()
	if (a.Verb == "list" || a.Verb == "watch" || a.Verb == "deletecollection") && !r.Target.WatchPath && r.Features.On("AuthorizeWithSelectors") {
		// A selector that cannot be read does not narrow the request.
		a.Fields, _ = authz.ParseFields(r.Query.Get("fieldSelector"))
		a.Labels, _ = authz.ParseLabels(r.Query.Get("labelSelector"))
	}
	return a
}

func (r *Request) attributes() authz.Attributes {
	t := r.Target
	a := authz.Attributes{User: r.User, Path: r.HTTP.URL.Path}
	if t.Row == nil {
		a.Verb = lower(r.HTTP.Method)
		if u := &t.Unserved; u.Resource != "" {
			a.ResourceRequest, a.Verb = true, r.Verb()
			a.Group, a.Version, a.Resource, a.Namespace, a.Name, a.Subresource = u.Group, u.Version, u.Resource, u.Namespace, u.Name, u.Subresource
		}
		if t.Remote != nil {
			r.nameSelected(&a)
		}
		return a
	}
	a.ResourceRequest = true
	a.Verb = r.Verb()
	a.Group, a.Version, a.Resource = t.Row.GV.Group, t.Row.GV.Version, t.Row.Plural
	a.Namespace, a.Name = t.Namespace, t.Name
	if action := t.Action(); action != nil && action.Verb != "" && (a.Verb == "create" || t.Sub != nil && a.Verb == "get" && t.Sub.Verbs == api.VerbGet) {
		a.Verb = action.Verb
	}
	if objects.IsNamespace(t.Row) {
		a.Namespace = t.Name
	}
	if t.Sub != nil {
		a.Subresource = t.Sub.Name
	}
	r.nameSelected(&a)
	return a
}

// nameSelected authorizes a list of objects of one name as that of this object, unless it
// has an option that cannot be read.
func (r *Request) nameSelected(a *authz.Attributes) {
	if a.Name == "" && (a.Verb == "list" || a.Verb == "watch") {
		for _, option := range [...]string{"limit", "timeoutSeconds"} {
			if _, err := r.Query.Integer(option); err != nil {
				return
			}
		}
		if name := selector.ExactName(r.Query.Get("fieldSelector"), r.Query.Get("labelSelector")); !catalog.BadSegment(name) {
			a.Name = name
		}
	}
}

// Warn adds a Warning header to the answer (RFC 7234 section 5.5, code 299). Repeated
// warnings are dropped, and so are those beyond the limit.
func (r *Request) Warn(text string) {
	if r.warned > maxWarnings || slices.Contains(r.Warnings, text) || text == "" || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return // the last would break headers
	}
	r.Warnings = append(r.Warnings, text)
	r.warned += min(utf8.RuneCountInString(text), maxWarning)
}

// The bounds of warnings in the headers of an answer, in characters: when all together
// are longer each is cut, and the last are left out.
const (
	maxWarnings = 4096
	maxWarning  = 256
)

// warningTexts are the warnings as they are sent.
func (r *Request) warningTexts() []string {
	total := 0
	for _, w := range r.Warnings {
		total += utf8.RuneCountInString(w)
	}
	if total <= maxWarnings {
		return r.Warnings
	}
	var all []string
	total = 0
	for _, w := range r.Warnings {
		if text := []rune(w); len(text) > maxWarning {
			w = string(text[:maxWarning])
		}
		if all = append(all, w); total+utf8.RuneCountInString(w) >= maxWarnings {
			break
		}
		total += utf8.RuneCountInString(w)
	}
	return all
}

// GiveBack ends what the request has taken for its verb: its place, unless the rest of the
// answer keeps it, the room of its answer, and its body.
func (r *Request) GiveBack() {
	if r.Rest == nil {
		r.Leave()
	}
	r.room.Leave()
	r.Body = nil // which has no place any more, whatever the request still waits for
}

// Key is the store's key of the target.
func (r *Request) Key() string { return r.Target.Row.Key(r.Target.Namespace, r.Target.Name) }

func lower(method string) string {
	b := []byte(method)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// FirstStep is the first step of a path: "/healthz" of "/healthz/log".
func FirstStep(path string) string {
	first, _, _ := strings.Cut(path[1:], "/")
	return "/" + first
}
