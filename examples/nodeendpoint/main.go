// Nodeendpoint serves /healthz and /metrics of a node over HTTPS, to users that the API
// server knows and permits: an example of package nodeapi. Its flags are those of the
// kubelet, and it runs until SIGTERM or SIGINT.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/nodeapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	p := program{out: os.Stdout, log: slog.New(slog.NewTextHandler(os.Stderr, nil)), clock: time.Now}
	if err := p.run(ctx, os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "nodeendpoint:", err)
		os.Exit(1)
	}
}

// program holds the parts of the process that the endpoint uses: its output, its log and its clock.
type program struct {
	out   io.Writer
	log   *slog.Logger
	clock func() time.Time
}

// run executes a command line until the end of ctx.
func (p program) run(ctx context.Context, args []string) error {
	var guard nodeapi.Flags
	flags := pflag.NewFlagSet("nodeendpoint", pflag.ContinueOnError)
	guard.AddFlags(flags)
	listen := flags.String("listen", ":10250", "address to listen on")
	cert := flags.String("tls-cert-file", "", "serving certificate, PEM")
	key := flags.String("tls-private-key-file", "", "private key of --tls-cert-file, PEM")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: there are flags only", flags.Arg(0))
	}
	config, err := guard.Config()
	if err != nil {
		return err
	}
	config.Logger, config.Clock = p.log, p.clock
	guarded, err := nodeapi.Guard(config, endpoint())
	if err != nil {
		return err
	}
	serving, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err)
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Fprintf(p.out, "node %s listens on https://%s\n", config.Node, listener.Addr())
	return serve(ctx, listener, &http.Server{Handler: guarded, TLSConfig: nodeapi.TLS(config, serving), ReadHeaderTimeout: 10 * time.Second,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelInfo)})
}

// serve serves until the end of ctx, and then lets requests in flight finish.
func serve(ctx context.Context, listener net.Listener, s *http.Server) error {
	ended := make(chan error, 1)
	go func() { ended <- s.ServeTLS(listener, "", "") }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return s.Shutdown(drain)
}

// endpoint answers the paths of the node.
func endpoint() http.Handler {
	var requests atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "# HELP node_endpoint_requests_total Number of requests.")
		fmt.Fprintln(w, "# TYPE node_endpoint_requests_total counter")
		fmt.Fprintln(w, "node_endpoint_requests_total", requests.Load())
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		mux.ServeHTTP(w, r)
	})
}
