// Package api holds the vocabulary of engines and server: errors, catalog rows,
// conditions. It imports documents and schemas only.
package api

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Reason is the machine-readable reason of a failure, as clients check it.
type Reason string

// The reasons of the Kubernetes 1.25 Status object that this server uses.
const (
	ReasonUnknown               Reason = ""
	ReasonBadRequest            Reason = "BadRequest"
	ReasonUnauthorized          Reason = "Unauthorized"
	ReasonForbidden             Reason = "Forbidden"
	ReasonNotFound              Reason = "NotFound"
	ReasonMethodNotAllowed      Reason = "MethodNotAllowed"
	ReasonNotAcceptable         Reason = "NotAcceptable"
	ReasonAlreadyExists         Reason = "AlreadyExists"
	ReasonConflict              Reason = "Conflict"
	ReasonGone                  Reason = "Gone"
	ReasonExpired               Reason = "Expired"
	ReasonInvalid               Reason = "Invalid"
	ReasonRequestEntityTooLarge Reason = "RequestEntityTooLarge"
	ReasonUnsupportedMediaType  Reason = "UnsupportedMediaType"
	ReasonTooManyRequests       Reason = "TooManyRequests"
	ReasonInternalError         Reason = "InternalError"
	ReasonServiceUnavailable    Reason = "ServiceUnavailable"
	ReasonTimeout               Reason = "Timeout"
)

// Reasons of a Cause that no schema gives.
const (
	CauseTooLargeRV           = "ResourceVersionTooLarge"
	CauseConflict             = "FieldManagerConflict"
	CauseUnexpected           = "UnexpectedServerResponse"
	CauseNamespaceTerminating = "NamespaceTerminating"
	CauseReferred             = "Referred"
)

// Cause is one detail of a failure.
type Cause = schema.Cause

// FieldError is a Cause under its name in validation.
type FieldError = Cause

// Error is the one error type of requests. Any other error becomes a 500 whose text is
// logged and not sent.
//
// Invariant: Code is the HTTP status, Reason belongs to it.
type Error struct {
	Code    int
	Reason  Reason
	Message string

	// Details, all optional. Kind holds the resource for most reasons, the
	// kind for Invalid, as clients expect.
	Name, Group, Kind, UID string
	Causes                 []Cause
	RetryAfter             int // seconds; 0 for none
	HasDetails             bool

	// Allow lists the methods for the Allow header of a 405.
	Allow []string

	// Plain makes the answer the message as text, in place of a Status.
	Plain bool
}

func (e *Error) Error() string { return e.Message }

// GroupResource names a resource type in messages: "pods", "deployments.apps".
type GroupResource struct{ Group, Resource string }

func (g GroupResource) String() string {
	if g.Group == "" {
		return g.Resource
	}
	return g.Resource + "." + g.Group
}

// BadRequest is a 400: the request cannot be understood.
func BadRequest(format string, args ...any) *Error {
	return &Error{Code: http.StatusBadRequest, Reason: ReasonBadRequest, Message: fmt.Sprintf(format, args...)}
}

// NotFound is a 404 for one object.
func NotFound(r GroupResource, name string) *Error {
	return &Error{Code: http.StatusNotFound, Reason: ReasonNotFound, HasDetails: true,
		Message: fmt.Sprintf("%s %q not found", r, name), Name: name, Group: r.Group, Kind: r.Resource}
}

// UnknownPath is the 404 for a path that no resource answers.
func UnknownPath() *Error {
	return &Error{Code: http.StatusNotFound, Reason: ReasonNotFound, HasDetails: true,
		Message: "the server could not find the requested resource"}
}

// AlreadyExists is the 409 of a create whose name is taken.
func AlreadyExists(r GroupResource, name string) *Error {
	return &Error{Code: http.StatusConflict, Reason: ReasonAlreadyExists, HasDetails: true,
		Message: fmt.Sprintf("%s %q already exists", r, name), Name: name, Group: r.Group, Kind: r.Resource}
}

// Conflict is the 409 of a write whose precondition does not hold any more.
func Conflict(r GroupResource, name, why string) *Error {
	return &Error{Code: http.StatusConflict, Reason: ReasonConflict, HasDetails: true,
		Message: fmt.Sprintf("Operation cannot be fulfilled on %s %q: %s", r, name, why), Name: name, Group: r.Group, Kind: r.Resource}
}

// MaxCauses bounds the causes of one answer.
const MaxCauses = 256

// Invalid is the 422 that carries all field errors at once, up to MaxCauses.
func Invalid(group, kind, name string, causes []FieldError) *Error {
	text, causes := inWords(causes)
	k := kind
	if group != "" {
		k += "." + group
	}
	return &Error{Code: http.StatusUnprocessableEntity, Reason: ReasonInvalid, HasDetails: true,
		Message: fmt.Sprintf("%s %q is invalid: %s", k, name, text), Name: name, Group: group, Kind: kind, Causes: causes}
}

