package webhook

import (
	"cmp"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/yaml"
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

// kubeconfig is the part of a client configuration that names one server.
type kubeconfig struct {
	Current  string `json:"current-context"`
	Clusters []struct {
		Name    string  `json:"name"`
		Cluster cluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User login  `json:"user"`
	} `json:"users"`
	Contexts []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster string `json:"cluster"`
			User    string `json:"user"`
		} `json:"context"`
	} `json:"contexts"`
}

type cluster struct {
	Server     string `json:"server"`
	CA         string `json:"certificate-authority"`
	CAData     []byte `json:"certificate-authority-data"`
	Insecure   bool   `json:"insecure-skip-tls-verify"`
	ServerName string `json:"tls-server-name"`
}

type login struct {
	Certificate     string `json:"client-certificate"`
	CertificateData []byte `json:"client-certificate-data"`
	Key             string `json:"client-key"`
	KeyData         []byte `json:"client-key-data"`
	Token           string `json:"token"`
	TokenFile       string `json:"tokenFile"`
	Username        string `json:"username"`
	Password        string `json:"password"`

	Exec         *client.Exec    `json:"exec"`
	AuthProvider json.RawMessage `json:"auth-provider"`
}

// ReadKubeconfig reads the place of a webhook, and the credentials for it, from a client
// configuration: those of its current context. Paths in it are relative to its folder.
func ReadKubeconfig(path string) (Target, error) { return readTarget(path, false) }

// ReadReceiver is ReadKubeconfig for a receiver of records, which may also be called over
// HTTP without TLS.
func ReadReceiver(path string) (Target, error) { return readTarget(path, true) }

func readTarget(path string, plain bool) (t Target, err error) {
	err = readConfig(path, func(config *kubeconfig, read reader) error {
		t, err = config.target(plain, read)
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

// reader returns data, or the content of a file.
type reader func(name string, data []byte) ([]byte, error)

func readConfig(path string, use func(config *kubeconfig, read reader) error) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var config kubeconfig
	if err := yaml.Unmarshal(text, &config); err != nil {
		return fmt.Errorf("%s: not a client configuration", path) // the text may hold secrets
	}
	for _, u := range config.Users {
		if e := u.User.Exec; e != nil && strings.ContainsRune(e.Command, filepath.Separator) && !filepath.IsAbs(e.Command) {
			e.Command = filepath.Join(filepath.Dir(path), e.Command)
		}
	}
	err = use(&config, func(name string, data []byte) ([]byte, error) {
		if len(data) > 0 || name == "" {
			return data, nil
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return os.ReadFile(name)
	})
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
	return l, readConfig(path, func(config *kubeconfig, read reader) (err error) {
		for i := range config.Users {
			if l.byServer[config.Users[i].Name], err = config.Users[i].User.credentials(read); err != nil {
				return fmt.Errorf("user %q: %w", config.Users[i].Name, err)
			}
		}
		for _, c := range config.Contexts {
			if c.Name == config.Current {
				l.usual = l.byServer[c.Context.User]
			}
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
func (k *kubeconfig) target(plain bool, read reader) (t Target, err error) {
	var at *cluster
	var as login
	for _, c := range k.Contexts {
		if c.Name != k.Current {
			continue
		}
		for i := range k.Clusters {
			if k.Clusters[i].Name == c.Context.Cluster {
				at = &k.Clusters[i].Cluster
			}
		}
		for i := range k.Users {
			if k.Users[i].Name == c.Context.User {
				as = k.Users[i].User
			}
		}
	}
	if at == nil || at.Server == "" {
		return t, errors.New("current-context names no cluster with a server")
	}
	t = Target{URL: at.Server, Plain: plain, ServerName: at.ServerName, Insecure: at.Insecure}
	if t.CABundle, err = read(at.CA, at.CAData); err != nil {
		return t, err
	}
	if t.Credentials, err = as.credentials(read); err != nil {
		return t, err
	}
	_, err = t.address()
	return t, err
}

func (l *login) credentials(read reader) (*Credentials, error) {
	if l.AuthProvider != nil {
		return nil, errors.New("auth-provider is not supported; use exec")
	}
	if l.Exec != nil {
		if err := l.Exec.Validate(); err != nil {
			return nil, err
		}
	}
	c := &Credentials{Token: l.Token, Username: l.Username, Password: l.Password, exec: l.Exec}
	certificate, err := read(l.Certificate, l.CertificateData)
	if err != nil {
		return nil, err
	}
	key, err := read(l.Key, l.KeyData)
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
		token, err := read(l.TokenFile, nil)
		if err != nil {
			return nil, err
		}
		c.Token = string(token)
	}
	return c, nil
}
