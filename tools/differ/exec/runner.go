package exec

import (
	"context"
	"fmt"
	"math/rand"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Server answers the requests of scenarios.
type Server interface {
	// Do sends one request with this side's variables filled in.
	Do(ctx context.Context, st *scenario.Step, vars map[string]string) (*compare.Answer, error)
}

// Runner sends scenarios to both servers.
type Runner struct {
	Want, Got Server
	Options   compare.Options
	nonce     string
	count     atomic.Int64
	Requests  atomic.Int64
}

// NewRunner makes a runner whose namespaces do not collide with those of other runs.
func NewRunner(want, got Server, o compare.Options) *Runner {
	return &Runner{Want: want, Got: got, Options: o, nonce: strconv.FormatInt(time.Now().UnixNano()/1e6%60466176, 36)}
}

// Outcome is a scenario with the answers of both sides.
type Outcome struct {
	Namespace string
	Want, Got []*compare.Answer
	Diffs     []compare.Diff

	Skipped, Partly int // steps whose answers were not compared, or without some objects, since the sides had different states
}

// letters avoids names that look like words or numbers.
const letters = "bcdfghjklmnpqrstvwxz2456789"

func (r *Runner) namespace() string {
	n := r.count.Add(1)
	return fmt.Sprintf("df%s%c%d", r.nonce, letters[rand.Intn(20)], n)
}

// both runs f for each side at the same time.
func both(f func(got bool) error) error {
	var wg sync.WaitGroup
	var errs [2]error
	for i := 0; i < 2; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			errs[i] = f(i == 1)
		}(i)
	}
	wg.Wait()
	if errs[0] != nil {
		return fmt.Errorf("reference: %w", errs[0])
	}
	if errs[1] != nil {
		return fmt.Errorf("server: %w", errs[1])
	}
	return nil
}

// Run sends the scenario to both servers in a fresh namespace and compares the answers.
func (r *Runner) Run(ctx context.Context, sc *scenario.Scenario) (*Outcome, error) {
	return r.run(ctx, sc, r.namespace(), r.Want, r.Options)
}

func (r *Runner) run(ctx context.Context, sc *scenario.Scenario, ns string, reference Server, o compare.Options) (*Outcome, error) {
	out := &Outcome{Namespace: ns, Want: make([]*compare.Answer, len(sc.Steps)), Got: make([]*compare.Answer, len(sc.Steps))}
	sides := [2]*side{newSide(reference, out.Want, ns), newSide(r.Got, out.Got, ns)}
	each := func(do func(*side) error) error {
		return both(func(got bool) error {
			if got {
				return do(sides[1])
			}
			return do(sides[0])
		})
	}
	if err := each(func(s *side) error { return setup(ctx, s.server, ns) }); err != nil {
		return nil, err
	}
	cmp := compare.NewSession(ns, o)
	oneSided := map[string]bool{}
	for i, st := range sc.Steps {
		if st.Method == "" {
			continue
		}
		if err := pause(ctx, st.Sleep); err != nil {
			return nil, err
		}
		r.Requests.Add(1)
		if err := each(func(s *side) error { return s.do(ctx, i, st, ns) }); err != nil {
			return nil, err
		}
		diffs := cmp.Step(i, st, out.Want[i], out.Got[i])
		if uses(st, oneSided) {
			cmp.Skipped++
		} else {
			out.Diffs = append(out.Diffs, diffs...)
		}
		noteOneSided(oneSided, st, [2]map[string]string{sides[0].vars, sides[1].vars}, cmp.Lost(st))
	}
	out.Skipped, out.Partly = cmp.Skipped, cmp.Partly
	_ = each(func(s *side) error {
		s.cleanUp(ctx)
		return nil
	})
	return out, nil
}

// pause waits for some seconds, or until ctx ends.
func pause(ctx context.Context, seconds float64) error {
	if seconds <= 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		return nil
	}
}

// side is one of the two servers during a scenario.
type side struct {
	server  Server
	answers []*compare.Answer // by step
	vars    map[string]string
	created []string // paths to be deleted afterwards
}

func newSide(s Server, answers []*compare.Answer, ns string) *side {
	return &side{server: s, answers: answers, vars: map[string]string{"NS": ns}}
}

// do sends step i. A connection that breaks is an answer too: it is compared as status 0.
func (s *side) do(ctx context.Context, i int, st *scenario.Step, ns string) error {
	a, err := s.server.Do(ctx, st, s.vars)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		a = &compare.Answer{Body: []byte(err.Error())}
	}
	for v, p := range st.Save {
		if x, ok := scenario.Get(a.JSON, p); ok {
			s.vars[v] = fmt.Sprint(x)
		}
	}
	if p := cleanupPath(st, a, ns, s.vars); p != "" {
		s.created = append(s.created, p)
	}
	s.answers[i] = a
	return nil
}

// cleanUp deletes what the scenario has created, the last first.
func (s *side) cleanUp(ctx context.Context) {
	for i := len(s.created) - 1; i >= 0; i-- {
		_, _ = s.server.Do(ctx, &scenario.Step{Method: "DELETE", Path: s.created[i]}, nil)
	}
}

// noteOneSided marks the variables of a step that cannot be sent to both sides, so that
// later differences are expected: values that only one side gave, and those of an object
// in different states, which differ in meaning between the sides.
func noteOneSided(marks map[string]bool, st *scenario.Step, vars [2]map[string]string, lost bool) {
	for v := range st.Save {
		marks[v] = (vars[0][v] == "") != (vars[1][v] == "") || lost // the last page may have an empty token
	}
}

// uses reports whether a step sends one of the variables.
func uses(st *scenario.Step, vars map[string]bool) bool {
	for v, yes := range vars {
		if yes && st.Uses(v) {
			return true
		}
	}
	return false
}

// setup makes the namespace and, as a controller would, its default service account.
func setup(ctx context.Context, s Server, ns string) error {
	for _, o := range []struct{ path, body string }{
		{"/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + ns + `"}}`},
		{"/api/v1/namespaces/" + ns + "/serviceaccounts", `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`},
	} {
		body := o.body
		a, err := s.Do(ctx, &scenario.Step{Method: "POST", Path: o.path, Raw: &body}, nil)
		if err != nil {
			return err
		}
		if a.Status != 201 && a.Status != 409 {
			return fmt.Errorf("setup POST %s: %d %.200s", o.path, a.Status, a.Body)
		}
	}
	return nil
}

// cleanupPath names an object that a step left outside the scenario's namespace.
func cleanupPath(st *scenario.Step, a *compare.Answer, ns string, vars map[string]string) string {
	if a.Status != 201 {
		return ""
	}
	u, err := url.Parse(scenario.Fill(st.Path, vars))
	if err != nil || u.Query().Get("dryRun") != "" || strings.Contains(u.Path, "/namespaces/"+ns+"/") {
		return ""
	}
	kind, _ := scenario.Get(a.JSON, "kind")
	k, _ := kind.(string)
	if k == "" || k == "Status" || strings.HasSuffix(k, "Review") {
		return ""
	}
	if st.Method == "POST" {
		name, _ := scenario.Get(a.JSON, "metadata.name")
		n, _ := name.(string)
		if n == "" {
			return ""
		}
		return u.Path + "/" + url.PathEscape(n)
	}
	return u.Path
}
