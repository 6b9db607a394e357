package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/server/internal/progress"
	"github.com/capstan-dev/capstan/server/internal/status"
)

// statusEvery is the time between two looks at a server.
const statusEvery = 2 * time.Second

func newStatus(signals catcher) *cobra.Command {
	var (
		server credentials
		output outputFlag
		watch  bool
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show a running server on one screen",
		Long: `Show the version, readiness, requests, queues, watches, objects, store and certificate of a running server, and the
requests that it failed to answer. Rates and times of requests are those of the last second; with --watch all is
shown again every two seconds, with those of these seconds. Numbers of failed requests count since the server
began. The ends of certificates are those of the serving one, of this user's, and of the files in <data-dir>/pki.

The exit code is 0 for a ready server, 1 for one that is not ready or does not answer.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.check(); err != nil {
				return err
			}
			file, err := server.file()
			if err != nil {
				return err
			}
			reader, err := status.Open(file, filepath.Join(server.dataDir, "pki"))
			if err != nil {
				return err
			}
			defer reader.Close()
			ctx, stop := until(cmd.Context(), signals(os.Interrupt, syscall.SIGTERM))
			defer stop()
			if watch {
				return watchStatus(ctx, reader, cmd.OutOrStdout(), output.json())
			}
			s, err := readRates(ctx, reader)
			if err != nil {
				return err
			}
			if err := showStatus(cmd.OutOrStdout(), s, output.json()); err != nil {
				return err
			}
			if !s.Ready {
				return errors.New("the server is not ready")
			}
			return nil
		},
	}
	f := cmd.Flags()
	server.add(f, "read its figures")
	f.BoolVarP(&watch, "watch", "w", false, "show it again every two seconds, until interrupted")
	output.add(f, "form: json, one object for each look (default: text)")
	return cmd
}

// rateTime is the time of which rates are shown once.
const rateTime = time.Second

// readRates reads a status twice, for the rates in between. That of a server which is not ready, or hides its figures, is
// read once.
func readRates(ctx context.Context, reader *status.Reader) (*status.Status, error) {
	s, err := reader.Read(ctx)
	if err != nil || !s.Ready || s.Interval == 0 {
		return s, err
	}
	select {
	case <-time.After(rateTime):
		return reader.Read(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// watchStatus shows the status until ctx ends. A server that does not answer may come back.
func watchStatus(ctx context.Context, reader *status.Reader, out io.Writer, inJSON bool) error {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		s, err := reader.Read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !inJSON && terminal(out) {
			fmt.Fprint(out, "\x1b[H\x1b[2J") // the top of an empty screen
		}
		if err != nil {
			fmt.Fprintf(out, "no answer: %s\n", oneLine(err))
		} else if err := showStatus(out, s, inJSON); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// showStatus writes one look at a server.
func showStatus(out io.Writer, s *status.Status, inJSON bool) error {
	if inJSON {
		return json.NewEncoder(out).Encode(s) // one line
	}
	paint := coloursOf(out)
	ready := paint.green("ready")
	if !s.Ready {
		ready = paint.red("not ready") + ": " + strings.Join(s.Failing, ", ")
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("server", "%s  %s", s.Server, ready)
	row("version", "%s", s.Version)
	if len(s.Certificates) > 0 {
		row("certificates", "%s", ends(s.Certificates, paint))
	}
	if f := &s.Figures; f.Interval > 0 {
		row("up", "since %s, %s", f.Began.UTC().Format("2006-01-02 15:04:05"), time.Since(f.Began).Round(time.Second))
		row("process", "%.2f cores, %s of memory", f.CPU, progress.Size(f.Resident))
		row("requests", "%.1f a second, 99 of 100 within %s, %.0f running, %.0f waiting, %.0f watches", f.Requests, time.Duration(f.P99*float64(time.Second)),
			f.Running, f.Queued, f.Watches)
		row("waiting in", "%s", counts(f.Busy))
		row("failed", "%s", counts(f.Failures))
		row("objects", "%.0f; %s", f.Objects, counts(f.Most))
		health := paint.green("accepts writes")
		if !f.Store.Healthy {
			health = paint.red("refuses writes")
		}
		row("store", "%s, %s on disk, revisions %.0f to %.0f", health, progress.Size(f.Store.Disk), f.Store.Oldest, f.Store.Revision)
		if f.Store.Etcd > 0 {
			row("etcd", "%s", progress.Size(f.Store.Etcd))
		}
	}
	for _, h := range s.Hidden {
		row("hidden", "%s", h)
	}
	return w.Flush()
}

// counts are numbers with their names, "nothing" for none.
func counts(all []status.Count) string {
	if len(all) == 0 {
		return "nothing"
	}
	var parts []string
	for _, c := range all {
		parts = append(parts, fmt.Sprintf("%s %.0f", c.Name, c.Number))
	}
	return strings.Join(parts, ", ")
}

// ends are the ends of certificates.
func ends(all []status.Certificate, paint colours) string {
	var parts []string
	for _, c := range all {
		text := c.Name + " until " + c.Ends.UTC().Format(time.DateOnly)
		switch left := time.Until(c.Ends); {
		case left < 0:
			text = paint.red(text + " (ended)")
		case left < status.SoonEnded:
			text = paint.yellow(text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
