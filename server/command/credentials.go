package command

import (
	"path/filepath"

	"github.com/spf13/pflag"
)

// credentials are the flags of commands that ask a running server.
type credentials struct{ dataDir, kubeconfig string }

// add defines the flags. The user is one who may do what the command does.
func (c *credentials) add(fs *pflag.FlagSet, user string) {
	fs.StringVar(&c.dataDir, "data-dir", "./capstan-data", "data directory of the server")
	fs.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig of a user who may "+user+" (default <data-dir>/admin.kubeconfig)")
}

// file is the kubeconfig.
func (c *credentials) file() string {
	if c.kubeconfig != "" {
		return c.kubeconfig
	}
	return filepath.Join(c.dataDir, "admin.kubeconfig")
}
