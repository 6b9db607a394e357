package request

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/audit"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// trail is the audit event of a request, which grows with it.
type trail struct {
	*audit.Event
	to       *audit.Recorder
	refused  bool          // before its user was known: there is one event, when the answer begins
	panicked string        // the panic that ended it; "" for none
	end      time.Time     // of the request's time
	last     time.Duration // for which a later event is waited for after that
}

// until is when the request waits no longer for an event to be stored.
func (t *trail) until(stage audit.Stage) time.Time {
	if late := time.Now().Add(t.last); stage != audit.RequestReceived && t.end.Before(late) {
		return late
	}
	return t.end
}

// keep records a stage. It reports whether the request may go on.
func (t *trail) keep(stage audit.Stage) bool { return t.to.Record(t.Event, stage, t.until(stage)) }

// auditID is the header with the id of a request in audit events.
const auditID = "Audit-Id"

// Bounds of a client's texts in events, as in 1.25 but for the id.
const (
	longestAgent = 1024
	longestID    = 64
)

// lastEvent bounds the wait for an event after the time of its request.
const lastEvent = 10 * time.Second

// Record begins the audit events of a request that the audit policy wants. The attributes
// name the user that sent the request, also where that user acts as another. Record fails when the event
// of the begin cannot be stored and the mode of the log demands it (blocking-strict).
func (env *Env) Record(r *Request, a *authz.Attributes) error {
	if env.cfg.Audit == nil {
		return nil
	}
	rule := env.cfg.Audit.Rule(a)
	if rule.Level == audit.None {
		return nil
	}
	h := r.HTTP.Header
	e := audit.NewEvent(rule, a)
	e.ID, e.URI, e.Agent, e.Sources, e.Received = h.Get(auditID), r.HTTP.RequestURI, r.HTTP.UserAgent(), sources(r.HTTP), r.start
	if e.ID == "" || len(e.ID) > longestID {
		e.ID = uuid.NewString()
	}
	if len(e.Agent) > longestAgent {
		e.Agent = e.Agent[:longestAgent] + "...TRUNCATED"
	}
	r.Writer.Header().Set(auditID, e.ID)
	r.trail = &trail{Event: e, to: env.cfg.Audit, refused: a.User == nil, end: r.start.Add(env.cfg.RequestTimeout), last: min(env.cfg.RequestTimeout, lastEvent)}
	if !r.trail.refused && !r.trail.keep(audit.RequestReceived) {
		r.trail = nil
		return &api.Error{Code: http.StatusInternalServerError, Reason: api.ReasonInternalError, Message: "failed to store audit event"}
	}
	return nil
}

// RecordRefused begins the event and the span of a request that is refused before its user
// is known.
func (env *Env) RecordRefused(r *Request) {
	env.Trace(r)
	if env.cfg.Audit != nil {
		a := r.Attributes()
		a.User = nil
		_ = env.Record(r, &a) // nothing is stored yet
	}
}

// sources are the addresses that a request came by, as far as they are said.
func sources(q *http.Request) []string {
	host, _, err := net.SplitHostPort(q.RemoteAddr)
	if err != nil {
		host = q.RemoteAddr
	}
	forwarded, real := q.Header.Get("X-Forwarded-For"), q.Header.Get("X-Real-Ip")
	if forwarded == "" && real == "" {
		return []string{host}
	}
	var all []string
	add := func(text string, once bool) {
		if ip, err := netip.ParseAddr(strings.TrimSpace(text)); err == nil && (!once || !slices.Contains(all, ip.String())) {
			all = append(all, ip.String())
		}
	}
	for part := range strings.SplitSeq(forwarded, ",") {
		add(part, false)
	}
	add(real, true)
	if len(all) == 0 || all[len(all)-1] != host {
		all = append(all, host)
	}
	return all
}

// Audited reports whether audit events of the request are recorded; with bodies: whether
// they show its body.
func (r *Request) Audited(bodies bool) bool {
	return r.trail != nil && (!bodies || r.trail.Level >= audit.Request)
}

// Annotate adds an annotation to the audit events of the request; one without a key is
// none.
func (r *Request) Annotate(key, value string) {
	if r.trail != nil && key != "" {
		r.trail.Annotate(key, value)
	}
}

// The annotations about authorization and deprecation.
const (
	decisionNote   = "authorization." + profile.GroupSuffix + "/decision"
	reasonNote     = "authorization." + profile.GroupSuffix + "/reason"
	deprecatedNote = profile.GroupSuffix + "/deprecated"
	removedNote    = profile.GroupSuffix + "/removed-release"
	truncatedNote  = "audit." + profile.GroupSuffix + "/truncated"
)

