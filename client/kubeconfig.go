package client

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/capstan-dev/capstan/internal/kubeconfig"
	"github.com/capstan-dev/capstan/openapi"
)

type user = kubeconfig.User[Exec]

// LoadKubeconfig reads the configuration of a context from a kubeconfig, of the current
// one for "", with the namespace that the context names. Paths in the file are relative to
// its folder. Errors do not show what the file holds, which is secret.
func LoadKubeconfig(path, context string) (c Config, namespace string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, "", err
	}
	if c, namespace, err = parseKubeconfig(text, kubeconfig.Folder(filepath.Dir(path)), context); err != nil {
		return Config{}, "", fmt.Errorf("%s: %w", path, err)
	}
	return c, namespace, nil
}

// ParseKubeconfig is LoadKubeconfig for the text of a kubeconfig. Paths in it are relative to
// the working directory.
func ParseKubeconfig(text []byte, context string) (c Config, namespace string, err error) {
	return parseKubeconfig(text, "", context)
}

func parseKubeconfig(text []byte, dir kubeconfig.Folder, context string) (c Config, namespace string, err error) {
	file, err := kubeconfig.Parse[Exec](text)
	if err != nil {
		return c, "", err
	}
	if context == "" {
		context = file.Current
	}
	in, at, as := file.Find(context)
	switch {
	case in == nil:
		return c, "", fmt.Errorf("there is no context %q; name one, or set current-context", context)
	case as == nil && in.User == "":
		as = &user{}
	case as == nil:
		at = nil
	}
	if at == nil {
		return c, "", fmt.Errorf("context %q names a cluster or a user that is missing", context)
	}
	if err := c.reach(at, dir); err != nil {
		return c, "", err
	}
	if err := c.logIn(as, dir); err != nil {
		return c, "", err
	}
	if c.Exec != nil {
		if c.Exec.cluster, err = c.Exec.info(at, dir); err != nil {
			return c, "", err
		}
	}
	return c, in.Namespace, c.Validate()
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
	dir := kubeconfig.Folder(podSecrets)
	at := kubeconfig.Cluster{Server: "https://" + net.JoinHostPort(host, port), CA: "ca.crt"}
	as := user{TokenFile: "token"}
	return c, strings.TrimSpace(string(text)), errors.Join(c.reach(&at, dir), c.logIn(&as, dir))
}

// reach configures the way to a server.
func (c *Config) reach(at *kubeconfig.Cluster, dir kubeconfig.Folder) error {
	c.Host, c.DisableCompression = at.Server, at.DisableCompression
	c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: at.ServerName, InsecureSkipVerify: at.Insecure}
	authorities, err := dir.Content(at.CAData, at.CA)
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

// logIn configures the credentials of a user.
func (c *Config) logIn(as *user, dir kubeconfig.Folder) error {
	if as.AuthProvider != nil {
		return errors.New("auth-provider is not supported; use exec")
	}
	c.BearerToken, c.Username, c.Password = as.Token, as.Username, as.Password
	c.BearerTokenFile = dir.Path(as.TokenFile)
	c.Impersonate = Impersonate{User: as.As, UID: as.AsUID, Groups: as.AsGroups, Extra: as.AsExtra}
	if as.Exec != nil {
		plugin := *as.Exec
		if strings.ContainsRune(plugin.Command, filepath.Separator) {
			plugin.Command = dir.Path(plugin.Command)
		}
		c.Exec = &plugin
	}
	if len(as.CertificateData) == 0 && len(as.KeyData) == 0 {
		c.CertificateFile, c.KeyFile = dir.Path(as.Certificate), dir.Path(as.Key)
		return nil
	}
	certificate, err := dir.Content(as.CertificateData, as.Certificate)
	if err != nil {
		return err
	}
	key, err := dir.Content(as.KeyData, as.Key)
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
func (e *Exec) info(at *kubeconfig.Cluster, dir kubeconfig.Folder) (*execCluster, error) {
	if !e.ProvideClusterInfo {
		return nil, nil
	}
	authorities, err := dir.Content(at.CAData, at.CA)
	if err != nil {
		return nil, err
	}
	info := &execCluster{Server: at.Server, ServerName: at.ServerName, Insecure: at.Insecure, CAData: authorities, ProxyURL: at.ProxyURL,
		DisableCompression: at.DisableCompression}
	for _, extension := range at.Extensions {
		if extension.Name == execExtension {
			info.Config = extension.Extension
		}
	}
	return info, nil
}
