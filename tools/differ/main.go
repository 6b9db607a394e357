// Command differ compares the answers of a server and a reference to random requests.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/exec"
	"github.com/capstan-dev/capstan/tools/differ/gen"
	"github.com/capstan-dev/capstan/tools/differ/report"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
	"github.com/capstan-dev/capstan/tools/differ/start"
)

const usage = `differ compares a server with the reference on random requests.

  differ run    -reference URL -server URL [-seed S] [-n N] [flags]
  differ replay -reference URL -server URL FILE...
  differ recorded -server URL FILE                      without a reference: compares with its recorded answers
  differ show   [-reference URL] [-seed S] [-i I]      prints the I-th scenario of a seed

"differ run -h" lists the flags.
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	differs := false
	switch os.Args[1] {
	case "run":
		differs, err = cmdRun(ctx, os.Args[2:])
	case "replay":
		differs, err = cmdReplay(ctx, os.Args[2:])
	case "recorded":
		differs, err = cmdRecorded(ctx, os.Args[2:])
	case "show":
		err = cmdShow(ctx, os.Args[2:])
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "differ:", err)
		os.Exit(2)
	}
	if differs {
		os.Exit(1)
	}
}

type common struct {
	reference, server, token, serverToken, accepted, out string
	startReference, startServer, disable, release        string
	messages, mixed                                      bool
	timeout                                              time.Duration

	started []*start.Process
}

func (c *common) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.reference, "reference", "https://127.0.0.1:21443", "URL of the reference, on loopback")
	fs.StringVar(&c.startReference, "start-reference", "", "directory of etcd and kube-apiserver (see reference/build.sh): they are started for the run, on free ports, with -token's default")
	fs.StringVar(&c.startServer, "start-server", "", "path of capstan: it is started for the run, on a free port")
	fs.StringVar(&c.release, "release", "", "release that a started server is to serve, like 1.36, that of -start-reference; both serve all versions, alpha too")
	fs.BoolVar(&c.mixed, "mixed", false, "put a further kube-apiserver on one etcd with the started capstan, and draw one of both for each request")
	fs.StringVar(&c.disable, "disable-admission-plugins", "", "plug-ins that a started reference does without")
	fs.StringVar(&c.server, "server", "https://127.0.0.1:23443", "URL of the server under test, on loopback")
	fs.StringVar(&c.token, "token", "admintoken", "bearer token of an administrator, for both")
	fs.StringVar(&c.serverToken, "server-token", "", "token for the server under test, where it is another one")
	fs.BoolVar(&c.messages, "messages", false, "compare sentences too")
	fs.StringVar(&c.accepted, "accepted", "", "file of differences that are meant")
	fs.StringVar(&c.out, "out", "", "directory for summary.json and the repro files")
	fs.DurationVar(&c.timeout, "timeout", 20*time.Second, "limit for one request")
}

// start starts the servers that are to be started. They are stopped by stop, also after an error.
func (c *common) start(ctx context.Context) error {
	if c.startReference != "" {
		flags := c.everyVersion()
		if c.disable != "" {
			flags = append(flags, "--disable-admission-plugins", c.disable)
		}
		p, err := start.Reference(ctx, c.startReference, flags...)
		if err != nil {
			return err
		}
		c.reference, c.started = p.URL, append(c.started, p)
	}
	if c.mixed && (c.startReference == "" || c.startServer == "") {
		return errors.New("-mixed needs -start-reference and -start-server")
	}
	if c.startServer != "" {
		p, err := c.startTested(ctx)
		if err != nil {
			return err
		}
		c.server, c.started = p.URL, append(c.started, p)
	}
	return nil
}

// startTested starts the server under test, or the mix of servers.
func (c *common) startTested(ctx context.Context) (*start.Process, error) {
	if c.mixed {
		return start.Mixed(ctx, c.startReference, c.startServer)
	}
	flags := c.everyVersion()
	if c.release != "" {
		flags = append(flags, "--emulated-version", c.release)
	}
	return start.Server(ctx, c.startServer, flags...)
}

// everyVersion are the flags by which a server of a later release serves the versions that are off by default.
func (c *common) everyVersion() []string {
	if c.release == "" {
		return nil
	}
	return []string{"--runtime-config", "api/all=true"}
}

func (c *common) stop() {
	for _, p := range c.started {
		p.Stop()
	}
}

func (c *common) runner(ctx context.Context, acc *report.Accepted) (*exec.Runner, error) {
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	want, err := exec.NewSide(c.reference, c.token, c.timeout)
	if err != nil {
		return nil, err
	}
	t := c.serverToken
	if t == "" {
		t = c.token
	}
	got, err := exec.NewSide(c.server, t, c.timeout)
	if err != nil {
		return nil, err
	}
	return exec.NewRunner(want, got, compare.Options{Messages: c.messages, Diverges: acc.Diverges, RefusedDiverges: acc.RefusedDiverges}), nil
}

func cmdReplay(ctx context.Context, args []string) (bool, error) {
	fs := flag.NewFlagSet("replay", flag.ExitOnError)
	var c common
	c.flags(fs)
	verbose := fs.Bool("v", false, "print every answer")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	if fs.NArg() == 0 {
		return false, errors.New("name a file")
	}
	defer c.stop()
	r, err := c.runner(ctx, nil)
	if err != nil {
		return false, err
	}
	if _, err := r.Install(ctx); err != nil {
		return false, err
	}
	differs := false
	for _, f := range fs.Args() {
		sc, err := scenario.Load(f)
		if err != nil {
			return false, err
		}
		out, err := r.Run(ctx, sc)
		if err != nil {
			return false, err
		}
		differs = differs || len(out.Diffs) > 0
		fmt.Printf("%s: %d differences\n", f, len(out.Diffs))
		report.Answers(os.Stdout, sc, out, *verbose)
	}
	return differs, nil
}

// cmdRecorded compares a server with the recorded answers of the reference.
func cmdRecorded(ctx context.Context, args []string) (bool, error) {
	fs := flag.NewFlagSet("recorded", flag.ExitOnError)
	var c common
	c.flags(fs)
	workers := fs.Int("c", 4, "scenarios at a time")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	if fs.NArg() != 1 {
		return false, errors.New("name one recording")
	}
	rec, err := exec.ReadRecording(fs.Arg(0))
	if err != nil {
		return false, err
	}
	acc, err := report.LoadAccepted(c.accepted)
	if err != nil {
		return false, err
	}
	defer c.stop()
	if err := c.start(ctx); err != nil {
		return false, err
	}
	got, err := exec.NewSide(c.server, c.token, c.timeout)
	if err != nil {
		return false, err
	}
	col := report.NewCollection(acc)
	each(*workers, len(rec.Scenarios), func(i int) {
		sc, out, err := rec.Against(ctx, got, compare.Options{Messages: c.messages, Diverges: acc.Diverges, RefusedDiverges: acc.RefusedDiverges}, i)
		if err != nil {
			col.Fail(sc.Name, err)
			return
		}
		col.Add(sc, out)
	})
	buckets := report.Fold(col.Sorted())
	report.Table(os.Stdout, &report.Summary{Scenarios: col.Scenarios, Bases: col.Bases, BasesOK: col.BasesOK, Skipped: col.Skipped, Partly: col.Partly,
		Failed: col.Failed, Buckets: buckets}, 60)
	differs := len(col.Failed) > 0
	for _, b := range buckets {
		if b.Accepted == "" {
			differs = true
			report.Show(os.Stdout, b)
		}
	}
	return differs, nil
}

func cmdShow(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("show", flag.ExitOnError)
	var c common
	c.flags(fs)
	seed := fs.Int64("seed", 1, "seed")
	i := fs.Int("i", 0, "number of the scenario")
	only := fs.String("only", "", "as for run")
	area := fs.String("area", "", "as for run")
	steps := fs.Int("steps", 25, "as for run")
	if err := fs.Parse(args); err != nil {
		return err
	}
	o, err := options(*seed, *only, *area, *steps)
	if err != nil {
		return err
	}
	defer c.stop()
	r, err := c.runner(ctx, nil)
	if err != nil {
		return err
	}
	desc, err := describe(ctx, r)
	if err != nil {
		return err
	}
	g, err := gen.New(desc, o)
	if err != nil {
		return err
	}
	y, err := g.Scenario(*i).YAML("")
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(y)
	return err
}
