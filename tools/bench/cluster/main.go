// Command cluster measures what a whole cluster costs its API server: upstream's controller manager and scheduler
// work on it, with fake nodes, while deployments start, roll over, rest and go.
//
// It needs root and the command ip, since each cluster has a network namespace of its own, with loopback only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// settings are the values of the flags.
type settings struct {
	server      string // the program capstan
	reference   string // folder with kube-apiserver and etcd; "" measures capstan only
	upstream    string // folder with kube-controller-manager, kube-scheduler, kwok and stages.yaml
	kinds       string
	out         string
	release     string
	flags       string
	nodes       int
	pods        int
	deployments int
	rest        time.Duration
	limit       time.Duration
	profile     bool
	light       bool
	inside      string // the kind that this process measures, within its namespace
}

func main() {
	s := settings{}
	flag.StringVar(&s.server, "server", "bin/capstan", "program that is measured")
	flag.StringVar(&s.reference, "reference", "", "folder with kube-apiserver and etcd")
	flag.StringVar(&s.upstream, "upstream", "", "folder with kube-controller-manager, kube-scheduler, kwok and stages.yaml")
	flag.StringVar(&s.kinds, "kinds", "capstan,reference", "what is measured, one after the other: capstan, capstan-etcd (on the etcd of the reference), reference")
	flag.StringVar(&s.out, "out", "", "folder for the table, the figure, logs and profiles")
	flag.StringVar(&s.release, "release", "", "release that capstan serves; that of the controllers")
	flag.StringVar(&s.flags, "flags", "", "further flags of capstan, separated by spaces")
	flag.IntVar(&s.nodes, "nodes", 300, "fake nodes")
	flag.IntVar(&s.pods, "pods", 3000, "pods of all deployments")
	flag.IntVar(&s.deployments, "deployments", 1, "deployments, each in a namespace of its own: the controller manager and the scheduler look at all pods of the namespace for each pod")
	flag.BoolVar(&s.light, "light-scheduler", false, "the scheduler looks at no more than 100 nodes for a pod, without counting pods there: of 5,000 nodes, it else places 28 pods a second with one core")
	flag.DurationVar(&s.rest, "rest", 30*time.Second, "length of the phase in which nothing changes")
	flag.DurationVar(&s.limit, "limit", 30*time.Minute, "longest time of one cluster")
	flag.BoolVar(&s.profile, "profile", false, "take profiles of capstan, list its requests with the time of the CPU that each took, and draw those of one pod's life")
	flag.StringVar(&s.inside, "inside", "", "for the command's own use")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := s.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

// run measures all kinds, or within a namespace the one that this process is for.
func (s *settings) run(ctx context.Context) error {
	if s.upstream == "" || s.out == "" {
		return errors.New("-upstream and -out are required")
	}
	if s.inside != "" {
		return s.measure(ctx)
	}
	var all []measured
	for _, kind := range strings.Split(s.kinds, ",") {
		if kind != "capstan" && s.reference == "" {
			continue
		}
		if err := s.enter(ctx, kind); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		m, err := readMeasured(filepath.Join(s.out, kind, "phases.json"))
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	table := tableOf(s, all)
	fmt.Print(table)
	if err := os.WriteFile(filepath.Join(s.out, "table.md"), []byte(table), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.out, "figure.svg"), figureOf(all), 0o600)
}

// enter runs this program for one kind in a new network namespace, and waits for its end.
func (s *settings) enter(ctx context.Context, kind string) error {
	dir := filepath.Join(s.out, kind)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	c := exec.CommandContext(ctx, "/proc/self/exe", append(os.Args[1:], "-inside", kind)...)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Setpgid: true}
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 20 * time.Second
	err := c.Run()
	if c.Process != nil { // what it has left behind
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
	return err
}

// measure starts the cluster, leads it through its phases and writes what they cost.
func (s *settings) measure(ctx context.Context) (err error) {
	for _, step := range []string{"link set lo up", "addr add " + advertised + "/32 dev lo"} {
		if out, err := exec.CommandContext(ctx, "ip", strings.Fields(step)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", step, err, out)
		}
	}
	c, err := s.start(ctx)
	if c != nil {
		defer c.stop()
	}
	if err != nil {
		return err
	}
	return c.live(ctx)
}
