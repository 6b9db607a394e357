package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/internal/suggest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/hangups"
)

// Main runs the command line of the process and ends it. The configuration is that of the
// servers that it runs, before flags.
func Main(name string, cfg server.Config) { main(program{name, cfg, nil, become}) }

// MainWithEtcd is Main of a program with etcd's client.
func MainWithEtcd(name string, cfg server.Config, etcd Etcd) { main(program{name, cfg, &etcd, become}) }

func main(p program) {
	os.Exit(p.run(context.Background(), os.Args[1:], os.Stdout, os.Stderr, catch))
}

// program is the name of a command line and the configuration of its servers.
type program struct {
	name string
	cfg  server.Config
	etcd *Etcd
	// become replaces the process with another program, if that is there. It returns an error only.
	become func(program string) error
}

// become looks for the program in the folder of this one, and then in PATH.
func become(program string) error {
	path := program
	if own, err := os.Executable(); err == nil {
		path = filepath.Join(filepath.Dir(own), program)
	}
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(program); err != nil {
			return fmt.Errorf("the program %s is neither in the folder of this one nor in PATH: install it", program)
		}
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, os.Args, os.Environ()))
}

// catcher returns a channel of signals of some kinds, in place of their default effect;
// without it they end a command. SIGHUP is never together with others, which it must not
// keep out of the channel.
type catcher func(...os.Signal) <-chan os.Signal

func catch(kinds ...os.Signal) <-chan os.Signal {
	if slices.Contains(kinds, os.Signal(syscall.SIGHUP)) {
		return hangups.Caught()
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, kinds...)
	return signals
}

// usageError is a mistake on the command line, as opposed to one at run time.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Exit codes, the same as those of capstan-gen.
const (
	failed = 1 // or something was found that is not as it should be
	misuse = 2 // the command line is wrong
)

// run executes one command line and returns the exit code: 0, or another one after one line about
// the error on stderr (and a second one about help, when the command line is wrong).
func (p program) run(ctx context.Context, args []string, stdout, stderr io.Writer, signals catcher) int {
	keepPrivate()
	root := p.newRoot(signals)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %s\n", p.name, oneLine(err))
	var usage usageError
	if errors.As(err, &usage) || cmd == root {
		fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		return misuse
	}
	return failed
}

// newRoot builds the tree of commands.
func (p program) newRoot(signals catcher) *cobra.Command {
	root := &cobra.Command{
		Use:   p.name,
		Short: "A cluster control plane's API server",
		Long: `A cluster control plane's API server. 'doctor' looks for what is wrong with one. Messages that people meet, and
what to do, are on https://github.com/capstan-dev/capstan/blob/main/docs/reference/messages.md.`,
		Version:       readBuild().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          commandsOnly,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
				return usageError{err}
			}
			return nil
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{suggest.Flag(cmd.Flags(), err)} })
	root.AddCommand(p.newServe(signals), p.newStore(signals), newKubeconfig(), newToken(signals), newExplorer(signals), newEnvtest(), newEtcdHealth(signals),
		p.newImport(), newDoctor(signals), newStatus(signals), newVersion(p.name))
	return root
}

// noArgs refuses arguments that are not flags.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q: %s takes flags only", args[0], cmd.CommandPath())}
	}
	return nil
}

// commandsOnly refuses arguments of a command that has commands of its own.
func commandsOnly(cmd *cobra.Command, args []string) error {
	if err := suggest.Command(cmd, args); err != nil {
		return usageError{err}
	}
	return nil
}

// oneLine is the text of an error on one line.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}
