package client

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/openapi"
)

// kubeconfig is a file with clusters, users and contexts.
type kubeconfig struct {
	Current  string `json:"current-context"`
	Clusters []struct {
		Name    string  `json:"name"`
		Cluster cluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string `json:"name"`
		User user   `json:"user"`
	} `json:"users"`
	Contexts []struct {
		Name    string `json:"name"`
		Context struct {
			Cluster   string `json:"cluster"`
			User      string `json:"user"`
			Namespace string `json:"namespace"`
		} `json:"context"`
	} `json:"contexts"`
}

type cluster struct {
	Server             string      `json:"server"`
	ServerName         string      `json:"tls-server-name"`
	Insecure           bool        `json:"insecure-skip-tls-verify"`
	CA                 string      `json:"certificate-authority"`
	CAData             []byte      `json:"certificate-authority-data"`
	ProxyURL           string      `json:"proxy-url"`
	DisableCompression bool        `json:"disable-compression"`
	Extensions         []extension `json:"extensions"`
}

type extension struct {
	Name      string          `json:"name"`
	Extension json.RawMessage `json:"extension"`
}

type user struct {
	Certificate     string              `json:"client-certificate"`
	CertificateData []byte              `json:"client-certificate-data"`
	Key             string              `json:"client-key"`
	KeyData         []byte              `json:"client-key-data"`
	Token           string              `json:"token"`
	TokenFile       string              `json:"tokenFile"`
	Username        string              `json:"username"`
	Password        string              `json:"password"`
	As              string              `json:"as"`
	AsUID           string              `json:"as-uid"`
	AsGroups        []string            `json:"as-groups"`
	AsExtra         map[string][]string `json:"as-user-extra"`
	Exec            *Exec               `json:"exec"`
	AuthProvider    json.RawMessage     `json:"auth-provider"`
}

// LoadKubeconfig reads the configuration of a context from a kubeconfig, of the current
// one for "", with the namespace that the context names. Paths in the file are relative to
// its folder. Errors do not show what the file holds, which is secret.
func LoadKubeconfig(path, context string) (c Config, namespace string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, "", err
	}
	if c, namespace, err = parseKubeconfig(text, filepath.Dir(path), context); err != nil {
		return Config{}, "", fmt.Errorf("%s: %w", path, err)
	}
	return c, namespace, nil
}

// ParseKubeconfig is LoadKubeconfig for the text of a kubeconfig. Paths in it are relative to
// the working directory.
func ParseKubeconfig(text []byte, context string) (c Config, namespace string, err error) {
	return parseKubeconfig(text, "", context)
}

func parseKubeconfig(text []byte, dir, context string) (c Config, namespace string, err error) {
	var file kubeconfig
	if err := yaml.Unmarshal(text, &file); err != nil {
		return c, "", errors.New("not a kubeconfig")
	}
	if context == "" {
		context = file.Current
	}
	at, as, namespace, err := file.find(context)
	if err != nil {
		return c, "", err
	}
	if err := at.configure(&c, dir); err != nil {
		return c, "", err
	}
	if err := as.configure(&c, dir); err != nil {
		return c, "", err
	}
	if c.Exec != nil {
		if c.Exec.cluster, err = at.info(&c, dir); err != nil {
			return c, "", err
		}
	}
	return c, namespace, c.Validate()
}

// The variables and the folder that pods have.
const (
	podHost = "KUBERNETES_SERVICE_HOST"
	podPort = "KUBERNETES_SERVICE_PORT"
)

var podSecrets = "/var/run/secrets/" + openapi.LabelDomain() + "/serviceaccount"

// PodConfig is the configuration of a program in a pod: the account of the pod, whose token
// is read again each minute, and its namespace.
func PodConfig() (c Config, namespace string, err error) {
	host, port := os.Getenv(podHost), os.Getenv(podPort)
	if host == "" || port == "" {
		return c, "", fmt.Errorf("%s and %s are not set: the program is not in a pod", podHost, podPort)
	}
	text, err := os.ReadFile(filepath.Join(podSecrets, "namespace"))
	if err != nil {
		return c, "", err
	}
	at := cluster{Server: "https://" + net.JoinHostPort(host, port), CA: "ca.crt"}
	as := user{TokenFile: "token"}
	return c, strings.TrimSpace(string(text)), errors.Join(at.configure(&c, podSecrets), as.configure(&c, podSecrets))
}

