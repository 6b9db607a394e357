package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Status is the server's answer to failed requests, and to some successful ones.
type Status struct {
	Status  string         `json:"status,omitempty"`
	Message string         `json:"message,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Code    int            `json:"code,omitempty"`
	Details *StatusDetails `json:"details,omitempty"`
}

// StatusDetails identifies the object of a Status.
type StatusDetails struct {
	Name              string        `json:"name,omitempty"`
	Group             string        `json:"group,omitempty"`
	Kind              string        `json:"kind,omitempty"`
	UID               string        `json:"uid,omitempty"`
	Causes            []StatusCause `json:"causes,omitempty"`
	RetryAfterSeconds int           `json:"retryAfterSeconds,omitempty"`
}

// StatusCause is one mistake in an object.
type StatusCause struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Field   string `json:"field,omitempty"`
}

// Error is a request that the server refused. Distinguish the cases with the functions
// below, or by Reason.
type Error struct {
	Status
	// Answer is the beginning of an answer that is not a Status, as that of a health check is.
	Answer     string
	retryAfter time.Duration // of the header; 0 for none
}

func (e *Error) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return fmt.Sprintf("the server answered %d %s", e.Code, http.StatusText(e.Code))
}

// IsNotFound reports that the object, or its kind, does not exist.
func IsNotFound(err error) bool { return hasCode(err, http.StatusNotFound) }

// IsAlreadyExists reports that an object with that name exists.
func IsAlreadyExists(err error) bool { return hasReason(err, "AlreadyExists") }

// IsConflict reports that the object changed since it was read, or that
// another manager owns the fields: read again and repeat.
func IsConflict(err error) bool { return hasReason(err, "Conflict") }

// IsInvalid reports that the object breaks rules; Details.Causes has them all.
func IsInvalid(err error) bool { return hasReason(err, "Invalid") }

// IsForbidden reports that the user may not do that.
func IsForbidden(err error) bool { return hasCode(err, http.StatusForbidden) }

// IsExpired reports that the server does not have the requested version any more: list
// again and watch from there.
func IsExpired(err error) bool { return hasCode(err, http.StatusGone) }

func hasCode(err error, code int) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

func hasReason(err error, reason string) bool {
	var e *Error
	return errors.As(err, &e) && e.Reason == reason
}

// mostError bounds the bytes read of a failed answer.
const mostError = 1 << 20

// readError makes an error of a failed answer.
func readError(response *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(response.Body, mostError))
	e := &Error{}
	if err != nil || json.Unmarshal(data, &e.Status) != nil || e.Status.Status == "" {
		e.Status = Status{Status: "Failure", Message: fmt.Sprintf("the server answered %s: %.200s", response.Status, data)}
		e.Answer = string(data)
	}
	e.Code, e.retryAfter = response.StatusCode, parseRetryAfter(response.Header.Get("Retry-After"))
	return e
}