// Undeletable is the 409 of a delete that the rules of the kind refuse.
func Undeletable(r GroupResource, name string, causes []FieldError) *Error {
	text, causes := inWords(causes)
	return &Error{Code: http.StatusConflict, Reason: ReasonConflict, HasDetails: true,
		Message: fmt.Sprintf("%s %q cannot be deleted: %s", r, name, text), Name: name, Group: r.Group, Kind: r.Resource, Causes: causes}
}

// inWords is the text of causes, and as many of them as an answer has.
func inWords(causes []FieldError) (text string, first []FieldError) {
	more := len(causes) > MaxCauses
	if more {
		causes = causes[:MaxCauses]
	}
	var parts []string // each once
	for _, c := range causes {
		part := c.Message
		if c.Field != "" {
			part = c.Field + ": " + part
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	if more {
		parts = append(parts, "and more")
	}
	text = strings.Join(parts, ", ")
	if len(parts) > 1 {
		text = "[" + text + "]"
	}
	return text, causes
}

// Forbidden is the 403 for one object or collection.
func Forbidden(r GroupResource, name, why string) *Error {
	about := r.String()
	if name != "" {
		about += " " + strconv.Quote(name)
	}
	return &Error{Code: http.StatusForbidden, Reason: ReasonForbidden, HasDetails: true,
		Message: about + " is forbidden: " + why, Name: name, Group: r.Group, Kind: r.Resource}
}

// Unauthorized is the 401 of wrong or missing credentials.
func Unauthorized() *Error {
	return &Error{Code: http.StatusUnauthorized, Reason: ReasonUnauthorized, Message: "Unauthorized"}
}

// MethodNotAllowed is the 405 of a known path with another method.
func MethodNotAllowed(allow []string) *Error {
	return &Error{Code: http.StatusMethodNotAllowed, Reason: ReasonMethodNotAllowed, HasDetails: true,
		Message: "the server does not allow this method on the requested resource", Allow: allow}
}

// NotAcceptable is the 406 of an Accept header that nothing satisfies.
func NotAcceptable(types []string) *Error {
	return &Error{Code: http.StatusNotAcceptable, Reason: ReasonNotAcceptable,
		Message: "only the following media types are accepted: " + strings.Join(types, ", ")}
}

// NotAcceptableForm is the 406 of a representation that the answer does not have.
func NotAcceptableForm(message string) *Error {
	return &Error{Code: http.StatusNotAcceptable, Reason: ReasonNotAcceptable, Message: message}
}

// UnsupportedMediaType is the 415 of a body whose media type is not read.
func UnsupportedMediaType(types []string) *Error {
	return &Error{Code: http.StatusUnsupportedMediaType, Reason: ReasonUnsupportedMediaType,
		Message: "the body of the request was in an unknown format - accepted media types include: " + strings.Join(types, ", ")}
}

// TooLarge is the 413 of a body over the limit, in bytes.
func TooLarge(limit int64) *Error {
	return &Error{Code: http.StatusRequestEntityTooLarge, Reason: ReasonRequestEntityTooLarge,
		Message: fmt.Sprintf("Request entity too large: limit is %d bytes", limit)}
}

// Expired is the 410 of a revision or token that history no longer covers.
func Expired(format string, args ...any) *Error {
	return &Error{Code: http.StatusGone, Reason: ReasonExpired, Message: fmt.Sprintf(format, args...)}
}

// TooLargeResourceVersion is the 504 of a revision that does not exist yet.
func TooLargeResourceVersion(asked, current uint64, retryAfter int) *Error {
	return &Error{Code: http.StatusGatewayTimeout, Reason: ReasonTimeout, HasDetails: true, RetryAfter: retryAfter,
		Message: fmt.Sprintf("Too large resource version: %d, current: %d", asked, current),
		Causes:  []Cause{{Reason: CauseTooLargeRV, Message: "Too large resource version"}}}
}

// TooManyRequests is the 429 of a server at its limit of requests in flight: plain text, as
// in 1.25.
func TooManyRequests(retryAfter int) *Error {
	return &Error{Code: http.StatusTooManyRequests, Reason: ReasonTooManyRequests, RetryAfter: retryAfter,
		Message: "Too many requests, please try again later.", Plain: true}
}

// Internal is a 500; the client reads the message.
func Internal(message string) *Error {
	return &Error{Code: http.StatusInternalServerError, Reason: ReasonInternalError, HasDetails: true,
		Message: "Internal error occurred: " + message, Causes: []Cause{{Message: message}}}
}

// IsReason reports whether an error is a refusal for a reason.
func IsReason(err error, reason Reason) bool {
	var known *Error
	return errors.As(err, &known) && known.Reason == reason
}
