package admission

import (
	"slices"
	"time"

	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// step is the plug-ins that run one after the other, and how long they take.
type step struct {
	plugins []plugin
	timings []*metrics.Timing // of each
	timing  *metrics.Timing   // of all
}

func (s *step) add(p plugin, timing *metrics.Timing) {
	s.plugins, s.timings = append(s.plugins, p), append(s.timings, timing)
}

// run runs the plug-ins that handle the operation, up to the first refusal.
func (s *step) run(r *Request, do func(p *plugin) error) error {
	var last time.Duration
	begin := time.Now()
	for i := range s.plugins {
		p := &s.plugins[i]
		if !p.handles(r.Operation) {
			continue
		}
		if p.about != nil && !slices.Contains(p.about, r.Resource.Plural) {
			s.timings[i].Note(int(r.Operation), false, 0)
			continue
		}
		err := do(p)
		now := time.Since(begin)
		s.timings[i].Note(int(r.Operation), err != nil, now-last)
		if last = now; err != nil {
			return err
		}
	}
	return nil
}
