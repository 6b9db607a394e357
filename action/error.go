package action

import (
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/object"
)

// The refusals of an action. All other errors, but those of the methods of a call, are answered 500 without
// their text, which is in the log.

// Conflict refuses an action that the state of the object does not allow: 409.
func Conflict(format string, args ...any) error {
	return &api.Error{Code: http.StatusConflict, Reason: api.ReasonConflict, Message: fmt.Sprintf(format, args...)}
}

// Forbidden refuses an action that this user may not do: 403.
func Forbidden(format string, args ...any) error {
	return &api.Error{Code: http.StatusForbidden, Reason: api.ReasonForbidden, Message: fmt.Sprintf(format, args...)}
}

// BadRequest refuses a body that has no meaning: 400.
func BadRequest(format string, args ...any) error { return api.BadRequest(format, args...) }

// TooEarly refuses an action that may be tried again after some seconds: 429 with Retry-After.
func TooEarly(seconds int, format string, args ...any) error {
	return &api.Error{Code: http.StatusTooManyRequests, Reason: api.ReasonTooManyRequests, Message: fmt.Sprintf(format, args...), RetryAfter: seconds}
}

// Invalid refuses the body for its fields: 422.
func Invalid(causes ...object.Cause) error { return api.Invalid("", "", "", causes) }
