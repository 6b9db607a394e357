package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/api"
	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/exec"
	"github.com/capstan-dev/capstan/tools/differ/gen"
	"github.com/capstan-dev/capstan/tools/differ/report"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// runCommand is a run with its options.
type runCommand struct {
	common
	seed                                 int64
	n, first, steps, workers, most, show int
	only, area, record                   string
	limit, shrinkLimit                   time.Duration
	shrink                               int

	runner *exec.Runner
	found  *report.Collection
	begun  time.Time
}

// flags declares the options.
func (c *runCommand) flags(fs *flag.FlagSet) {
	c.common.flags(fs)
	fs.Int64Var(&c.seed, "seed", 1, "the same seed gives the same scenarios")
	fs.IntVar(&c.n, "n", 200, "number of scenarios")
	fs.IntVar(&c.first, "first", 0, "number of the first scenario")
	fs.StringVar(&c.only, "only", "", "regular expression on resources, like ^deployments.apps/v1$")
	fs.StringVar(&c.area, "area", "", "comma-separated: "+strings.Join(gen.Areas, ","))
	fs.IntVar(&c.steps, "steps", 25, "most requests of a scenario, about")
	fs.IntVar(&c.workers, "c", 4, "scenarios at a time")
	fs.DurationVar(&c.limit, "limit", 30*time.Minute, "limit for the whole run")
	fs.IntVar(&c.shrink, "shrink", 60, "runs spent on making one example smaller; 0 leaves examples as they are")
	fs.DurationVar(&c.shrinkLimit, "shrink-limit", 5*time.Minute, "limit for making all examples smaller")
	fs.IntVar(&c.most, "top", 60, "lines of the table")
	fs.IntVar(&c.show, "show", 0, "print this many examples in full")
	fs.StringVar(&c.record, "record", "", "file for the scenarios in which nothing unaccepted differs, with what the reference answered, for differ recorded")
}

// cmdRun draws scenarios, sends them to both servers and reports the differences. It reports
// whether there are any that are not accepted.
func cmdRun(ctx context.Context, args []string) (bool, error) {
	fs := flag.NewFlagSet("run", flag.ExitOnError)
	c := &runCommand{begun: time.Now()}
	c.flags(fs)
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	o, err := options(c.seed, c.only, c.area, c.steps)
	if err != nil {
		return false, err
	}
	acc, err := report.LoadAccepted(c.accepted)
	if err != nil {
		return false, err
	}
	defer c.stop()
	if c.runner, err = c.common.runner(ctx, acc); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	desc, err := describe(ctx, c.runner)
	if err != nil {
		return false, err
	}
	g, err := gen.New(desc, o)
	if err != nil {
		return false, err
	}
	c.found = report.NewCollection(acc)
	c.begun = time.Now()
	rec := &exec.Recording{Time: c.begun.UTC()}
	c.send(ctx, g, rec)
	buckets := report.Fold(c.found.Sorted())
	c.note("%d kinds of differences", len(buckets))
	if c.shrink > 0 {
		buckets = c.shrinkAll(ctx, buckets)
	}
	if c.record != "" {
		if err := rec.Write(c.record); err != nil {
			return false, err
		}
	}
	differs, err := c.report(acc, buckets)
	if ctx.Err() != nil {
		fmt.Println("stopped early: the limit was reached")
	}
	return differs || len(c.found.Failed) > 0, err
}

func (c *runCommand) note(format string, a ...any) {
	fmt.Fprintf(os.Stderr, "%4.0fs  "+format+"\n", append([]any{time.Since(c.begun).Seconds()}, a...)...)
}

// send sends the scenarios to both servers, and records those in which nothing differs.
func (c *runCommand) send(ctx context.Context, g *gen.Generator, rec *exec.Recording) {
	each(c.workers, c.n, func(i int) {
		if ctx.Err() != nil {
			return
		}
		sc := g.Scenario(c.first + i)
		out, err := c.runner.Run(ctx, sc)
		if err != nil {
			c.found.Fail(sc.Name, err)
			return
		}
		if meant := c.found.Add(sc, out); meant {
			rec.Add(sc, out)
		}
		if (i+1)%200 == 0 {
			c.note("%d of %d scenarios", i+1, c.n)
		}
	})
}

// shrinkAll shrinks the examples of differences that are not accepted.
func (c *runCommand) shrinkAll(ctx context.Context, buckets []*report.Bucket) []*report.Bucket {
	ctx, done := context.WithTimeout(ctx, c.shrinkLimit)
	defer done()
	each(c.workers, len(buckets), func(i int) {
		if buckets[i].Accepted != "" {
			return
		}
		report.Shrink(ctx, func(ctx context.Context, sc *scenario.Scenario) ([]compare.Diff, error) {
			out, err := c.runner.Run(ctx, sc)
			if err != nil {
				return nil, err
			}
			return out.Diffs, nil
		}, buckets[i], c.shrink)
	})
	return report.Fold(report.Regroup(buckets))
}

// report writes the files and the table. It reports whether a difference is not accepted.
func (c *runCommand) report(acc *report.Accepted, buckets []*report.Bucket) (differs bool, err error) {
	col := c.found
	s := &report.Summary{Seed: c.seed, Scenarios: col.Scenarios, Requests: c.runner.Requests.Load(), Bases: col.Bases, BasesOK: col.BasesOK,
		Skipped: col.Skipped, Partly: col.Partly, Failed: col.Failed, Unused: acc.Unused(), Buckets: buckets}
	if c.out != "" {
		if err := report.WriteFiles(c.out, s); err != nil {
			return false, err
		}
	}
	report.Table(os.Stdout, s, c.most)
	for _, b := range buckets {
		if b.Accepted != "" {
			continue
		}
		differs = true
		if c.show > 0 {
			report.Show(os.Stdout, b)
			c.show--
		}
	}
	return differs, nil
}

// describe reads the API of the reference, custom resources only if both sides have them.
func describe(ctx context.Context, r *exec.Runner) (*api.API, error) {
	custom, err := r.Install(ctx)
	if err != nil {
		return nil, err
	}
	desc, err := api.Load(ctx, r.Want)
	if err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	if !custom {
		fmt.Fprintln(os.Stderr, "the server under test serves no custom resources: they are left out")
		desc.Remove(exec.Group)
	}
	return desc, nil
}

func options(seed int64, only, area string, steps int) (gen.Options, error) {
	o := gen.Options{Seed: seed, Steps: steps, Areas: map[string]bool{}}
	if only != "" {
		re, err := regexp.Compile(only)
		if err != nil {
			return o, err
		}
		o.Only = re
	}
	for _, a := range strings.Split(area, ",") {
		if a == "" {
			continue
		}
		if !strings.Contains(","+strings.Join(gen.Areas, ",")+",", ","+a+",") {
			return o, fmt.Errorf("unknown area %q", a)
		}
		o.Areas[a] = true
	}
	return o, nil
}

// each calls f(0) … f(n-1) from several goroutines.
func each(workers, n int, f func(int)) {
	if workers < 1 {
		workers = 1
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for w := 0; w < workers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				f(i)
			}
		}()
	}
	for i := 0; i < n; i++ {
		next <- i
	}
	close(next)
	wg.Wait()
}
