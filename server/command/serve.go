package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/hangups"
	"github.com/capstan-dev/capstan/server/internal/logging"
	"github.com/capstan-dev/capstan/server/internal/options"
)

func (p program) newServe(signals catcher) *cobra.Command {
	cfg := p.cfg
	var logged logFlags
	var link bool
	cmd := &cobra.Command{
		Use:   hangups.Serve,
		Short: "Run a server until it is told to stop",
		Long: `Run a server until SIGTERM or SIGINT, which let requests in flight finish; a second
one stops at once. SIGHUP has it look at the files of certificates and tokens, as it
does every few seconds by itself. Under systemd it says when it is ready, when it
stops and that it lives (Type=notify, WatchdogSec=).

The flags are those of kube-apiserver 1.25, as far as they mean something here. Of
the others, those that would protect, bound or record something are refused, since
whoever sets them relies on them; the rest is named in the log, and so are flags that
need another one.`,
		Version: readBuild().Version,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.WantsEtcd() {
				if err := p.become(withEtcd); err != nil {
					return usageError{fmt.Errorf("--etcd-servers needs a program with etcd's client: %w", err)}
				}
			}
			level := new(slog.LevelVar)
			log, err := logged.logger(cmd.ErrOrStderr(), level)
			if err != nil {
				return usageError{err}
			}
			cfg.Logger, cfg.LogLevel = log, level
			// The package net/http reports other servers' mistakes there, as often as they make one.
			stdlog.SetOutput(slog.NewLogLogger(log.Handler(), slog.LevelDebug).Writer())
			stdlog.SetFlags(0)
			if cfg.KubeconfigFile == "" && !cfg.InMemory {
				cfg.KubeconfigFile = filepath.Join(cfg.DataDir, "admin.kubeconfig")
			}
			if cfg.KubeconfigFile != "" {
				if cfg.KubeconfigFile, err = filepath.Abs(cfg.KubeconfigFile); err != nil {
					return err
				}
			}
			warnings, err := options.Check(cmd.Flags())
			if err := errors.Join(err, cfg.Validate()); err != nil {
				return usageError{err}
			}
			for _, w := range warnings {
				log.Warn(w.Text, "flags", strings.Join(w.Flags, " "))
			}
			return p.serve(cmd.Context(), cfg, shown{cmd.OutOrStdout(), link && !cfg.DisableExplorer},
				asked{stop: signals(os.Interrupt, syscall.SIGTERM), reload: signals(syscall.SIGHUP)})
		},
	}
	cfg.AddFlags(cmd.Flags())
	logged.add(cmd)
	cmd.Flags().BoolVar(&link, "explorer-link", false,
		"print a one-time login link of the explorer when the server is ready, if the standard output is a terminal")
	return cmd
}

// shown is the output of a server for a person.
type shown struct {
	stdout io.Writer
	link   bool // a login link of the explorer too
}

// asked receives the signals that ask a server for something.
type asked struct{ stop, reload <-chan os.Signal }

// errInterrupted is the outcome of a second signal.
var errInterrupted = errors.New("stopped at once by a second signal; requests in flight were cut off")

// serve runs a server until a signal, the end of ctx, or its own end.
func (p program) serve(ctx context.Context, cfg server.Config, show shown, signals asked) error {
	paceGC()
	s, err := server.Start(context.WithoutCancel(ctx), cfg)
	if err != nil {
		return err
	}
	fmt.Fprintf(show.stdout, "%s listens on %s\n", p.name, s.URL())
	if path := s.KubeconfigPath(); path != "" {
		fmt.Fprintf(show.stdout, "export KUBECONFIG=%s\n", shellWord(path))
	}
	if show.link && terminal(show.stdout) {
		go announceExplorer(ctx, s, show.stdout)
	}

	supervisor, err := newSupervisor(os.Getenv)
	if err != nil {
		cfg.Logger.Warn("systemd is not told of this server", "error", err)
	}
	defer supervisor.close()
	if err := watch(ctx, s, cfg.Logger, supervisor, signals); err != nil {
		return err
	}
	supervisor.say("STOPPING=1")
	begin := time.Now()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.ShutdownDelay+cfg.ShutdownTimeout)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(drain) }()
	for {
		select {
		case err := <-stopped:
			cfg.Logger.Info("stopped", "took", time.Since(begin).Round(time.Millisecond))
			return err
		case <-signals.stop:
			return errInterrupted
		}
	}
}

// watch handles signals, the supervisor and other events of a running server. It returns
// when the server is to stop, with an error when it has stopped by itself.
func watch(ctx context.Context, s *server.Server, log *slog.Logger, supervisor *supervisor, signals asked) error {
	ready := s.Bootstrapped()
	for {
		select {
		case <-s.Done():
			if err := s.Shutdown(ctx); err != nil {
				return err
			}
			return errors.New("the server stopped by itself; its log says why")
		case <-ready:
			ready = nil
			supervisor.say("READY=1", "STATUS=serving on "+s.URL())
			supervisor.begin()
		case <-supervisor.due():
			if err := s.Live(); err != nil {
				log.Error("the server does not live; its supervisor is not told that it does", "error", err)
				continue
			}
			supervisor.say("WATCHDOG=1")
		case sig := <-signals.reload:
			log.Info("looking at the files of certificates and tokens", "signal", sig.String())
			if ready != nil { // the supervisor waits for the first READY=1
				s.Reload()
				continue
			}
			supervisor.say("RELOADING=1", supervisor.monotonic())
			s.Reload()
			supervisor.say("READY=1")
		case sig := <-signals.stop:
			log.Info("shutting down; a second signal stops at once", "signal", sig.String())
			return nil
		case <-ctx.Done():
			log.Info("shutting down")
			return nil
		}
	}
}

// logFlags are the flags of the log.
type logFlags struct {
	format, level string
	verbosity     int
}

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "logging-format", "text", "form of the log on stderr: text or json")
	cmd.Flags().StringVar(&f.format, "log-format", "text", "the same as --logging-format")
	cmd.Flags().Lookup("log-format").Hidden = true
	cmd.Flags().StringVar(&f.level, "log-level", "info", "least level that is logged: debug (a line for every request), info, warn or error")
	cmd.Flags().IntVarP(&f.verbosity, "v", "v", 0, "verbosity as a number; 3 and above are --log-level=debug; a PUT of a number to /debug/flags/v changes it")
}

// logger makes the log of the flags, and sets its level, which may change later.
func (f *logFlags) logger(w io.Writer, level *slog.LevelVar) (*slog.Logger, error) {
	if f.verbosity < 0 {
		return nil, fmt.Errorf("--v: %d is no verbosity; use 0 or more", f.verbosity)
	}
	least, err := logging.Level(f.level)
	if err != nil {
		return nil, err
	}
	if f.verbosity >= 3 {
		least = slog.LevelDebug
	}
	level.Set(least)
	return logging.New(w, f.format, level)
}

var plainWord = regexp.MustCompile(`^[-+=:,./_A-Za-z0-9]+$`)

// shellWord quotes a text for a POSIX shell where necessary.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
