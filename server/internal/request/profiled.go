package request

import (
	"context"
	"runtime/pprof"

	"github.com/capstan-dev/capstan/internal/api"
)

// Profile begins a profile of the CPU, and returns its end. Meanwhile the samples of a request have labels: the
// request, which is its verb and its resource, and the user.
func (env *Env) Profile() (end func()) {
	env.profiles.Add(1)
	return func() { env.profiles.Add(-1) }
}

// label gives the samples of the request, which is authorized, their labels. A long-running request always has
// labels, since a profile may begin later.
func (env *Env) label(r *Request) {
	if !r.lasts && env.profiles.Load() == 0 {
		return
	}
	k := &r.figures
	about := k.Sub
	if of := k.Resource; of.Plural != "" {
		if about = (api.GroupResource{Group: of.Group, Resource: of.Plural}).String(); k.Sub != "" {
			about += "/" + k.Sub
		}
	}
	labels := pprof.Labels("request", k.Verb+" "+about, "user", r.User.Name)
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), labels))
	r.labelled = true
}

// unlabel takes the labels from the goroutine, which may serve the next request of the connection.
func (r *Request) unlabel() {
	if r.labelled {
		pprof.SetGoroutineLabels(context.Background())
	}
}
