package endpoints

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/capstan-dev/capstan/server/internal/front"
)

// Profiling finds Go's profiles below /debug/pprof/, for authorized users.
func Profiling(rest string) front.Target {
	name, ok := strings.CutPrefix(rest, "pprof/")
	if !ok {
		return front.Target{}
	}
	show := pprof.Index
	switch name {
	case "cmdline":
		show = pprof.Cmdline
	case "profile":
		show = pprof.Profile
	case "symbol":
		show = pprof.Symbol
	case "trace":
		show = pprof.Trace
	}
	return front.Target{EndpointPath: "/debug", OwnRepresentation: true, Unbounded: true, Endpoint: func(r *front.Request) error {
		r.Status = http.StatusOK
		show(r.Writer, r.HTTP)
		return nil
	}}
}
