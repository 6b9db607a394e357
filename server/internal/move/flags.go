package move

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/etcdstore"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/shared"
)

// etcdFlags say where etcd is, and where the store.
type etcdFlags struct {
	dataDir, encryption string
	release             options.Config
	etcd                shared.Settings
}

// add defines the flags. members is the name of the one for the members of etcd.
func (f *etcdFlags) add(fs *pflag.FlagSet, members string) {
	fs.StringVar(&f.dataDir, "data-dir", "./capstan-data", "data directory of the server")
	fs.StringSliceVar(&f.etcd.EtcdServers, members, nil, "URLs of the members of etcd")
	f.etcd.AddConnectionFlags(fs)
	fs.StringSliceVar(&f.release.EmulatedVersion, "emulated-version", nil, "the release whose built-in kinds are moved, as the server has it (1.25 if none is named)")
	fs.StringVar(&f.encryption, "encryption-provider-config", "", "the configuration of encryption of the store in the data directory, and of values in etcd")
}

// configOf is the configuration of etcd by settings that have only what flags gave them.
func configOf(s *shared.Settings, rows *catalog.Catalog, cipher *encryption.Cipher) (etcd.Config, error) {
	s.SetDefaults()
	if err := s.Validate(); err != nil {
		return etcd.Config{}, err
	}
	return etcdstore.Connection(s, rows, cipher)
}

// serverFlags say where a running server is, and who the client.
type serverFlags struct {
	url                         string
	kubeconfig, context         string
	tokenFile                   string
	certificate, key, authority string
}

func (f *serverFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.url, "from-server", "", "URL of the running server to read from (default: that of --kubeconfig)")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "client configuration with the server and the credentials of an administrator")
	fs.StringVar(&f.context, "context", "", "context of --kubeconfig (default: the current one)")
	fs.StringVar(&f.tokenFile, "token-file", "", "file with the token of an administrator")
	fs.StringVar(&f.certificate, "client-certificate", "", "certificate of an administrator, PEM")
	fs.StringVar(&f.key, "client-key", "", "private key of --client-certificate, PEM")
	fs.StringVar(&f.authority, "certificate-authority", "", "authorities of the certificate of the server, PEM (default: those of the machine)")
}

// given reports whether a server was named.
func (f *serverFlags) given() bool { return f.url != "" || f.kubeconfig != "" }

// validate finds flags that contradict each other.
func (f *serverFlags) validate() error {
	byFlags := f.tokenFile != "" || f.certificate != "" || f.key != "" || f.authority != ""
	switch {
	case f.kubeconfig != "" && byFlags:
		return errors.New("--kubeconfig has the credentials and the authority: leave out --token-file, --client-certificate, --client-key and --certificate-authority")
	case f.kubeconfig == "" && f.context != "":
		return errors.New("--context is one of a --kubeconfig: give that too")
	}
	return nil
}

// config is the configuration of the client.
func (f *serverFlags) config() (c client.Config, err error) {
	if f.kubeconfig != "" {
		if c, _, err = client.LoadKubeconfig(f.kubeconfig, f.context); f.url != "" {
			c.Host = f.url
		}
		return c, err
	}
	c = client.Config{Host: f.url, BearerTokenFile: f.tokenFile, CertificateFile: f.certificate, KeyFile: f.key}
	if f.authority == "" {
		return c, nil
	}
	text, err := os.ReadFile(f.authority)
	if err != nil {
		return c, fmt.Errorf("--certificate-authority: %w", err)
	}
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	if !c.TLS.RootCAs.AppendCertsFromPEM(text) {
		return c, fmt.Errorf("--certificate-authority: %s has no certificates in PEM", f.authority)
	}
	return c, nil
}

// importFlags are those of an import.
type importFlags struct {
	etcdFlags
	server           serverFlags
	leaveOut, strict bool
}

// validate finds a source that is missing, and flags that contradict each other.
func (f *importFlags) validate() error {
	switch {
	case f.server.given() && len(f.etcd.EtcdServers) > 0:
		return errors.New("two sources: give --from-etcd, or --from-server or --kubeconfig")
	case !f.server.given() && len(f.etcd.EtcdServers) == 0:
		return errors.New("no source: give the URLs of the members of etcd with --from-etcd, or a running server with --from-server")
	}
	return f.server.validate()
}

func (f *importFlags) add(fs *pflag.FlagSet) {
	f.etcdFlags.add(fs, "from-etcd")
	f.server.add(fs)
	fs.BoolVar(&f.leaveOut, "leave-out-unreadable", false, "import without the values and resources that cannot be read")
	fs.BoolVar(&f.strict, "strict", false, "refuse the objects of a server that changed during the import")
}
