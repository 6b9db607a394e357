package endpoints

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/server/internal/request"
)

// Verbosity is the level of the log as the number of --v, which a PUT of another number to
// /debug/flags/v changes.
type Verbosity struct {
	level *slog.LevelVar
	least slog.Level // that of a small number: it was there at the start
}

// verbose is the number from which on each request has a line in the log; longestNumber
// bounds the text of a number.
const (
	verbose       = 3
	longestNumber = 100
)

// NewVerbosity makes the verbosity of a log; nil when its level stays, or nobody is to look
// into the server.
func NewVerbosity(level *slog.LevelVar, hidden bool) *Verbosity {
	if level == nil || hidden {
		return nil
	}
	return &Verbosity{level, max(level.Level(), slog.LevelInfo)}
}

// answer is that to a request for a flag, "" for the list of all.
func (v *Verbosity) answer(r *request.Request, flag string) (code int, text string) {
	switch {
	case flag == "" && r.Method() == http.MethodGet:
		return http.StatusOK, "/debug/flags/v\n"
	case flag != "v":
		return http.StatusNotFound, "404 page not found\n"
	case r.Method() != http.MethodPut:
		return http.StatusNotAcceptable, "unsupported http method"
	}
	given := strings.TrimSpace(string(r.Body[:min(len(r.Body), longestNumber)]))
	n, err := strconv.ParseInt(given, 10, 32)
	if err != nil {
		return http.StatusBadRequest, fmt.Sprintf("failed set klog.logging.verbosity %s: %v", given, err)
	}
	if n >= verbose {
		v.level.Set(slog.LevelDebug)
	} else {
		v.level.Set(v.least)
	}
	return http.StatusOK, fmt.Sprintf("successfully set klog.logging.verbosity to %d", n)
}
