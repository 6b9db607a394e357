package endpoints

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Debug finds the endpoints below /debug/, for authorized users: the queues of priority and
// fairness, the verbosity of the log and the slow requests unless they are nil, and Go's profiles
// if they are on.
func (x *Endpoints) Debug(flow *flowcontrol.Control, profiles bool, log *Verbosity, slow *request.SlowLog) func(rest string) request.Target {
	return func(rest string) request.Target {
		step, name, _ := strings.Cut(rest, "/")
		switch {
		case step == "pprof" && profiles && strings.HasPrefix(rest, "pprof/"):
			return request.Target{EndpointPath: "/debug", OwnRepresentation: true, Unbounded: true, Endpoint: func(r *request.Request) error {
				r.Begun(http.StatusOK)
				if name == "profile" {
					defer x.env.Profile()()
				}
				profileOf(name)(r.Writer, r.HTTP)
				return nil
			}}
		case step == "api_priority_and_fairness" && flow != nil:
			return request.Target{EndpointPath: "/debug", OwnRepresentation: true, Endpoint: func(r *request.Request) error {
				text, ok := flow.Dump(name, r.Query.Get("includeRequestDetails") != "")
				if !ok {
					return x.env.Text(r, http.StatusNotFound, "404 page not found\n")
				}
				return r.Send(http.StatusOK, "text/plain; charset=utf-8", []byte(text))
			}}
		case rest == "slow_requests" && slow != nil:
			return request.Target{EndpointPath: "/debug", OwnRepresentation: true, Endpoint: func(r *request.Request) error { return sendSlow(r, slow) }}
		case step == "flags" && log != nil:
			return request.Target{EndpointPath: "/debug", OwnRepresentation: true, TakesBody: true, Endpoint: func(r *request.Request) error {
				code, text := log.answer(r, name)
				return x.env.Text(r, code, text)
			}}
		}
		return request.Target{}
	}
}

// profileOf shows a profile of the process; "" lists them.
func profileOf(name string) http.HandlerFunc {
	switch name {
	case "cmdline":
		return pprof.Cmdline
	case "profile":
		return pprof.Profile
	case "symbol":
		return pprof.Symbol
	case "trace":
		return pprof.Trace
	}
	return pprof.Index
}

// slowRequests is the answer of /debug/slow_requests.
type slowRequests struct {
	Threshold float64               `json:"thresholdSeconds"`
	Requests  []request.SlowRequest `json:"requests"`
}

// sendSlow answers with the last slow requests, the newest first.
func sendSlow(r *request.Request, log *request.SlowLog) error {
	most := int64(math.MaxInt)
	if limit, err := r.Query.Integer("limit"); err != nil {
		return err
	} else if limit != nil {
		most = max(*limit, 0)
	}
	all := slowRequests{log.Least().Seconds(), log.Newest(int(most))}
	if all.Requests == nil {
		all.Requests = []request.SlowRequest{}
	}
	body, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return r.Send(http.StatusOK, "application/json", append(body, '\n'))
}
