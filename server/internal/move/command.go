package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/operate"
)

// etcdFlags say where etcd is, and where the store.
type etcdFlags struct {
	dataDir, encryption       string
	servers                   []string
	prefix                    string
	caFile, certFile, keyFile string
}

func (f *etcdFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.dataDir, "data-dir", "./capstan-data", "data directory of the server")
	fs.StringSliceVar(&f.servers, "etcd", nil, "URLs of the members of etcd")
	fs.StringVar(&f.prefix, "etcd-prefix", "/registry", "beginning of the keys of the cluster in etcd")
	fs.StringVar(&f.caFile, "etcd-cafile", "", "authorities of the certificate of etcd, PEM (default: those of the machine)")
	fs.StringVar(&f.certFile, "etcd-certfile", "", "certificate with which etcd knows its clients, PEM")
	fs.StringVar(&f.keyFile, "etcd-keyfile", "", "private key of --etcd-certfile, PEM")
	fs.StringVar(&f.encryption, "encryption-provider-config", "", "the configuration of encryption of the store in the data directory, and of values in etcd")
}

// config is the configuration of etcd, but for the form of objects.
func (f *etcdFlags) config() (etcd.Config, error) {
	if len(f.servers) == 0 {
		return etcd.Config{}, errors.New("no etcd: give the URLs of its members with --etcd")
	}
	security, err := etcd.Security(f.caFile, f.certFile, f.keyFile)
	return etcd.Config{Endpoints: f.servers, TLS: security, Prefix: f.prefix}, err
}

// Main runs the program, and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "capstan-move: %v\n", err)
		return 1
	}
	return 0
}

func newCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capstan-move",
		Short: "Move a cluster between a server's store and the etcd of a kube-apiserver",
		Long: `Move the objects of a cluster between the store of a server and the etcd of a
kube-apiserver 1.25. The cluster's certificates, and the keys of service account tokens,
are in neither: give them to the new server by its flags, so that clients and tokens stay
valid.`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImport(), newExport())
	return cmd
}

func newImport() *cobra.Command {
	var flags etcdFlags
	var leaveOut bool
	cmd := &cobra.Command{
		Use:   "import --etcd URL",
		Short: "Make a store of what a kube-apiserver keeps in etcd",
		Long: `Make the store of a data directory of the objects that kube-apiserver keeps in etcd, as
of one revision: that of the moment in which the command begins. Names, uids, creation
times, owners and resourceVersions stay, and further resourceVersions follow, so that
watches of clients go on; older ones than that of the import are answered 410, upon
which clients list anew. What is written to etcd later is not imported: stop the
kube-apiservers before, or make them read-only.

etcd is only read, in pages. The new store is compared with etcd by resource, and gets
its name last: an import that was cut off is run again. Values that cannot be read are
named, and end the import unless --leave-out-unreadable is given. Encrypted ones are
among them, unless --encryption-provider-config has their keys (a key management service's
are not used for etcd).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			done, err := flags.importStore(cmd.Context(), leaveOut, func(i Imported) {
				if i.Problem != "" {
					fmt.Fprintln(out, i.Problem)
					return
				}
				writeProgress(out, i.Objects)
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%sthe store in %s has the state of revision %d; %d keys are not objects, %d values were left out\n", numbers(done.Objects),
				operate.StoreDir(flags.dataDir), done.Revision, done.Others, done.LeftOut)
			return nil
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&leaveOut, "leave-out-unreadable", false, "import without the values that cannot be read")
	return cmd
}

func newExport() *cobra.Command {
	var flags etcdFlags
	cmd := &cobra.Command{
		Use:   "export --etcd URL",
		Short: "Write the objects of a store into etcd, for kube-apiserver",
		Long: `Write the objects of a stopped server's store into an etcd that has no key below the
prefix, in the form in which kube-apiserver 1.25 keeps them. Names, uids, creation times,
owners and managed fields stay. The resourceVersions are those of etcd, and may be lower
than those that clients have seen: restart the programs that watch.

What was written is read back and compared. An export that was cut off leaves keys below
the prefix: delete them before it is run again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			done, err := flags.exportStore(cmd.Context(), func(x Exported) { writeProgress(out, x.Objects) })
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%setcd has the objects of %s; its newest revision is %d\n", numbers(done.Objects), operate.StoreDir(flags.dataDir), done.Revision)
			return nil
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

// writeProgress writes the number of objects so far.
func writeProgress(out io.Writer, objects map[string]int64) {
	n := int64(0)
	for _, one := range objects {
		n += one
	}
	fmt.Fprintf(out, "%d objects so far\n", n)
}

// numbers is a table of the numbers of objects.
func numbers(objects map[string]int64) string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for _, resource := range slices.Sorted(maps.Keys(objects)) {
		fmt.Fprintf(table, "%s\t%d\n", resource, objects[resource])
	}
	_ = table.Flush() // into memory
	return text.String()
}
