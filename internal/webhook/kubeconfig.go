package webhook

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/kubeconfig"
)

// Credentials are those of this server for a webhook.
type Credentials struct {
	Certificate        *tls.Certificate // nil for none
	Token              string           // a bearer token
	Username, Password string           // for basic authentication (RFC 7617)

	exec *client.Exec // makes credentials, unless there are others; nil for none
}

// byProgram reports whether a program makes the credentials: others go before it.
func (c *Credentials) byProgram() bool {
	return c != nil && c.exec != nil && c.Token == "" && c.Username == "" && c.Certificate == nil
}

// add adds the credentials to a request.
func (c *Credentials) add(r *http.Request) {
	switch {
	case c == nil:
	case c.Token != "":
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(c.Token))
	case c.Username != "":
		r.SetBasicAuth(c.Username, c.Password)
	}
}

type (
	config = kubeconfig.File[client.Exec]
	login  = kubeconfig.User[client.Exec]
)

// ReadKubeconfig reads the place of a webhook, and the credentials for it, from a client
// configuration: those of its current context. Paths in it are relative to its folder.
func ReadKubeconfig(path string) (Target, error) { return readTarget(path, false) }

// Open makes a client of the webhook that a client configuration names; it does not connect.
func Open(path string) (*Client, error) {
	target, err := ReadKubeconfig(path)
	if err != nil {
		return nil, err
	}
	return New(target, nil)
}

// ReadReceiver is ReadKubeconfig for a receiver of records, which may also be called over
// HTTP without TLS.
func ReadReceiver(path string) (Target, error) { return readTarget(path, true) }

func readTarget(path string, plain bool) (t Target, err error) {
	err = readConfig(path, func(file *config, dir kubeconfig.Folder) error {
		t, err = target(file, plain, dir)
		return err
	})
	if err == nil && t.Credentials.byProgram() { // which may ask for a description of the server
		var config client.Config
		if config, _, err = client.LoadKubeconfig(path, ""); err == nil {
			t.Credentials.exec = config.Exec
		}
	}
	return t, err
}

// readConfig passes a client configuration on, with the folder of its paths.
func readConfig(path string, use func(*config, kubeconfig.Folder) error) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dir := kubeconfig.Folder(filepath.Dir(path))
	file, err := kubeconfig.Parse[client.Exec](text)
	if err == nil {
		for _, u := range file.Users {
			if e := u.User.Exec; e != nil && strings.ContainsRune(e.Command, filepath.Separator) {
				e.Command = dir.Path(e.Command)
			}
		}
		err = use(file, dir)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Logins are credentials by the names of servers: "host:port", "host" for port 443,
// "*.domain" and "*". A nil one has none.
type Logins struct {
	byServer map[string]*Credentials
	usual    *Credentials // of servers without others
}

// ReadLogins reads credentials from a client configuration, whose users have the names of
// servers. That of the current context is the usual one.
func ReadLogins(path string) (*Logins, error) {
	l := &Logins{byServer: map[string]*Credentials{}}
	return l, readConfig(path, func(file *config, dir kubeconfig.Folder) (err error) {
		for i := range file.Users {
			u := &file.Users[i]
			if l.byServer[u.Name], err = credentials(&u.User, dir); err != nil {
				return fmt.Errorf("user %q: %w", u.Name, err)
			}
		}
		if in, _, _ := file.Find(file.Current); in != nil {
			l.usual = l.byServer[in.User]
		}
		if all := l.byServer["*"]; all != nil {
			l.usual = all
		}
		return nil
	})
}

// Of returns the credentials for the server of a target, nil for none.
func (l *Logins) Of(t Target) *Credentials {
	at, err := t.address()
	if l == nil || err != nil {
		return nil
	}
	port := cmp.Or(at.Port(), "443")
	servers := []string{net.JoinHostPort(at.Hostname(), port)}
	if port == "443" {
		servers = append(servers, at.Hostname())
	}
	for _, server := range servers {
		for name := server; ; name = "*." + server {
			if as := l.byServer[name]; as != nil {
				return as
			}
			var more bool
			if _, server, more = strings.Cut(server, "."); !more {
				break
			}
		}
	}
	return l.usual
}

// target is the webhook of the current context.
func target(file *config, plain bool, dir kubeconfig.Folder) (t Target, err error) {
	_, at, as := file.Find(file.Current)
	if as == nil {
		as = &login{}
	}
	if at == nil || at.Server == "" {
		return t, errors.New("current-context names no cluster with a server")
	}
	t = Target{URL: at.Server, Plain: plain, ServerName: at.ServerName, Insecure: at.Insecure}
	if t.CABundle, err = dir.Content(at.CAData, at.CA); err != nil {
		return t, err
	}
	if t.Credentials, err = credentials(as, dir); err != nil {
		return t, err
	}
	_, err = t.address()
	return t, err
}

// credentials reads those of a user.
func credentials(l *login, dir kubeconfig.Folder) (*Credentials, error) {
	if l.AuthProvider != nil {
		return nil, errors.New("auth-provider is not supported; use exec")
	}
	if l.Exec != nil {
		if err := l.Exec.Validate(); err != nil {
			return nil, err
		}
	}
	c := &Credentials{Token: l.Token, Username: l.Username, Password: l.Password, exec: l.Exec}
	certificate, err := dir.Content(l.CertificateData, l.Certificate)
	if err != nil {
		return nil, err
	}
	key, err := dir.Content(l.KeyData, l.Key)
	if err != nil {
		return nil, err
	}
	if len(certificate) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		c.Certificate = &pair
	}
	if c.Token == "" {
		token, err := dir.Content(nil, l.TokenFile)
		if err != nil {
			return nil, err
		}
		c.Token = string(token)
	}
	return c, nil
}
