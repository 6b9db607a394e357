package etcd

import (
	"context"
	"slices"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// soon is the time after which a question without an answer is asked again, and the members are
	// looked at.
	soon = 300 * time.Millisecond
	// memberTimeout bounds the look at a member.
	memberTimeout = 700 * time.Millisecond
	// memberPause is the time between looks at the members.
	memberPause = time.Second
)

// several reports whether etcd has members to choose from.
func (e *Engine) several() bool { return len(e.cfg.Endpoints) > 1 }

// suspect has the members looked at.
func (e *Engine) suspect() {
	select {
	case e.suspicions <- struct{}{}:
	default: // one is on its way
	}
}

// writeTimeout bounds a write. Where etcd has several members, a write without an answer may have been
// sent to one that hangs, and the next one is sent to another.
func (e *Engine) writeTimeout() time.Duration {
	if e.several() {
		return min(e.cfg.Timeout, writeTimeout)
	}
	return e.cfg.Timeout
}

// overdue has the members looked at, where there are several, unless the function that it returns is called soon.
func (e *Engine) overdue() (stop func()) {
	if !e.several() {
		return func() {}
	}
	timer := time.AfterFunc(soon, e.suspect)
	return func() { timer.Stop() }
}

// ask reads a key. Where etcd has several members it is asked again as long as there is no answer, and
// the first answer counts.
func (e *Engine) ask(ctx context.Context, place string, options ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	if !e.several() {
		return e.client.Get(ctx, place, options...)
	}
	type answer struct {
		response *clientv3.GetResponse
		err      error
	}
	answers := make(chan answer, e.cfg.Timeout/soon+2)
	for {
		go func() {
			response, err := e.client.Get(ctx, place, options...)
			answers <- answer{response, err}
		}()
		select {
		case a := <-answers:
			return a.response, a.err
		case <-time.After(soon):
			e.suspect()
		}
	}
}

// guardMembers leaves out members that do not answer, until ctx ends.
func (e *Engine) guardMembers(ctx context.Context) {
	for {
		var again <-chan time.Time
		if len(e.client.Endpoints()) < len(e.cfg.Endpoints) {
			again = time.After(memberPause)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.suspicions:
		case <-again:
		}
		if !e.chooseMembers(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(memberPause):
			}
		}
	}
}

// chooseMembers has the client use the members that answer, if there are any. It reports whether it
// uses others than before.
func (e *Engine) chooseMembers(ctx context.Context) bool {
	before, use := e.client.Endpoints(), e.answering(ctx)
	if len(use) == 0 || ctx.Err() != nil || slices.Equal(before, use) {
		return false
	}
	e.client.SetEndpoints(use...)
	for _, member := range e.cfg.Endpoints {
		switch had, has := slices.Contains(before, member), slices.Contains(use, member); {
		case had && !has:
			e.cfg.Logger.Warn("etcd: a member does not answer, it is not used until it does", "member", member)
			e.watchAnew() // the watch may be at this member
		case has && !had:
			e.cfg.Logger.Info("etcd: a member answers again", "member", member)
		}
	}
	return true
}

// answering are the members that answer, in the order of the configuration. When some have a leader,
// the others are cut off from it, and left out.
func (e *Engine) answering(ctx context.Context) (use []string) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	answers, leaders := make([]bool, len(e.cfg.Endpoints)), make([]bool, len(e.cfg.Endpoints))
	var all sync.WaitGroup
	for i, member := range e.cfg.Endpoints {
		all.Go(func() {
			status, err := e.client.Status(ctx, member)
			answers[i] = err == nil
			leaders[i] = err == nil && status.Leader != 0
		})
	}
	all.Wait()
	if slices.Contains(leaders, true) {
		answers = leaders
	}
	for i, member := range e.cfg.Endpoints {
		if answers[i] {
			use = append(use, member)
		}
	}
	return use
}

// watchAnew has the watch end that follows etcd, and another one begin.
func (e *Engine) watchAnew() {
	select {
	case e.renewals <- struct{}{}:
	default: // one is on its way
	}
}
