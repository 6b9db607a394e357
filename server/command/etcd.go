package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/server/internal/progress"
	"github.com/capstan-dev/capstan/server/internal/shared"
)

// Etcd has the commands that only a program with etcd's client can perform.
type Etcd struct {
	// Import and Export make the commands that move objects. Errors of their PreRunE are mistakes on the command line.
	Import, Export func() *cobra.Command
	// Check reads all values in etcd, and removes some of those that cannot be read.
	Check func(ctx context.Context, c *shared.Check, meter *progress.Meter, out io.Writer) error
}

// withEtcd is the name of the program with etcd's client.
const withEtcd = "capstan-etcd"

// newImport is the command import. A program without etcd's client starts the other one.
func (p program) newImport() *cobra.Command {
	if p.etcd != nil {
		return checked(p.etcd.Import())
	}
	return p.starting("import", "Make a store of the objects of a kube-apiserver")
}

// newExport is the command export. A program without etcd's client starts the other one.
func (p program) newExport() *cobra.Command {
	if p.etcd != nil {
		return checked(p.etcd.Export())
	}
	return p.starting("export", "Write the objects of a store into etcd, for kube-apiserver")
}

// checked is a command that takes flags only, of which its PreRunE finds mistakes.
func checked(cmd *cobra.Command) *cobra.Command {
	find := cmd.PreRunE
	cmd.Args, cmd.PreRunE = noArgs, func(cmd *cobra.Command, args []string) error {
		if err := find(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
	return cmd
}

// starting is a command that the program with etcd's client has, which is started for it.
func (p program) starting(name, short string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, DisableFlagParsing: true, RunE: func(*cobra.Command, []string) error { return p.become(withEtcd) }}
}

// etcdCheck are the flags of a check of values in etcd.
type etcdCheck struct{ shared.Check }

func (c *etcdCheck) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&c.EtcdServers, "etcd", nil, "check the values in the etcd with these members, in place of a server's store")
	c.AddConnectionFlags(fs)
	fs.StringVar(&c.EncryptionFile, "encryption-provider-config", "", "the configuration of encryption of the servers on the etcd")
	fs.StringSliceVar(&c.EmulatedVersion, "emulated-version", nil, "the release of the servers on the etcd (1.25 if none is named), or one to serve a store in")
	fs.StringArrayVar(&c.Remove, "remove", nil, "remove the value of this key of etcd, which cannot be read")
	for _, flag := range []string{"data-dir", "backup"} {
		cmd.MarkFlagsMutuallyExclusive("etcd", flag)
	}
}

// run checks the values in etcd. It reports whether that was asked for.
func (c *etcdCheck) run(cmd *cobra.Command, p program) (asked bool, err error) {
	switch {
	case len(c.EtcdServers) == 0 && len(c.Remove) > 0:
		return true, usageError{errors.New("--remove is for a key of etcd: give the URLs of its members with --etcd")}
	case len(c.EtcdServers) == 0:
		return false, nil
	case p.etcd == nil:
		return true, usageError{fmt.Errorf("--etcd needs a program with etcd's client: %w", p.become(withEtcd))}
	}
	return true, p.etcd.Check(cmd.Context(), &c.Check, progress.On(cmd.ErrOrStderr()), cmd.OutOrStdout())
}
