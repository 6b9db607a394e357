package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/metrics"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// target is what the router found.
//
// Invariant: endpoint is set for paths that are not resources; otherwise
// resource is set, or both are nil for a path that nothing answers.
type target struct {
	objects.Ref
	endpoint   verb
	place      string          // the first step of an endpoint's path: "/healthz"
	open       bool            // an endpoint that works while the server drains (health)
	unserved   catalog.Address // of a path that has the form of a resource's, while nothing is served there
	watchPath  bool            // one of the old /watch/ paths
	ownForm    bool            // an endpoint whose forms are not those of objects
	aggregated bool            // a discovery path that has one document of all below it
	unbounded  bool            // an endpoint that takes as long as it was asked to
}

func (t target) alwaysServed() bool { return t.open }

// collection reports whether the target is many objects.
func (t target) collection() bool { return t.Name == "" }

// nowhere reports whether the path is one that a question (review) or an order
// (binding) has not: that of an object, or outside of the namespace it is about.
func (t *target) nowhere() bool {
	res := t.Row
	return res.Endpoint != "" && (t.Name != "" || res.Namespaced && t.Namespace == "")
}

// tabular reports whether the target's answers can be shown as tables: objects
// that are kept, and scales. Answers to operations and logs cannot.
func (t *target) tabular() bool {
	e := t.Does()
	return e == "" && t.Sub == nil || e.AnswersObject()
}

// connects reports whether the target leads out of the server, to what runs.
func (t *target) connects() bool {
	return t.Sub != nil && t.Sub.Endpoint.Connects()
}

// deprecation is what whoever uses the target is warned of; "" for nothing.
func (t *target) deprecation() string {
	if t.Row == nil || t.Row.Deprecated == nil {
		return ""
	}
	return t.Row.Deprecated.Warning(t.Row.GV.APIVersion() + " " + t.Row.Kind)
}

// request is one request on its way through the pipeline. It is used by one
// goroutine.
type request struct {
	ctx    context.Context
	http   *http.Request
	w      http.ResponseWriter
	target target
	start  time.Time
	user   *authn.User
	query  query
	accept codec.MediaType
	on     features.Gates
	limits *limits
	room   place // of a large answer

	body     []byte // all of it, when its verb runs
	owed     bool   // there is a body that has not been read
	taken    bool   // it is counted in the intake
	warnings []string
	warned   int         // characters of the warnings, each cut to maxWarning
	status   int         // as written; 0 before
	bytes    int64       // of the body, as written
	lasts    bool        // it is counted among the long-running ones
	figures  metrics.Key // zero before the request is let through
	detached bool        // it goes on after its handler has returned, see stream
}

func newRequest(w http.ResponseWriter, q *http.Request, t target, on features.Gates, l *limits) *request {
	return &request{on: on, limits: l, ctx: q.Context(), http: q, w: w, target: t, start: time.Now(), owed: q.ContentLength != 0, query: query{raw: q.URL.RawQuery}}
}

// method is the HTTP method with HEAD read as GET (specification, verb table).
func (r *request) method() string {
	if r.http.Method == http.MethodHead {
		return http.MethodGet
	}
	return r.http.Method
}

// verb is the API verb of the request, for authorization.
func (r *request) verb() string {
	t := r.target
	switch r.method() {
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
	}
	switch {
	case t.watchPath, t.collection() && r.query.isWatch():
		return "watch"
	case t.collection():
		return "list"
	}
	return "get"
}

// longRunning requests do not count against the limit of requests in flight.
func (r *request) longRunning() bool {
	t := r.target
	return t.unbounded || t.Row != nil && r.method() == http.MethodGet && (t.watchPath || t.collection() && r.query.isWatch())
}

// mayWait reports whether the request can last, and is bounded in time then. A
// get of the newest state waits for nothing but the disk, and a timer would be a
// good part of its cost; a long-running request ends when it was asked to.
func (r *request) mayWait() bool {
	t := &r.target
	get := t.Row != nil && t.Name != "" && !t.watchPath && r.method() == http.MethodGet
	return !r.longRunning() && !(get && r.query.raw == "")
}

