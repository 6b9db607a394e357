package server

import (
	"net/http"
	"net/http/pprof"
	"strings"
)

// profiling finds Go's profiles below /debug/pprof/, for those who may read them.
func profiling(rest string) target {
	name, ok := strings.CutPrefix(rest, "pprof/")
	if !ok {
		return target{}
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
	return target{place: "/debug", ownForm: true, unbounded: true, endpoint: func(r *request) error {
		r.status = http.StatusOK
		show(r.w, r.http)
		return nil
	}}
}
