package request

import (
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/tracing"
)

// monitoring is the group of those that watch over the server.
const monitoring = "system:monitoring"

// Trace begins the span of a request, when its user is known, or refused. Administrators
// and monitors may have their requests recorded, as in later releases than 1.25.
func (env *Env) Trace(r *Request) {
	if env.cfg.Tracer == nil {
		return
	}
	trusted := r.User != nil && (slices.Contains(r.User.Groups, authn.GroupMasters) || slices.Contains(r.User.Groups, monitoring))
	if r.Context, r.whole = env.cfg.Tracer.Request(r.Context, r.HTTP, r.start, trusted); r.whole != nil {
		r.whole.Text("http.route", route(&r.Target))
		tracing.Stage(r.Context, "authentication", r.start)
	}
}

// route is the form of the target's path, without names.
func route(t *Target) string {
	if t.Row == nil {
		return t.EndpointPath
	}
	path := "/api/"
	if t.Row.GV.Group != "" {
		path = "/apis/" + t.Row.GV.Group + "/"
	}
	path += t.Row.GV.Version
	if t.Namespace != "" {
		path += "/namespaces/{:namespace}"
	}
	path += "/" + t.Row.Plural
	if t.Name != "" {
		path += "/{:name}"
	}
	if t.Sub != nil {
		path += "/" + t.Sub.Name
	}
	return path
}

// begin is the time for stage; zero for a request without a span, which needs none.
func (r *Request) begin() (now time.Time) {
	if r.whole != nil {
		now = time.Now()
	}
	return now
}

// stage records the span of a step of the request that ends now.
func (r *Request) stage(name string, begin time.Time) {
	if r.whole != nil {
		tracing.Stage(r.Context, name, begin)
	}
}

// verbSpans are the names of spans, by verbs.
var verbSpans = map[string]string{"create": "Create", "update": "Update", "patch": "Patch", "delete": "Delete", "deletecollection": "Delete",
	"get": "Get", "list": "List"}

// TraceVerb begins the span of the verb of a request for objects, and returns its end; nil
// for a request that is not traced.
func (env *Env) TraceVerb(r *Request) (end func()) {
	if r.whole == nil {
		return nil
	}
	a := &r.seat.place.Attributes
	name := verbSpans[r.Verb()]
	if name == "" || r.Target.Row == nil || r.Target.Connects() {
		return nil
	}
	outside := r.Context
	r.Context, r.Span = tracing.Start(outside, name)
	scope := scopeOf(r)
	for _, field := range [...][2]string{{"accept", r.HTTP.Header.Get("Accept")}, {"audit-id", r.auditID()}, {"client", sources(r.HTTP)[0]},
		{"api-group", a.Group}, {"api-version", a.Version},
		{"name", a.Name}, {"subresource", a.Subresource}, {"namespace", a.Namespace}, {"protocol", r.HTTP.Proto}, {"resource", a.Resource}, {"scope", scope},
		{"url", r.HTTP.URL.Path}, {"user-agent", r.HTTP.UserAgent()}, {"verb", metricVerb(r)}} {
		r.Span.Text(field[0], field[1])
	}
	return func() {
		r.Span.Event("Writing http response done")
		r.Span.End()
		r.Context, r.Span = outside, nil
	}
}

// traced ends the span of a request.
func (r *Request) traced() {
	if r.whole != nil {
		r.whole.Text("audit-id", r.auditID())
		r.whole.Answered(r.Status, r.Bytes)
	}
}

// auditID is the id of the request in audit events, or the one that the client sent.
func (r *Request) auditID() string {
	if r.trail != nil {
		return r.trail.ID
	}
	return r.HTTP.Header.Get(auditID)
}
