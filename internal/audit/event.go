package audit

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
)

// Event is a request as it is recorded. It grows with the request and is recorded at each
// of its stages.
type Event struct {
	*Rule
	ID, URI, Verb string
	User, As      *authn.User // As is the user that the request acts as; nil for none
	Constraint    string      // the verb by which it may act so in this request only; "" for none
	Sources       []string    // addresses of the client and of proxies
	Agent         string
	Object        *Object // nil for a path that is not a resource's
	Status        []byte  // the Status of the answer, as an object in JSON; nil for another answer
	Code          int     // of the answer; 0 before it
	Request       []byte  // the body, JSON; nil for none
	Response      []byte  // the body of the answer, JSON; nil for none
	Received      time.Time
	Notes         map[string]string // annotations

	stage Stage
	at    time.Time
}

// Object is the object of a request, as far as it is known.
type Object struct {
	Resource, Namespace, Name, UID, Group, Version, Revision, Subresource string
}

// NewEvent makes the event of a request by its rule and attributes.
func NewEvent(rule *Rule, a *authz.Attributes) *Event {
	e := &Event{Rule: rule, Verb: a.Verb, User: a.User}
	if a.ResourceRequest {
		e.Object = &Object{Resource: a.Resource, Namespace: a.Namespace, Name: a.Name, Group: a.Group, Version: a.Version, Subresource: a.Subresource}
	}
	return e
}

// Annotate adds an annotation. The first value of a key stays.
func (e *Event) Annotate(key, value string) {
	if e.Notes == nil {
		e.Notes = map[string]string{}
	}
	if _, known := e.Notes[key]; !known {
		e.Notes[key] = value
	}
}

// head begins an event that is not an item of a list.
const head = `{"kind":"Event","apiVersion":"` + apiVersion + `",`

// truncated is the annotation of an event without its bodies.
const truncated = "audit." + suffix + "/truncated"

// appendTo appends the event as JSON, as 1.25 writes it.
func (e *Event) appendTo(dst []byte) []byte {
	dst = append(dst, head...)
	start := len(dst)
	dst = appendText(dst, `"level":`, e.Level.String())
	dst = appendText(dst, `,"auditID":`, e.ID)
	dst = appendText(dst, `,"stage":`, stageNames[e.stage])
	dst = appendText(dst, `,"requestURI":`, e.URI)
	dst = appendText(dst, `,"verb":`, e.Verb)
	dst = appendUser(append(dst, `,"user":`...), e.User)
	if e.As != nil {
		dst = appendUser(append(dst, `,"impersonatedUser":`...), e.As)
	}
	if e.Constraint != "" {
		dst = append(appendText(dst, `,"authenticationMetadata":{"impersonationConstraint":`, e.Constraint), '}')
	}
	dst = appendList(dst, `,"sourceIPs":`, e.Sources)
	dst = appendIf(dst, `,"userAgent":`, e.Agent)
	if e.Object != nil {
		dst = e.Object.appendTo(append(dst, `,"objectRef":`...))
	}
	dst = e.appendStatus(dst)
	if e.Level >= Request && e.Request != nil {
		dst = append(append(dst, `,"requestObject":`...), e.Request...)
	}
	if e.Level >= RequestResponse && e.Response != nil {
		dst = append(append(dst, `,"responseObject":`...), e.Response...)
	}
	dst = appendTime(append(dst, `,"requestReceivedTimestamp":`...), e.Received)
	dst = appendTime(append(dst, `,"stageTimestamp":`...), e.at)
	if len(e.Notes) > 0 {
		dst = append(dst, `,"annotations":{`...)
		for i, key := range slices.Sorted(maps.Keys(e.Notes)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst, _ = jsontext.AppendQuote(dst, key)
			dst = appendText(dst, ":", e.Notes[key])
		}
		dst = append(dst, '}')
	}
	return escaped(append(dst, '}'), start)
}

// escaped writes the characters that HTML has a meaning for as 1.25 writes them, from
// start on.
func escaped(text []byte, start int) []byte {
	rest, found := text[start:], false
	for _, special := range [...]string{"<", ">", "&", "\u2028"[:2]} {
		found = found || bytes.Contains(rest, []byte(special))
	}
	if !found {
		return text
	}
	var out bytes.Buffer
	json.HTMLEscape(&out, text)
	return out.Bytes()
}

