package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/progress"
)

// storeFlags select the store of a command.
type storeFlags struct {
	dataDir string
	backup  string // a backup instead, for commands that only read
}

func (p program) newStore(signals catcher) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Look after the store of a server",
		Long: `Look after the store of a server, which is in the directory 'store' of its data
directory. The certificates and keys in 'pki' beside it are no part of backups:
copy them too, or clients that trust them will need new ones.`,
		Args: commandsOnly,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.newStoreCheck(), newStoreBackup(), newStoreRestore(), p.newStoreMigrate(signals), newStoreStats(),
		p.newImport(), p.newExport())
	return cmd
}

func (f *storeFlags) add(cmd *cobra.Command, backup bool) {
	cmd.Flags().StringVar(&f.dataDir, "data-dir", "./capstan-data", "data directory of the server")
	if backup {
		cmd.Flags().StringVar(&f.backup, "backup", "", "look at this backup in place of a server's store")
		cmd.MarkFlagsMutuallyExclusive("data-dir", "backup")
	}
}

// dir is the directory that has the store's files.
func (f *storeFlags) dir() string {
	if f.backup != "" {
		return f.backup
	}
	return operate.StoreDir(f.dataDir)
}

// look opens the store read-only for fn.
func (f *storeFlags) look(fn func(*store.Engine) error) error { return f.measured(nil, fn) }

// measured is look for long work, which the meter shows.
func (f *storeFlags) measured(meter *progress.Meter, fn func(*store.Engine) error) (err error) {
	e, err := store.OpenReadOnly(store.Config{Dir: f.dir(), Progress: meter.At})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return fn(e)
}

func (p program) newStoreCheck() *cobra.Command {
	var flags storeFlags
	var etcd etcdCheck
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check the rules that hold inside a store",
		Long: `Read a whole store and print every violation of the rules that hold inside it, one
line each. Nothing is changed. The exit code is 1 when there is a violation: restore
a backup then.

The server must be stopped. To check the data of one that runs, make a backup with
'capstan store backup' and check that: capstan store check --backup DIR

With --emulated-version it also says whether a server of that release would start: not while
there are objects of kinds that came later.

With --etcd the values that servers keep in an etcd are read. Those that cannot be read are
named, with the reason; --remove KEY removes one of them.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked, err := etcd.run(cmd, p); asked {
				return err
			}
			meter := progress.On(cmd.ErrOrStderr())
			err := flags.measured(meter, func(e *store.Engine) error {
				if err := check(cmd.Context(), e, meter, cmd.OutOrStdout()); err != nil || len(etcd.EmulatedVersion) == 0 {
					return err
				}
				cfg := p.cfg
				cfg.EmulatedVersion = etcd.EmulatedVersion
				return server.CheckRelease(cmd.Context(), cfg, e)
			})
			if errors.Is(err, store.ErrLocked) {
				return fmt.Errorf("%w; or check a backup of it: capstan store backup --data-dir %s --to DIR, then capstan store check --backup DIR", err,
					shellWord(flags.dataDir))
			}
			return err
		},
	}
	flags.add(cmd, true)
	etcd.add(cmd)
	return cmd
}

func check(ctx context.Context, e *store.Engine, meter *progress.Meter, out io.Writer) error {
	problems := 0
	err := e.Check(ctx, func(problem string) {
		problems++
		meter.Hide()
		fmt.Fprintln(out, problem)
	})
	meter.Hide()
	if err != nil {
		return err
	}
	if problems > 0 {
		return fmt.Errorf("%d violations; restore a backup", problems)
	}
	fmt.Fprintf(out, "no violations; the newest revision is %d\n", e.Current())
	return nil
}

func newStoreBackup() *cobra.Command {
	var flags storeFlags
	var to string
	cmd := &cobra.Command{
		Use:   "backup --to DIR",
		Short: "Copy the store of a server that runs, or is stopped",
		Long: `Make a consistent copy of a store in a directory that does not exist yet. It holds
every write that was acknowledged before the command began. The directory gets its
name last: one that has it is complete.

A server that runs makes the copy itself, without a pause; the command reaches it
by the socket 'control.sock' in its data directory (mode 0600), so run it as the
server's user. Sorted files are linked where the file system can do that, so that a
backup beside the data takes milliseconds and little space. Such a backup does not
survive the disk: copy the directory elsewhere.

The certificates and keys in the data directory's 'pki' are not part of it.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return usageError{errors.New("no destination: name a directory that does not exist with --to")}
			}
			dir, err := filepath.Abs(to)
			if err != nil {
				return err
			}
			var stats store.Stats
			meter := progress.On(cmd.ErrOrStderr())
			err = flags.measured(meter, func(e *store.Engine) error {
				stats = e.Stats()
				return e.Backup(dir)
			})
			if errors.Is(err, store.ErrLocked) {
				stats, err = operate.Client{DataDir: flags.dataDir}.Backup(cmd.Context(), dir, meter)
			}
			meter.Hide()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s holds the store up to revision %d\n", dir, stats.Current)
			return nil
		},
	}
	flags.add(cmd, false)
	cmd.Flags().StringVar(&to, "to", "", "directory to make; on the machine of the server")
	return cmd
}

