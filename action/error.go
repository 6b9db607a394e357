package action

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/object"
)

// The refusals of an action. All other errors, but those of the methods of a call, are answered 500 without
// their text, which is in the log. So are refusals that the document does not name, if it names some.

func refuse(reason api.Reason, format string, args ...any) *api.Refusal {
	return &api.Refusal{Answer: &api.Error{Code: reason.Refuses(), Reason: reason, Message: fmt.Sprintf(format, args...)}}
}

// Conflict refuses an action that the state of the object does not allow: 409.
func Conflict(format string, args ...any) error { return refuse(api.ReasonConflict, format, args...) }

// Forbidden refuses an action that this user may not do: 403.
func Forbidden(format string, args ...any) error { return refuse(api.ReasonForbidden, format, args...) }

// NotFound refuses a body that names something that is not there: 404.
func NotFound(format string, args ...any) error { return refuse(api.ReasonNotFound, format, args...) }

// BadRequest refuses a body that has no meaning: 400.
func BadRequest(format string, args ...any) error {
	return refuse(api.ReasonBadRequest, format, args...)
}

// TooEarly refuses an action that may be tried again after some seconds: 429 with Retry-After.
func TooEarly(seconds int, format string, args ...any) error {
	refused := refuse(api.ReasonTooManyRequests, format, args...)
	refused.Answer.RetryAfter = seconds
	return refused
}

// Unavailable refuses an action that needs something that does not answer now: 503.
func Unavailable(format string, args ...any) error {
	return refuse(api.ReasonServiceUnavailable, format, args...)
}

// Invalid refuses the body for its fields: 422.
func Invalid(causes ...object.Cause) error {
	return &api.Refusal{Answer: api.Invalid("", "", "", causes)}
}

// IsNotFound reports whether an error says that an object is not there: one of the methods of a call.
func IsNotFound(err error) bool {
	var known *api.Error
	return errors.As(err, &known) && known.Code == http.StatusNotFound
}
