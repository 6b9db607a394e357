package endpoints

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// Debug finds what is below /debug/, for authorized users: the queues of priority and
// fairness, unless it is nil, and Go's profiles.
func (x *Endpoints) Debug(flow *flowcontrol.Control, profiles bool) func(rest string) front.Target {
	return func(rest string) front.Target {
		step, name, _ := strings.Cut(rest, "/")
		switch {
		case step == "pprof" && profiles && strings.HasPrefix(rest, "pprof/"):
			return profiling(name)
		case step == "api_priority_and_fairness" && flow != nil:
			return front.Target{EndpointPath: "/debug", OwnRepresentation: true, Endpoint: func(r *front.Request) error {
				text, ok := flow.Dump(name, r.Query.Get("includeRequestDetails") != "")
				if !ok {
					return x.front.Text(r, http.StatusNotFound, "404 page not found\n")
				}
				return r.Send(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
			}}
		}
		return front.Target{}
	}
}

// profiling finds a profile below /debug/pprof/.
func profiling(name string) front.Target {
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
		r.Begun(http.StatusOK)
		show(r.Writer, r.HTTP)
		return nil
	}}
}
