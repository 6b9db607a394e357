package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// elections is the controller that gives leases to candidates. A step of an election looks at the lease and at
// its candidates as they are stored, and does nothing, asks the candidates whether they are alive, or
// chooses among those that have answered. Nothing but that state is kept, so each server can go on with
// the election of another one.
type elections struct {
	*cluster
	candidates, leases *Type
	steps              *queue[leaseName]
	cleaning           *queue[struct{}]

	// The leases that candidates are after, by the key of the candidate, and the number of candidates of each lease. Other
	// leases, as those of nodes, are many, and change all the time.
	wanted map[string]leaseName
	counts map[leaseName]int
}

// leaseName names a lease.
type leaseName struct{ namespace, name string }

const (
	leasesGroup = "coordination." + profile.GroupSuffix

	electionWorkers = 4
	// electionPause is the time after which a lease is looked at again.
	electionPause = 5 * time.Second
	// answerTime is the time that candidates have to answer, and for which an answer counts.
	answerTime = 5 * time.Second
	// leaseSeconds is the life of a lease that is given to a candidate.
	leaseSeconds = 5
	// candidateLife is the time after its last answer in which a candidate counts. Candidates are asked again after half of it.
	candidateLife = 30 * time.Minute
	// microTime is the form of times with microseconds.
	microTime = "2006-01-02T15:04:05.000000Z07:00"
)

func newElections(ctx context.Context, c *cluster) handler {
	g := &elections{cluster: c, candidates: c.find(leasesGroup, "leasecandidates"), leases: c.find(leasesGroup, "leases")}
	g.reset()
	g.steps = newQueue(ctx, LeaderElection, electionWorkers, c.Logger, g.step)
	g.cleaning = newQueue(ctx, LeaderElection, 1, c.Logger, func(ctx context.Context, _ struct{}) error {
		g.cleaning.addAfter(struct{}{}, candidateLife)
		return g.clean(ctx)
	})
	g.cleaning.add(struct{}{})
	return g
}

func (g *elections) wants(t *Type) bool { return t == g.candidates }
func (g *elections) reset()             { g.wanted, g.counts = map[string]leaseName{}, map[leaseName]int{} }
func (g *elections) close()             { g.steps.close(); g.cleaning.close() }

func (g *elections) observe(_ context.Context, o *observation) {
	switch namespace, name := o.typ.split(o.key); o.typ {
	case g.leases:
		if of := (leaseName{namespace, name}); g.counts[of] > 0 {
			g.steps.add(leaseName{strings.Clone(namespace), strings.Clone(name)})
		}
	case g.candidates:
		c, err := readCandidate(o.body)
		if err != nil {
			return // a stored object
		}
		of := leaseName{strings.Clone(namespace), c.Spec.LeaseName}
		g.follow(o.key, of, o.op == store.OpDelete)
		if !c.asked() {
			g.steps.add(of)
		}
	}
}

// follow notes the lease that a candidate is after.
func (g *elections) follow(key string, of leaseName, gone bool) {
	if before, known := g.wanted[key]; known {
		if g.counts[before]--; g.counts[before] == 0 {
			delete(g.counts, before)
		}
		delete(g.wanted, key)
	}
	if !gone {
		g.wanted[strings.Clone(key)] = of
		g.counts[of]++
	}
}

// step takes a step of the election for a lease. Steps follow each other while the lease has candidates.
func (g *elections) step(ctx context.Context, of leaseName) error {
	candidates, err := g.candidatesOf(ctx, of)
	if err != nil || len(candidates) == 0 {
		return err
	}
	g.steps.addAfter(of, electionPause)
	lease, err := g.lease(ctx, of)
	if err != nil {
		return err
	}
	now := g.Now()
	if due, err := electionDue(candidates, lease, now); err != nil || !due {
		return err
	}
	if waits, err := g.ask(ctx, candidates, now); err != nil || waits {
		return err
	}
	var answered []*candidate
	for _, c := range candidates {
		if within(c.Spec.RenewTime, answerTime, now) {
			answered = append(answered, c)
		}
	}
	if len(answered) == 0 {
		return fmt.Errorf("no candidate for the lease %s/%s has answered", of.namespace, of.name)
	}
	return g.elect(ctx, of, answered)
}

// candidatesOf finds the candidates for a lease that count.
func (g *elections) candidatesOf(ctx context.Context, of leaseName) (all []*candidate, err error) {
	err = g.eachCandidate(ctx, of.namespace+"/", func(c *candidate) {
		if c.Spec.LeaseName == of.name && !c.expired(g.Now()) {
			all = append(all, c)
		}
	})
	return all, err
}

