package background

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

// Within the grace period only the objects that every cluster needs count, as in 1.25.
func TestGraceOfTheStart(t *testing.T) {
	p := newStartup()
	failing := func(grace bool) (names []string) {
		for _, h := range p.hooks() {
			if h.Check(grace) != nil {
				names = append(names, h.Name)
			}
		}
		return names
	}
	needed := []string{"poststarthook/rbac/bootstrap-roles", "poststarthook/scheduling/bootstrap-system-priority-classes", "poststarthook/priority-and-fairness-config-producer"}
	if got := failing(true); !slices.Equal(got, needed) {
		t.Errorf("with grace %v fail", got)
	}
	if got := failing(false); len(got) <= len(needed) || !slices.Contains(got, "autoregister-completion") {
		t.Errorf("without grace only %v fail", got)
	}
	for _, step := range []*startupStep{p.objects, p.ranges, p.service, p.addresses, p.extensions, p.apis, p.flows} {
		close(step.done)
	}
	if got := failing(false); got != nil {
		t.Errorf("after the start %v fail", got)
	}
}

// Steps of different lines of the start run at the same time; those of one line follow each other, and only what has failed
// is tried again.
func TestLinesOfTheStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c := &Controllers{cfg: Config{Log: slog.New(slog.DiscardHandler)}, log: slog.New(slog.DiscardHandler), startup: newStartup()}
	close(c.startup.objects.done)
	var order []string // of addressesLine
	step := func(line int, step *startupStep, do func(ctx context.Context) error) chore {
		return chore{line: line, step: step, do: func(_ *Controllers, ctx context.Context) error { return do(ctx) }}
	}
	others := make(chan bool)
	c.chores = []chore{
		step(addressesLine, c.startup.ranges, func(ctx context.Context) error {
			if order = append(order, "ranges"); len(order) == 1 {
				return errors.New("not yet")
			}
			return nil
		}),
		step(addressesLine, c.startup.service, func(ctx context.Context) error {
			order = append(order, "service")
			select {
			case others <- true:
			case <-ctx.Done():
			}
			return ctx.Err()
		}),
		step(versionsLine, c.startup.apis, func(ctx context.Context) error {
			select {
			case <-others:
			case <-ctx.Done():
			}
			return ctx.Err()
		}),
	}
	c.keepBootstrapped(ctx)
	if got := strings.Join(order, " "); got != "ranges service ranges" || ctx.Err() != nil {
		t.Errorf("the steps were %s, %v", got, ctx.Err())
	}
	select {
	case <-c.startup.done:
	default:
		t.Error("the start is not done")
	}
}
