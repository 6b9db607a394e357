package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/operate"
)

// importFlags are the flags of an import.
type importFlags struct {
	dataDir, encryption       string
	servers                   []string
	prefix                    string
	caFile, certFile, keyFile string
	leaveOut                  bool
}

func (p program) newStoreImport(signals catcher) *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import --from-etcd URL",
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
among them: have kube-apiserver write them without encryption before.

The cluster's certificates, and the keys of service account tokens, are not in etcd:
give them to the new server by its flags, so that clients and tokens stay valid.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(flags.servers) == 0 {
				return usageError{errors.New("no etcd: give the URLs of its members with --from-etcd")}
			}
			ctx, stop := until(cmd.Context(), signals(os.Interrupt, syscall.SIGTERM))
			defer stop()
			return p.importStore(ctx, &flags, cmd.OutOrStdout())
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&flags.dataDir, "data-dir", "./capstan-data", "data directory of the server to be")
	fs.StringSliceVar(&flags.servers, "from-etcd", nil, "URLs of the members of etcd")
	fs.StringVar(&flags.prefix, "etcd-prefix", "/registry", "beginning of the keys of the cluster in etcd")
	fs.StringVar(&flags.caFile, "etcd-cafile", "", "authorities of the certificate of etcd, PEM (default: those of the machine)")
	fs.StringVar(&flags.certFile, "etcd-certfile", "", "certificate with which etcd knows its clients, PEM")
	fs.StringVar(&flags.keyFile, "etcd-keyfile", "", "private key of --etcd-certfile, PEM")
	fs.StringVar(&flags.encryption, "encryption-provider-config", "", "the configuration of encryption of the new store")
	fs.BoolVar(&flags.leaveOut, "leave-out-unreadable", false, "import without the values that cannot be read")
	return cmd
}

func (p program) importStore(ctx context.Context, flags *importFlags, out io.Writer) error {
	security, err := flags.tls()
	if err != nil {
		return err
	}
	cfg := p.cfg
	cfg.DataDir, cfg.EncryptionConfigFile = flags.dataDir, flags.encryption
	from := etcd.Config{Endpoints: flags.servers, TLS: security, Prefix: flags.prefix}
	done, err := server.ImportStore(ctx, cfg, from, flags.leaveOut, func(i operate.Imported) {
		if i.Problem != "" {
			fmt.Fprintln(out, i.Problem)
			return
		}
		n := int64(0)
		for _, one := range i.Objects {
			n += one
		}
		fmt.Fprintf(out, "%d objects so far\n", n)
	})
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, resource := range slices.Sorted(maps.Keys(done.Objects)) {
		fmt.Fprintf(table, "%s\t%d\n", resource, done.Objects[resource])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "the store in %s has the state of revision %d; %d keys are not objects, %d values were left out\n",
		operate.StoreDir(flags.dataDir), done.Revision, done.Others, done.LeftOut)
	return nil
}

// tls is the configuration of connections to etcd; nil for plain ones.
func (f *importFlags) tls() (*tls.Config, error) {
	if f.caFile == "" && f.certFile == "" && f.keyFile == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.caFile != "" {
		text, err := os.ReadFile(f.caFile)
		if err != nil {
			return nil, fmt.Errorf("--etcd-cafile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--etcd-cafile: %s has no certificate in PEM", f.caFile)
		}
	}
	if f.certFile != "" || f.keyFile != "" {
		pair, err := tls.LoadX509KeyPair(f.certFile, f.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--etcd-certfile, --etcd-keyfile: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