// find returns the cluster, the user and the namespace of a context.
func (k *kubeconfig) find(context string) (at *cluster, as *user, namespace string, err error) {
	as = &user{}
	for _, c := range k.Contexts {
		if c.Name != context {
			continue
		}
		for i := range k.Clusters {
			if k.Clusters[i].Name == c.Context.Cluster {
				at = &k.Clusters[i].Cluster
			}
		}
		known := c.Context.User == ""
		for i := range k.Users {
			if k.Users[i].Name == c.Context.User {
				as, known = &k.Users[i].User, true
			}
		}
		if at == nil || !known {
			return nil, nil, "", fmt.Errorf("context %q names a cluster or a user that is missing", context)
		}
		return at, as, c.Context.Namespace, nil
	}
	return nil, nil, "", fmt.Errorf("there is no context %q; name one, or set current-context", context)
}

// below makes a path in the file one of this process.
func below(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// content is data, or else the content of a file.
func content(data []byte, dir, path string) ([]byte, error) {
	if len(data) > 0 || path == "" {
		return data, nil
	}
	return os.ReadFile(below(dir, path))
}

func (at *cluster) configure(c *Config, dir string) error {
	c.Host, c.DisableCompression = at.Server, at.DisableCompression
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: at.ServerName, InsecureSkipVerify: at.Insecure}
	authorities, err := content(at.CAData, dir, at.CA)
	if err != nil {
		return err
	}
	if len(authorities) > 0 {
		if at.Insecure {
			return errors.New("certificate-authority and insecure-skip-tls-verify contradict each other; leave one out")
		}
		c.TLS.RootCAs = x509.NewCertPool()
		if !c.TLS.RootCAs.AppendCertsFromPEM(authorities) {
			return errors.New("certificate-authority: no certificates in PEM")
		}
	}
	if at.ProxyURL != "" {
		proxy, err := url.Parse(at.ProxyURL)
		if err != nil || proxy.Host == "" || proxy.Scheme != "http" && proxy.Scheme != "https" && proxy.Scheme != "socks5" {
			return errors.New("proxy-url: want a URL with the scheme http, https or socks5")
		}
		c.Proxy = http.ProxyURL(proxy)
	}
	return nil
}

func (as *user) configure(c *Config, dir string) error {
	if as.AuthProvider != nil {
		return errors.New("auth-provider is not supported; use exec")
	}
	c.BearerToken, c.Username, c.Password = as.Token, as.Username, as.Password
	c.BearerTokenFile = below(dir, as.TokenFile)
	c.Impersonate = Impersonate{User: as.As, UID: as.AsUID, Groups: as.AsGroups, Extra: as.AsExtra}
	if as.Exec != nil {
		plugin := *as.Exec
		if strings.ContainsRune(plugin.Command, filepath.Separator) {
			plugin.Command = below(dir, plugin.Command)
		}
		c.Exec = &plugin
	}
	if len(as.CertificateData) == 0 && len(as.KeyData) == 0 {
		c.CertificateFile, c.KeyFile = below(dir, as.Certificate), below(dir, as.Key)
		return nil
	}
	certificate, err := content(as.CertificateData, dir, as.Certificate)
	if err != nil {
		return err
	}
	key, err := content(as.KeyData, dir, as.Key)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("client-certificate-data, client-key-data: %w", err)
	}
	c.TLS.Certificates = []tls.Certificate{pair}
	return nil
}

// info describes the cluster to a plug-in that asks for it.
func (at *cluster) info(c *Config, dir string) (*execCluster, error) {
	if !c.Exec.ProvideClusterInfo {
		return nil, nil
	}
	authorities, err := content(at.CAData, dir, at.CA)
	if err != nil {
		return nil, err
	}
	info := &execCluster{Server: at.Server, ServerName: at.ServerName, Insecure: at.Insecure, CAData: authorities, ProxyURL: at.ProxyURL, DisableCompression: at.DisableCompression}
	for _, e := range at.Extensions {
		if e.Name == execExtension {
			info.Config = e.Extension
		}
	}
	return info, nil
}
