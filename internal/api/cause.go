package api

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// NotSupported is the cause of a value that is not one of the supported ones.
func NotSupported(field, value string, supported ...string) schema.Cause {
	for i, s := range supported {
		supported[i] = strconv.Quote(s)
	}
	return schema.Cause{Reason: schema.CauseNotSupported, Field: field,
		Message: "Unsupported value: " + strconv.Quote(value) + ": supported values: " + strings.Join(supported, ", ")}
}
