package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

func newKubeconfig() *cobra.Command {
	var (
		person                  pki.Person
		config                  pki.Config
		dataDir, output, server string
	)
	cmd := &cobra.Command{
		Use:   "kubeconfig --user NAME [--group GROUP]...",
		Short: "Make a client certificate and the kubeconfig of a person",
		Long: `Make a key and a client certificate for a user, signed by the authority in the data
directory of a server, and write a kubeconfig with them. The server may run meanwhile; it is
not asked, and keeps no record of it. The certificate gives a name and groups, and no rights:
those come from bindings (kubectl create rolebinding). It counts until its end.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := person.Validate(); err != nil {
				return usageError{err}
			}
			config.SetDefaults(dataDir)
			text, end, err := config.PersonKubeconfig(person, server, time.Now())
			if err != nil {
				return err
			}
			if output == "" {
				output = notInNames.ReplaceAllString(person.User, "-") + ".kubeconfig"
			}
			if err := writeNew(output, text); err != nil {
				return err
			}
			for _, warning := range person.Warnings() {
				fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
			}
			groups := "no groups"
			if len(person.Groups) > 0 {
				groups = "the groups " + strings.Join(person.Groups, ", ")
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s: the key and a certificate of the user %s in %s, signed by the authority in %s, until %s\n",
				output, person.User, groups, config.CertDir, end.UTC().Format(time.RFC3339))
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&person.User, "user", "", "name of the user")
	f.StringArrayVar(&person.Groups, "group", nil, "group of the user; may be given several times")
	f.DurationVar(&person.Life, "duration", 365*24*time.Hour, "life of the certificate, at most that of the authority")
	f.BoolVar(&person.Masters, "allow-masters", false, "allow the group system:masters, whose members may do everything")
	f.StringVar(&dataDir, "data-dir", "./capstan-data", "data directory of the server")
	f.StringVar(&config.CertDir, "cert-dir", "", "directory of the authority (default <data-dir>/pki)")
	f.StringVar(&config.KubeconfigFile, "kubeconfig", "", "kubeconfig that names the server (default <data-dir>/admin.kubeconfig)")
	f.StringVar(&server, "server", "", "URL of the server, in place of the one in --kubeconfig")
	f.StringVarP(&output, "output", "o", "", "new file for the kubeconfig (default NAME.kubeconfig)")
	return cmd
}

// notInNames matches the characters that names of files do not get.
var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+|^\.+`)

// writeNew writes a file that only its owner may read. It never replaces one.
func writeNew(path string, data []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; remove it, or name another file with --output", path)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}