// eachCandidate visits the candidates whose names begin with a namespace, "" for all.
func (g *elections) eachCandidate(ctx context.Context, namespace string, visit func(*candidate)) (err error) {
	view, err := g.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	return store.ScanReadable(ctx, view, g.candidates.Prefix+namespace, func(e *store.Entry) bool {
		if c, err := readCandidate(e.Body); err == nil {
			visit(c)
		}
		return true
	}, func(*store.UnreadableError) {})
}

// lease reads a lease; nil for none.
func (g *elections) lease(ctx context.Context, of leaseName) (*leaseSpec, error) {
	e, err := g.Store.Get(ctx, g.leases.key(of.namespace, of.name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var lease struct{ Spec leaseSpec }
	return &lease.Spec, json.Unmarshal(e.Body, &lease)
}

// ask asks candidates that have not answered lately whether they are alive. It reports whether their answers are still to come.
func (g *elections) ask(ctx context.Context, candidates []*candidate, now time.Time) (waits bool, err error) {
	var silent []*candidate
	for _, c := range candidates {
		switch {
		case c.asked() && within(c.Spec.PingTime, answerTime, now):
			waits = true
		case within(c.Spec.RenewTime, answerTime, now):
		case c.Spec.PingTime == nil || !within(c.Spec.PingTime, answerTime, now) && !c.asked():
			silent = append(silent, c)
		}
	}
	errs := forEach(ctx, parallel, silent, func(ctx context.Context, c *candidate) error {
		return ignoreNotFound(g.Cluster.Edit(ctx, g.candidates.Resource, c.Metadata.Namespace, c.Metadata.Name, "", func(obj document.Value) {
			if obj.At("metadata", "uid").Equals(c.Metadata.UID) {
				obj.SetObject("spec").SetString("pingTime", now.UTC().Format(microTime))
			}
		}))
	})
	return waits || len(silent) > 0, errors.Join(errs...)
}

// elect gives the lease to the best of some candidates, or has its holder know that the best is another one. A lease of another strategy
// has no holder yet: something else chooses it.
func (g *elections) elect(ctx context.Context, of leaseName, candidates []*candidate) error {
	strategy, err := strategyOf(candidates)
	if err != nil {
		return err
	}
	holder := ""
	if strategy == oldestEmulation {
		best := oldest(candidates)
		if best == nil {
			return fmt.Errorf("no candidate for the lease %s/%s has versions that can be compared", of.namespace, of.name)
		}
		holder = best.Metadata.Name
	}
	err = g.Cluster.Edit(ctx, g.leases.Resource, of.namespace, of.name, "", func(obj document.Value) {
		assign(obj, strategy, holder, g.Now())
	})
	if !hasReason(err, api.ReasonNotFound) {
		return err
	}
	spec := map[string]any{"strategy": strategy, "leaseDurationSeconds": leaseSeconds, "renewTime": g.Now().UTC().Format(microTime)}
	if holder != "" {
		spec["holderIdentity"] = holder
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"namespace": of.namespace, "name": of.name}, "spec": spec})
	if err != nil {
		return err
	}
	return g.Cluster.Create(ctx, g.leases.Resource, of.namespace, text)
}

// assign changes a lease to the outcome of an election; "" is the holder of one whose strategy is not known here.
func assign(obj document.Value, strategy, holder string, now time.Time) {
	var before leaseSpec
	_ = json.Unmarshal(obj.Get("spec").AppendJSON(nil), &before) // a stored object; else it has no holder
	spec := obj.SetObject("spec")
	spec.SetString("strategy", strategy)
	switch {
	case holder == "" || holder == before.HolderIdentity:
	case before.HolderIdentity == "" || before.expired(now):
		spec.Remove("preferredHolder")
		spec.Remove("acquireTime")
		spec.SetString("holderIdentity", holder)
		spec.SetString("renewTime", now.UTC().Format(microTime))
		spec.SetInt("leaseDurationSeconds", leaseSeconds)
	default:
		spec.SetString("preferredHolder", holder)
	}
}

// clean deletes the candidates that do not count any more.
func (g *elections) clean(ctx context.Context) error {
	var over []*candidate
	if err := g.eachCandidate(ctx, "", func(c *candidate) {
		if c.expired(g.Now()) {
			over = append(over, c)
		}
	}); err != nil {
		return err
	}
	return errors.Join(forEach(ctx, parallel, over, func(ctx context.Context, c *candidate) error {
		err := g.Cluster.Delete(ctx, g.candidates.Resource, c.Metadata.Namespace, c.Metadata.Name,
			DeleteOptions{UID: c.Metadata.UID, Revision: c.Metadata.ResourceVersion})
		if hasReason(err, api.ReasonConflict) {
			return nil // it has answered
		}
		return ignoreNotFound(err)
	})...)
}