// RecordDecision notes the decision of the authorizer.
func (r *Request) RecordDecision(d authz.Decision, reason string, err error) {
	switch {
	case r.trail == nil:
	case d == authz.Allow:
		r.Annotate(decisionNote, "allow")
		r.Annotate(reasonNote, reason)
	case err != nil:
		r.Annotate(reasonNote, "internal error")
	default:
		r.Annotate(decisionNote, "forbid")
		r.Annotate(reasonNote, reason)
	}
}

// recordBody notes the decoded body of a request.
func (env *Env) recordBody(r *Request, obj document.Value) {
	t := r.trail
	if t == nil {
		return
	}
	if o, meta := t.Object, obj.Get("metadata"); o != nil {
		for _, m := range [...]struct {
			name string
			at   *string
		}{{"namespace", &o.Namespace}, {"name", &o.Name}, {"uid", &o.UID}, {"resourceVersion", &o.Revision}} {
			if *m.at == "" {
				*m.at = strings.Clone(meta.Get(m.name).Text())
			}
		}
	}
	if t.Level >= audit.Request {
		t.Request = env.recorded(r, obj.AppendJSON(nil))
	}
}

// RecordText notes the body of a request that is not an object, or not one of its kind:
// JSON.
func (r *Request) RecordText(text []byte) {
	if !r.Audited(true) {
		return
	}
	var compact bytes.Buffer
	if json.Compact(&compact, text) == nil {
		r.trail.Request = compact.Bytes()
	}
}

// RecordsAnswer reports whether the audit events show the answer's body.
func (r *Request) RecordsAnswer() bool {
	return r.trail != nil && r.trail.Level >= audit.RequestResponse
}

// RecordAnswer notes the body of the answer, canonical JSON; nil for one that is too large.
func (env *Env) RecordAnswer(r *Request, body []byte) {
	switch {
	case !r.RecordsAnswer():
	case body == nil || r.hold(len(body)) != nil:
		r.Annotate(truncatedNote, "true")
	default:
		r.trail.Response = env.recorded(r, bytes.TrimSpace(bytes.Clone(body)))
	}
}

// recorded is a body as it is recorded: without managedFields if the policy says so.
func (env *Env) recorded(r *Request, body []byte) []byte {
	if !r.trail.OmitManagedFields || !bytes.Contains(body, []byte(`"managedFields"`)) {
		return body
	}
	doc, err := document.DecodeAny(body, document.Limits{MaxBytes: len(body)})
	if err != nil {
		return body
	}
	defer doc.Release()
	root := doc.Root()
	root.Get("metadata").Remove("managedFields")
	for _, item := range root.Get("items").Elements() {
		item.Get("metadata").Remove("managedFields")
	}
	for _, row := range root.Get("rows").Elements() {
		row.At("object", "metadata").Remove("managedFields")
	}
	return root.AppendJSON(nil)
}

// NameIn adds the id of the request in audit events to the headers of a request that
// another server gets because of it.
func (r *Request) NameIn(h http.Header) {
	if r.trail != nil {
		h.Set(auditID, r.trail.ID)
	}
}

// Begun notes that the answer begins, with a code.
func (r *Request) Begun(code int) {
	r.Status = code
	if t := r.trail; t != nil && (t.refused || r.showsBegin()) {
		t.Code = code
		t.keep(audit.ResponseStarted)
	}
}

// showsBegin reports whether the events of the request show when its answer begins: for
// long-running ones, and connections, which are those in 1.25.
func (r *Request) showsBegin() bool {
	return r.LongRunning() || r.Target.Sub != nil && slices.Contains(connections, r.Target.Sub.Name)
}

// recordEnd records the last event of a request.
func (r *Request) recordEnd() {
	t := r.trail
	if t == nil || t.refused {
		return
	}
	if t.Code = r.Status; r.Status == 0 {
		t.Code, t.Status = http.StatusOK, []byte(`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","message":"Connection closed early"}`)
		if r.showsBegin() {
			t.keep(audit.ResponseStarted)
		}
	}
	stage := audit.ResponseComplete
	if t.panicked != "" {
		stage, t.Code, t.Response = audit.Panic, http.StatusInternalServerError, nil
		t.Status = codec.Status(&api.Error{Code: t.Code, Reason: api.ReasonInternalError, Message: "APIServer panic'd: " + t.panicked}).JSON()
	}
	t.keep(stage)
}
