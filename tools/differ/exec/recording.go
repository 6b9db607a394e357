package exec

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sort"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Recording holds the reference's answers to scenarios, so that a server can be compared
// with it without the reference. Add is safe for concurrent use.
type Recording struct {
	Time      time.Time           `json:"time"`
	Scenarios []*recordedScenario `json:"scenarios"`

	mu sync.Mutex
}

// recordedScenario is one scenario with the reference's answers, one for each step.
type recordedScenario struct {
	Namespace string             `json:"namespace"`
	Scenario  *scenario.Scenario `json:"scenario"`
	Answers   []recordedAnswer   `json:"answers"`
}

type recordedAnswer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
	Events []any       `json:"events,omitempty"`
	Stream bool        `json:"stream,omitempty"`
}

// Add notes the answers of the reference.
func (r *Recording) Add(sc *scenario.Scenario, out *Outcome) {
	recorded := &recordedScenario{Namespace: out.Namespace, Scenario: sc}
	for _, a := range out.Want {
		if a == nil { // a step without a request
			a = &compare.Answer{}
		}
		header := http.Header{}
		for name, values := range a.Header {
			if name != "Audit-Id" && name != "Date" {
				header[name] = values
			}
		}
		recorded.Answers = append(recorded.Answers, recordedAnswer{Status: a.Status, Header: header, Body: a.Body, Events: a.Events, Stream: a.Stream})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Scenarios = append(r.Scenarios, recorded)
}

// Write writes the recording, compressed JSON, scenarios by name.
func (r *Recording) Write(file string) error {
	sort.Slice(r.Scenarios, func(i, j int) bool { return r.Scenarios[i].Scenario.Name < r.Scenarios[j].Scenario.Name })
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err == nil {
		err = json.NewEncoder(z).Encode(r)
	}
	if err == nil {
		err = z.Close()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// ReadRecording reads a file of Write.
func ReadRecording(file string) (*Recording, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r := &Recording{}
	if err := json.NewDecoder(z).Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, s := range r.Scenarios {
		if len(s.Answers) != len(s.Scenario.Steps) {
			return nil, fmt.Errorf("%s: %s has %d steps and %d answers", file, s.Scenario.Name, len(s.Scenario.Steps), len(s.Answers))
		}
	}
	return r, nil
}

// Against sends the i-th recorded scenario to a server, in the namespace of the recording, which must be a new one there.
func (r *Recording) Against(ctx context.Context, got Server, o compare.Options, i int) (*scenario.Scenario, *Outcome, error) {
	recorded := r.Scenarios[i]
	answers := played{}
	for n, st := range recorded.Scenario.Steps {
		a := recorded.Answers[n]
		answer := &compare.Answer{Status: a.Status, Header: a.Header, Body: a.Body, Events: a.Events, Stream: a.Stream}
		answer.Parse()
		answers[st] = answer
	}
	o.Recorded = r.Time
	out, err := NewRunner(answers, got, o).run(ctx, recorded.Scenario, recorded.Namespace, answers, o)
	return recorded.Scenario, out, err
}

// played answers the steps of one scenario as the reference did. Requests outside of
// steps are preparation, which succeeded.
type played map[*scenario.Step]*compare.Answer

// Do implements Server.
func (p played) Do(_ context.Context, st *scenario.Step, _ map[string]string) (*compare.Answer, error) {
	if a := p[st]; a != nil {
		return a, nil
	}
	return &compare.Answer{Status: http.StatusCreated}, nil
}