// appendStatus appends the answer: its Status without the names of its type, or its code
// alone.
func (e *Event) appendStatus(dst []byte) []byte {
	if e.Code == 0 && e.Status == nil {
		return dst
	}
	dst = append(dst, `,"responseStatus":`...)
	if e.Status == nil {
		return append(strconv.AppendInt(append(dst, `{"metadata":{},"code":`...), int64(e.Code), 10), '}')
	}
	dst = append(append(dst, '{'), bytes.TrimPrefix(e.Status, []byte(`{"kind":"Status","apiVersion":"v1",`))...)
	if code := strconv.AppendInt([]byte(`"code":`), int64(e.Code), 10); !bytes.HasSuffix(e.Status, append(code, '}')) && e.Code != 0 {
		dst = append(append(append(dst[:len(dst)-1], ','), code...), '}')
	}
	return dst
}

func (o *Object) appendTo(dst []byte) []byte {
	start := len(dst)
	for _, m := range [...]struct{ name, value string }{{`,"resource":`, o.Resource}, {`,"namespace":`, o.Namespace}, {`,"name":`, o.Name}, {`,"uid":`, o.UID},
		{`,"apiGroup":`, o.Group}, {`,"apiVersion":`, o.Version}, {`,"resourceVersion":`, o.Revision}, {`,"subresource":`, o.Subresource}} {
		dst = appendIf(dst, m.name, m.value)
	}
	return object(dst, start)
}

// object makes an object of the members from start on, each with a comma before it.
func object(dst []byte, start int) []byte {
	if len(dst) == start {
		return append(dst, "{}"...)
	}
	dst[start] = '{'
	return append(dst, '}')
}

// appendUser appends a user; nil for none.
func appendUser(dst []byte, u *authn.User) []byte {
	if u == nil {
		return append(dst, "{}"...)
	}
	start := len(dst)
	dst = appendIf(dst, `,"username":`, u.Name)
	dst = appendIf(dst, `,"uid":`, u.UID)
	dst = appendList(dst, `,"groups":`, u.Groups)
	if len(u.Extra) > 0 {
		dst = append(dst, `,"extra":`...)
		extra := len(dst)
		for _, key := range slices.Sorted(maps.Keys(u.Extra)) {
			dst, _ = jsontext.AppendQuote(append(dst, ','), key)
			if len(u.Extra[key]) == 0 {
				dst = append(dst, ":[]"...)
			}
			dst = appendList(dst, ":", u.Extra[key])
		}
		dst = object(dst, extra)
	}
	return object(dst, start)
}

func appendText(dst []byte, name, value string) []byte {
	dst, _ = jsontext.AppendQuote(append(dst, name...), value) // an error reports invalid UTF-8, which is replaced
	return dst
}

func appendIf(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendText(dst, name, value)
}

func appendList(dst []byte, name string, values []string) []byte {
	if len(values) == 0 {
		return dst
	}
	dst = append(append(dst, name...), '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, "", v)
	}
	return append(dst, ']')
}

func appendTime(dst []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(dst, `"2006-01-02T15:04:05.000000Z"`)
}

// legacy is the event as a line of the format legacy.
func (e *Event) legacy() []byte {
	quoted := func(list []string) string {
		var all []string
		for _, s := range list {
			all = append(all, strconv.Quote(s))
		}
		return strings.Join(all, ",")
	}
	or := func(value, other string) string {
		if value == "" {
			return other
		}
		return value
	}
	user, groups, as, asGroups, namespace, response, source := "", "", "", "", "", "", ""
	if e.User != nil {
		user, groups = e.User.Name, quoted(e.User.Groups)
	}
	if e.As != nil {
		as, asGroups = e.As.Name, quoted(e.As.Groups)
	}
	if e.Object != nil {
		namespace = e.Object.Namespace
	}
	if e.Code != 0 {
		response = strconv.Itoa(e.Code)
	}
	if len(e.Sources) > 0 {
		source = e.Sources[0]
	}
	line := []byte(e.Received.UTC().Format(time.RFC3339Nano) + " AUDIT:")
	for _, part := range [...][2]string{{"id", e.ID}, {"stage", stageNames[e.stage]}, {"ip", or(source, "<unknown>")}, {"method", e.Verb},
		{"user", or(user, "<none>")}, {"groups", or(groups, "<none>")}, {"as", or(as, "<self>")}, {"asgroups", or(asGroups, "<lookup>")},
		{"user-agent", e.Agent}, {"namespace", or(namespace, "<none>")}, {"uri", e.URI}, {"response", or(response, "<deferred>")}} {
		line = strconv.AppendQuote(append(line, " "+part[0]+"="...), part[1])
	}
	return append(line, '\n')
}