// timeLimit is how long the request may take: as long as it asked for, and no
// longer than the server allows.
func (r *request) timeLimit(most time.Duration) (time.Duration, error) {
	asked, err := r.query.duration("timeout")
	if asked <= 0 {
		return most, err
	}
	return min(asked, most), nil
}

// mutating reports whether the request may write.
func (r *request) mutating() bool { return r.method() != http.MethodGet }

func (r *request) attributes() authz.Attributes {
	t := r.target
	a := authz.Attributes{User: r.user, Path: r.http.URL.Path}
	if t.Row == nil {
		a.Verb = lower(r.http.Method)
		if u := &t.unserved; u.Resource != "" {
			a.ResourceRequest, a.Verb = true, r.verb()
			a.Group, a.Version, a.Resource, a.Namespace, a.Name, a.Subresource = u.Group, u.Version, u.Resource, u.Namespace, u.Name, u.Subresource
		}
		return a
	}
	a.ResourceRequest = true
	a.Verb = r.verb()
	a.Group, a.Version, a.Resource = t.Row.GV.Group, t.Row.GV.Version, t.Row.Plural
	a.Namespace, a.Name = t.Namespace, t.Name
	if objects.IsNamespace(t.Row) {
		a.Namespace = t.Name
	}
	if t.Sub != nil {
		a.Subresource = t.Sub.Name
	}
	if a.Name == "" && (a.Verb == "list" || a.Verb == "watch") {
		if name := selector.ExactName(r.query.get("fieldSelector")); !catalog.BadSegment(name) {
			a.Name = name
		}
	}
	return a
}

// Warn adds a Warning header to the answer (RFC 7234 section 5.5, code 299).
// What has been said is not said again, and what would be left out is not kept.
func (r *request) Warn(text string) {
	if r.warned > maxWarnings || slices.Contains(r.warnings, text) {
		return
	}
	r.warnings = append(r.warnings, text)
	r.warned += min(utf8.RuneCountInString(text), maxWarning)
}

// The most that warnings take in the headers of an answer, in characters: when all
// together are longer each is cut, and the last are left out.
const (
	maxWarnings = 4096
	maxWarning  = 256
)

// told are the warnings as they are sent.
func (r *request) told() []string {
	total := 0
	for _, w := range r.warnings {
		total += utf8.RuneCountInString(w)
	}
	if total <= maxWarnings {
		return r.warnings
	}
	var all []string
	total = 0
	for _, w := range r.warnings {
		if text := []rune(w); len(text) > maxWarning {
			w = string(text[:maxWarning])
		}
		if total += utf8.RuneCountInString(w); total > maxWarnings {
			break
		}
		all = append(all, w)
	}
	return all
}

// key is the store's key of the target.
func (r *request) key() string { return r.target.Row.Key(r.target.Namespace, r.target.Name) }

func lower(method string) string {
	b := []byte(method)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// applies reports whether the request is a server-side apply.
func (r *request) applies() bool {
	return r.http.Method == http.MethodPatch && r.media() == applyPatch
}

// media is the media type of the body, without parameters.
func (r *request) media() string {
	media, _, _ := strings.Cut(r.http.Header.Get("Content-Type"), ";")
	return strings.TrimSpace(media)
}

// patchable refuses a patch in a media type that is none of a patch.
func (r *request) patchable() error {
	if r.http.Method != http.MethodPatch || r.target.Row == nil || r.target.connects() {
		return nil
	}
	switch r.media() {
	case jsonPatch, mergePatch, strategicPatch, applyPatch:
		return nil
	}
	err := api.UnsupportedMediaType([]string{jsonPatch, mergePatch, strategicPatch, applyPatch})
	err.HasDetails = true
	return err
}

// The media types of patches.
const (
	jsonPatch      = "application/json-patch+json"
	mergePatch     = "application/merge-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)
