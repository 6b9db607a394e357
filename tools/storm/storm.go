package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/area"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/site"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// storm runs a program on a site of its own, and returns what its clients saw.
func storm(ctx context.Context, p program.Program, o site.Options) (*record.Record, error) {
	server, err := site.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	defer server.Kill()
	open, end := context.WithCancel(ctx)
	defer end()
	s := stage.New(server)
	defer s.Close()
	areas := area.Named(p.Areas)
	if err := prepare(s, areas); err != nil {
		return nil, err
	}
	before, err := server.Figures(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Record(open); err != nil {
		return nil, err
	}
	work(open, s, p, areas)
	settle(open, s, areas)
	end()
	s.Wait()
	s.Close()
	after(ctx, s, before)
	return s.Result(), nil
}

// prepare makes the namespaces that are always there and what the areas need.
func prepare(s *stage.Stage, areas []area.Area) error {
	admin := s.Client(2000)
	admin.Quiet = true
	for _, name := range area.Spaces {
		call := admin.Do(stage.Request{Verb: "create", Kind: stage.KindOf("namespaces"), Name: name,
			Body: map[string]any{"metadata": map[string]any{"name": name}}})
		if !call.Done() {
			return fmt.Errorf("namespace %s: %d %s", name, call.Code, call.Message)
		}
	}
	for _, a := range areas {
		if a.Prepare == nil {
			continue
		}
		if err := a.Prepare(admin); err != nil {
			return fmt.Errorf("area %s: %w", a.Name, err)
		}
	}
	return nil
}

// workLimit bounds the time in which clients begin steps.
const workLimit = time.Minute

// work has every client do its steps.
func work(ctx context.Context, s *stage.Stage, p program.Program, areas []area.Area) {
	by := make(map[string]area.Area)
	for _, a := range areas {
		by[a.Name] = a
	}
	var clients sync.WaitGroup
	for i, steps := range p.Clients {
		clients.Go(func() {
			c := s.Client(i)
			for _, step := range steps {
				s.Present()
				if ctx.Err() != nil || s.Broken() || s.Journal.Now() > workLimit {
					return
				}
				by[step.Area].Do(ctx, c, step)
			}
		})
	}
	clients.Wait()
}

// settleLimit bounds the time until the server rests.
const settleLimit = 10 * time.Second

// settle waits until watches have shown everything, and asks the questions of the areas.
func settle(ctx context.Context, s *stage.Stage, areas []area.Area) {
	for _, a := range areas {
		if a.Rest != nil && !s.Broken() {
			a.Rest(ctx, s.Client(3000))
		}
	}
	s.Finish(settleLimit)
}

// after compares the figures of the server, which nobody uses any more, with those before,
// stops it and notes a bad end.
func after(ctx context.Context, s *stage.Stage, before record.Figures) {
	var now record.Figures
	for end := time.Now().Add(settleLimit); !s.Broken(); time.Sleep(100 * time.Millisecond) {
		now, _ = s.Figures(ctx) // without figures there is nothing to compare
		if len(promise.Grown(before, now)) == 0 {
			break
		}
		if time.Now().After(end) {
			s.Dump(ctx) // which says what has stayed
			break
		}
	}
	err := s.Stop()
	s.Journal.With(func(r *record.Record) {
		r.Limit, r.Stood = site.RequestLimit, s.Paused()
		if r.Before, r.After = before, now; err != nil {
			r.Exit = err.Error()
		}
	})
}
