package move

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/progress"
)

// NewImport makes the command that makes a store of the objects of a kube-apiserver. An error of its PreRunE is one of
// the command line.
func NewImport() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import {--from-etcd URL | --from-server URL}",
		Short: "Make a store of the objects of a kube-apiserver",
		Long: `Make the store of a data directory of the objects of a cluster. Names, uids, creation
times, owners and resourceVersions stay, and further resourceVersions follow, so that
watches of clients go on; older ones than that of the import are answered 410, upon
which clients list anew. What is written later is not imported: stop what writes
before. The cluster's certificates, and the keys of service account tokens, are not among
the objects: give them to the new server by its flags, so that clients and tokens stay
valid. The new store is compared with the source by resource, and gets its name last:
an import that was cut off is run again. Values that cannot be read are named, and end
the import unless --leave-out-unreadable is given.

From etcd (--from-etcd) the objects are those of one revision: that of the moment in which
the command begins. etcd is only read, in pages. Encrypted values cannot be read,
unless --encryption-provider-config has their keys, or the key management service of them.

From a running server (--from-server), a kube-apiserver 1.25 to 1.36 or this one, each
resource is read in pages of one state, through the API, as an administrator. Resources
that this server does not have, and those of extension servers, are named and left out.
What changes during the import is named, and is an error with --strict.

The new store is for the release of --emulated-version, or 1.25: kinds and fields that the
release lacks are left out. Give the release that the new server is to serve.`,
		PreRunE: func(*cobra.Command, []string) error { return flags.validate() },
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, meter := cmd.OutOrStdout(), progress.On(cmd.ErrOrStderr())
			done, err := flags.importStore(cmd.Context(), meter, func(problem string) {
				meter.Hide()
				fmt.Fprintln(out, problem)
			})
			meter.Hide()
			if err != nil {
				return err
			}
			fmt.Fprint(out, numbers(done.Objects))
			for _, note := range done.Notes {
				fmt.Fprintln(out, note)
			}
			others := ""
			if !flags.server.given() {
				others = fmt.Sprintf("%d keys are not objects, ", done.Others)
			}
			fmt.Fprintf(out, "the store in %s has the state of revision %d; %s%d values were left out\n",
				operate.StoreDir(flags.dataDir), done.Revision, others, done.LeftOut)
			return nil
		},
	}
	flags.add(cmd.Flags())
	return cmd
}

// NewExport makes the command that writes the objects of a store into etcd. An error of its PreRunE is one of the command
// line.
func NewExport() *cobra.Command {
	var (
		flags etcdFlags
		anew  bool
	)
	cmd := &cobra.Command{
		Use:   "export --to-etcd URL",
		Short: "Write the objects of a store into etcd, for kube-apiserver",
		Long: `Write the objects of a stopped server's store into an etcd that has no other key below the
prefix, in the form in which kube-apiserver of the same release keeps them. Names, uids, creation times,
owners and managed fields stay. The resourceVersions are those of etcd, and higher than those
that clients have seen, so that programs which watch go on by themselves: for this etcd gets
as many small writes as its revision is behind, some thousand a second, and forgets its
history. With --revisions-anew it does not: restart the programs that watch then.

The release is 1.25, or the one of --emulated-version: give the one that the server has. Kinds
and fields that the release lacks are left out; the kinds are named.

What was written is read back and compared. An export that was cut off goes on where it is
run again, unless the objects have changed meanwhile: delete the keys below the prefix then.`,
		PreRunE: func(*cobra.Command, []string) error {
			if len(flags.etcd.EtcdServers) == 0 {
				return errors.New("no etcd: give the URLs of its members with --to-etcd")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			out, meter := cmd.OutOrStdout(), progress.On(cmd.ErrOrStderr())
			done, err := flags.exportStore(cmd.Context(), anew, meter)
			meter.Hide()
			if err != nil {
				return err
			}
			for _, resource := range slices.Sorted(maps.Keys(done.LeftOut)) {
				fmt.Fprintf(out, "%s is left out, with %d objects: the release does not have it; name that of the server with --emulated-version\n",
					resource, done.LeftOut[resource])
			}
			fmt.Fprintf(out, "%setcd has the objects of %s; its newest revision is %d\n", numbers(done.Objects), operate.StoreDir(flags.dataDir), done.Revision)
			return nil
		},
	}
	flags.add(cmd.Flags(), "to-etcd")
	cmd.Flags().BoolVar(&anew, "revisions-anew", false, "let resourceVersions be those of etcd as it is, which may be lower than those that clients have seen")
	return cmd
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
