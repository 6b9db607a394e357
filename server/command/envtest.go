package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/internal/gen/releases"
)

// newEnvtest writes the programs that controller-runtime's envtest looks for in
// KUBEBUILDER_ASSETS.
func newEnvtest() *cobra.Command {
	var release string
	cmd := &cobra.Command{
		Use:   "envtest DIR",
		Short: "Write the programs that controller-runtime's envtest starts",
		Long: `Write the scripts kube-apiserver and etcd into a directory, so that suites of
controller-runtime's envtest run against this program: set KUBEBUILDER_ASSETS to the
directory. Each environment is a server in memory, without controllers, as with envtest's
own programs. Nothing is kept in etcd, which only answers that it is healthy.`,
		Example: "  capstan envtest ./assets && KUBEBUILDER_ASSETS=$PWD/assets go test ./...",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("%d arguments: %s takes one, the directory", len(args), cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			self, err := os.Executable()
			if err != nil {
				return err
			}
			serve := "serve --in-memory '--controllers=-*'"
			if release != "" {
				if err := releases.History().Check(release); err != nil {
					return usageError{fmt.Errorf("--version: %w", err)}
				}
				serve += " --emulated-version " + release
			}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for name, arguments := range map[string]string{"kube-apiserver": serve, "etcd": etcdHealth} {
				script := fmt.Appendf(nil, "#!/bin/sh\nexec '%s' %s \"$@\"\n", strings.ReplaceAll(self, "'", `'\''`), arguments)
				if err := writeScript(filepath.Join(args[0], name), script); err != nil {
					return err
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote kube-apiserver and etcd into %s\n", args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&release, "version", "", "the release of the built-in kinds, 1.25 to 1.36; 1.25 if none is named")
	return cmd
}

// writeScript writes a program. It replaces no other one.
func writeScript(path string, script []byte) error {
	switch have, err := os.ReadFile(path); {
	case err == nil && bytes.Equal(have, script):
		return nil
	case err == nil:
		return fmt.Errorf("%s is another program; remove it, or name another directory", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return os.WriteFile(path, script, 0o755)
}

// etcdHealth is the command that stands in for etcd, of which envtest asks for the health.
const etcdHealth = "etcd-health"

func newEtcdHealth(signals catcher) *cobra.Command {
	var addresses []string
	cmd := &cobra.Command{
		Use:                etcdHealth,
		Short:              "Answer that etcd is healthy, until SIGTERM or SIGINT",
		Hidden:             true,
		Args:               noArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // those of etcd
		RunE: func(cmd *cobra.Command, _ []string) error {
			stop := signals(syscall.SIGTERM, syscall.SIGINT)
			health := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, `{"health":"true"}`)
			})}
			failed := make(chan error, len(addresses))
			for _, text := range addresses {
				address, err := url.Parse(text)
				if err != nil {
					return usageError{err}
				}
				listener, err := net.Listen("tcp", address.Host)
				if err != nil {
					return errors.Join(err, health.Close())
				}
				go func() { failed <- health.Serve(listener) }()
			}
			select {
			case err := <-failed:
				return err
			case <-stop:
				return health.Close()
			}
		},
	}
	cmd.Flags().StringSliceVar(&addresses, "listen-client-urls", []string{"http://127.0.0.1:2379"}, "where to answer")
	return cmd
}
