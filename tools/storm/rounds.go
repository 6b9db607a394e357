package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/area"
	"github.com/capstan-dev/capstan/tools/storm/clock"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/site"
)

type options struct {
	binary, out, where string
	etcd               string
	servers, members   int
	seed               uint64
	time, shrink       time.Duration
	apart              time.Duration
	source             string
	size               area.Size
	areas              []string
}

// makeClocks builds a server whose clock can be wrong, if the clocks shall be apart.
func (o *options) makeClocks(ctx context.Context) error {
	if o.apart == 0 {
		return nil
	}
	if o.etcd == "" {
		return errors.New("-apart: only servers on an etcd can have clocks that are apart; name the program of -etcd")
	}
	dir, err := filepath.Abs(filepath.Join(o.out, "clocks"))
	if err != nil {
		return err
	}
	o.binary, err = clock.Build(ctx, o.source, dir)
	return err
}

// rounds runs rounds until the time is over, and returns how many had findings.
func (o *options) rounds(ctx context.Context) (failed int, err error) {
	for end, seed := time.Now().Add(o.time), o.seed; ctx.Err() == nil && (seed == o.seed || time.Now().Before(end)); seed++ {
		p := area.Draw(seed, o.size, o.areas, o.etcd != "")
		if o.where != "" {
			p.Memory = o.where == "memory"
		}
		dir := filepath.Join(o.out, fmt.Sprint(seed))
		began := time.Now()
		found, summary, err := o.judge(ctx, p, dir)
		if err != nil {
			return failed, fmt.Errorf("%s: %w", p, err)
		}
		fmt.Printf("%s: %s, %d findings in %s\n", p, summary, len(found), time.Since(began).Round(100*time.Millisecond))
		if len(found) == 0 {
			continue
		}
		failed++
		show(found)
		if o.shrink > 0 && ctx.Err() == nil {
			o.smaller(ctx, p, found, dir)
		}
	}
	return failed, nil
}

// judge runs a program and checks the promises. The files stay when there are findings.
func (o *options) judge(ctx context.Context, p program.Program, dir string) ([]promise.Violation, string, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, "", err
	}
	r, err := storm(ctx, p, site.Options{Binary: o.binary, Memory: p.Memory, Dir: dir, History: area.History(p.Areas),
		Etcd: o.etcd, Servers: o.servers, Members: o.members, Apart: o.apart})
	if err != nil {
		return nil, "", err
	}
	found := promise.Check(r)
	if len(found) == 0 {
		err = os.RemoveAll(dir)
	}
	return found, fmt.Sprintf("%d calls, %d changes, %d watches", len(r.Calls), len(r.Tape), len(r.History.Watches)), err
}

func show(found []promise.Violation) {
	for _, v := range found {
		fmt.Println("  " + strings.ReplaceAll(v.String(), "\n", "\n    "))
	}
}
