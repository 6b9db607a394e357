// Command storm has many clients use a server at once, by a program drawn from a seed,
// and judges what they saw.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/area"
)

func main() { os.Exit(run()) }

func run() int {
	var o options
	flag.StringVar(&o.binary, "server", "bin/capstan", "the server's binary, built with -tags invariants")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the first round; the next have the next ones")
	flag.DurationVar(&o.time, "time", 5*time.Minute, "how long to draw new rounds; 0 for one")
	flag.StringVar(&o.out, "out", ".tmp/storm", "directory of the servers' files, which stay after a finding")
	flag.IntVar(&o.size.Clients, "clients", 12, "clients at once")
	flag.IntVar(&o.size.Steps, "steps", 300, "steps of a client")
	flag.DurationVar(&o.shrink, "shrink", time.Minute, "time spent on making a program with findings smaller; 0 for none")
	flag.StringVar(&o.where, "where", "", "memory or disk (default: drawn)")
	flag.StringVar(&o.etcd, "etcd", "", "a program that runs an etcd, for servers on it (default: a server with a store of its own)")
	flag.IntVar(&o.servers, "servers", 3, "servers on an etcd")
	flag.IntVar(&o.members, "members", 3, "members of the etcd")
	flag.DurationVar(&o.apart, "apart", 0, "how far the clocks of the servers on an etcd are apart; the servers are built anew for that, from -source")
	flag.StringVar(&o.source, "source", ".", "directory of the server's module")
	areas := flag.String("areas", "", "areas in use, with commas between (default: drawn)")
	flag.Parse()
	if *areas != "" {
		o.areas = strings.Split(*areas, ",")
		if len(area.Named(o.areas)) != len(o.areas) {
			fmt.Fprintf(os.Stderr, "storm: -areas %s: not all are known\n", *areas)
			return 2
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.makeClocks(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		return 2
	}
	failed, err := o.rounds(ctx)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "storm:", err)
		return 2
	case failed > 0:
		fmt.Printf("%d rounds with findings\n", failed)
		return 1
	}
	return 0
}
