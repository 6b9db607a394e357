package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Credentials are those of this server for a webhook.
type Credentials struct {
	Certificate        *tls.Certificate // nil for none
	Token              string           // a bearer token
	Username, Password string           // for basic authentication (RFC 7617)
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
}

// ReadKubeconfig reads the place of a webhook, and the credentials for it, from a client
// configuration: those of its current context. Paths in it are relative to its folder.
func ReadKubeconfig(path string) (Target, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Target{}, err
	}
	var config kubeconfig
	if err := yaml.Unmarshal(text, &config); err != nil {
		return Target{}, fmt.Errorf("%s: not a client configuration", path) // the text may hold secrets
	}
	target, err := config.target(func(name string, data []byte) ([]byte, error) {
		if len(data) > 0 || name == "" {
			return data, nil
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return os.ReadFile(name)
	})
	if err != nil {
		return Target{}, fmt.Errorf("%s: %w", path, err)
	}
	return target, nil
}

// target is the webhook of the current context; read returns data, or the content of a
// file.
func (k *kubeconfig) target(read func(name string, data []byte) ([]byte, error)) (t Target, err error) {
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
	t = Target{URL: at.Server, ServerName: at.ServerName, Insecure: at.Insecure}
	if t.CABundle, err = read(at.CA, at.CAData); err != nil {
		return t, err
	}
	if t.Credentials, err = as.credentials(read); err != nil {
		return t, err
	}
	_, err = t.address()
	return t, err
}

func (l *login) credentials(read func(name string, data []byte) ([]byte, error)) (*Credentials, error) {
	c := &Credentials{Token: l.Token, Username: l.Username, Password: l.Password}
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
