package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"
)

// credentials are the flags of commands that ask a running server.
type credentials struct{ dataDir, kubeconfig string }

// add defines the flags. The user is one who may do what the command does.
func (c *credentials) add(flags *pflag.FlagSet, user string) {
	flags.StringVar(&c.dataDir, "data-dir", "./capstan-data", "data directory of the server")
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig of a user who may "+user+" (default <data-dir>/admin.kubeconfig)")
}

// file is the kubeconfig, which has to be there.
func (c *credentials) file() (string, error) {
	name := c.kubeconfig
	if name == "" {
		name = filepath.Join(c.dataDir, "admin.kubeconfig")
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s: no such file; name the data directory of the server (--data-dir), or a kubeconfig (--kubeconfig)", name)
	}
	return name, nil
}
