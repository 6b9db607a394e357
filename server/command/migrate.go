package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/progress"
)

func (p program) newStoreMigrate(signals catcher) *cobra.Command {
	var flags storeFlags
	var cfg server.Config
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Rewrite objects that an older release stored in another version or form",
		Long: `Rewrite every object that is stored in another version of its kind, or in another
form, than this release would store it in. Run it after an upgrade; the server reads
such objects until then too, only slower. Clients see a rewritten object as modified
once, with a new resourceVersion. The others are not touched.

A server that runs does it itself, beside its requests; the command reaches it by
the socket 'control.sock' in its data directory. The store of one that is stopped is
opened here. How far it has come is kept in the store: a migration that was cut off
goes on from there when the command is run again.

The exit code is 1 when there are objects that cannot be rewritten. Each is named.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := until(cmd.Context(), signals(os.Interrupt, syscall.SIGTERM))
			defer stop()
			meter := progress.On(cmd.ErrOrStderr())
			defer meter.Hide()
			return p.migrate(ctx, flags.dataDir, &cfg, meter, cmd.OutOrStdout())
		},
	}
	flags.add(cmd, false)
	cmd.Flags().StringSliceVar(&cfg.EmulatedVersion, "emulated-version", nil, "the releases that the server serves, if it has the flag and is stopped")
	cmd.Flags().StringVar(&cfg.EncryptionConfigFile, "encryption-provider-config", "", "the server's configuration of encryption, if it has one and is stopped")
	return cmd
}

func (p program) migrate(ctx context.Context, dataDir string, flags *server.Config, meter *progress.Meter, out io.Writer) error {
	var last operate.Step
	report := func(s operate.Step) {
		switch {
		case s.Problem != "":
			meter.Hide()
			fmt.Fprintln(out, s.Problem)
		case s.Resumed:
			fmt.Fprintf(out, "going on after %s: %d objects were looked at, %d of them rewritten\n", s.After, s.Looked, s.Rewritten)
		}
		s.Show(meter)
		last = s
	}
	cfg := p.cfg
	cfg.DataDir, cfg.EncryptionConfigFile, cfg.EmulatedVersion = dataDir, flags.EncryptionConfigFile, flags.EmulatedVersion
	err := server.MigrateStore(ctx, cfg, report)
	if errors.Is(err, store.ErrLocked) {
		err = operate.Client{DataDir: dataDir}.Migrate(ctx, report)
	}
	meter.Hide()
	if err != nil {
		return err
	}
	if last.Failed > 0 {
		return fmt.Errorf("%d of %d objects could not be rewritten; %d were", last.Failed, last.Looked, last.Rewritten)
	}
	fmt.Fprintf(out, "%d objects are as this release stores them; %d of them were rewritten\n", last.Looked, last.Rewritten)
	return nil
}

// until is a context that ends with the next signal.
func until(ctx context.Context, signals <-chan os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
