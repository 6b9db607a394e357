package grpc

import (
	"context"
	"errors"
	"fmt"
)

// Codes that callers ask for.
const (
	Canceled          = 1
	DeadlineExceeded  = 4
	ResourceExhausted = 8
	Aborted           = 10
	Unimplemented     = 12 // a method that the server does not have
	Internal          = 13
	Unavailable       = 14
)

// codeNames are the names of codes, by their numbers.
var codeNames = [...]string{"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied",
	"ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated"}

// CodeName is the name of a code as libraries of gRPC write it.
func CodeName(code int) string {
	if code < 0 || code >= len(codeNames) {
		return fmt.Sprintf("Code(%d)", code)
	}
	return codeNames[code]
}

// CodeOf is the code of a call that ended with err: that of the server if it answered.
func CodeOf(err error) int {
	var known *StatusError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &known):
		return known.Code
	case errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return Canceled
	}
	return Unavailable
}