// defaultSkip is above the number of writes after a server's last backup: half a year at
// 64 writes a second.
const defaultSkip = 1_000_000_000

func newStoreRestore() *cobra.Command {
	var flags storeFlags
	var from string
	var skip uint64
	cmd := &cobra.Command{
		Use:   "restore --from DIR",
		Short: "Make a store of a backup",
		Long: `Make the store of a data directory of a backup. The backup is read and checked
first and not changed. A store that is there is not touched: move it away before.
The store gets its name last: a restore that was cut off can be run again.

What was written after the backup is lost, but clients may have seen its revisions.
The restored store leaves out the next --skip-revisions of them and forgets its
history, so that no revision means two things: watches that go on from an old
revision are answered 410, upon which clients list anew. With --skip-revisions=0,
right only when nothing was written after the backup, watches resume where they
were.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return usageError{errors.New("no backup: name its directory with --from")}
			}
			meter := progress.On(cmd.ErrOrStderr())
			err := store.Restore(cmd.Context(), store.Config{Dir: flags.dir(), Progress: meter.At}, from, skip)
			meter.Hide()
			if err != nil {
				return err
			}
			return flags.look(func(e *store.Engine) error {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is restored; the next revision is %d\n", flags.dir(), e.Current()+1)
				return nil
			})
		},
	}
	flags.add(cmd, false)
	cmd.Flags().StringVar(&from, "from", "", "directory of the backup")
	cmd.Flags().Uint64Var(&skip, "skip-revisions", defaultSkip, "revisions to leave out: more than were written after the backup")
	return cmd
}

func newStoreStats() *cobra.Command {
	var flags storeFlags
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show the figures of a store",
		Long: `Show the figures of a store. A server that runs is asked, by the socket
'control.sock' in its data directory; the store of one that is stopped is opened
read-only.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.check(); err != nil {
				return err
			}
			var stats store.Stats
			err := flags.look(func(e *store.Engine) error { stats = e.Stats(); return nil })
			if errors.Is(err, store.ErrLocked) && flags.backup == "" {
				stats, err = operate.Client{DataDir: flags.dataDir}.Stats(cmd.Context())
			}
			if err != nil {
				return err
			}
			if output.json() {
				return writeJSON(cmd.OutOrStdout(), stats)
			}
			return writeStats(cmd.OutOrStdout(), stats)
		},
	}
	flags.add(cmd, true)
	output.add(cmd.Flags(), "json, or nothing for lines of text")
	return cmd
}

func writeStats(out io.Writer, s store.Stats) error {
	health := s.Unhealthy
	if health == "" {
		health = "healthy"
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, line := range []struct {
		name  string
		value any
	}{
		{"store", s.ID},
		{"state", health},
		{"newest revision", s.Current},
		{"oldest readable revision", s.Oldest},
		{"bytes on disk", s.DiskBytes},
		{"  of these in the log", s.LogBytes},
		{"bytes set aside for a full disk", s.ReserveBytes},
		{"bytes of memory tables", s.MemTableBytes},
		{"bytes of cached blocks", s.CacheBytes},
		{"reads of cached blocks", s.CacheHits},
		{"reads of other blocks", s.CacheMisses},
		{"flushes", s.Flushes},
		{"compactions", s.Compactions},
		{"sorted runs per read", s.ReadAmp},
		{"open views", s.OpenReaders},
	} {
		fmt.Fprintf(w, "%s\t%v\n", line.name, line.value)
	}
	return w.Flush()
}
