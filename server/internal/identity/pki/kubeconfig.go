package pki

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Kubeconfig returns a client configuration (YAML) for the administrator of the server at
// that URL, with everything embedded; nil when the server has no administrator's
// certificate (see Credentials).
func (c *Credentials) Kubeconfig(url string) []byte {
	if c.AdminCert == nil {
		return nil
	}
	return writeKubeconfig(url, adminName, c.CA, c.AdminCert, c.AdminKey)
}

// writeKubeconfig is a client configuration with a certificate.
func writeKubeconfig(url, user string, authorities, cert, key []byte) []byte {
	encode := base64.StdEncoding.EncodeToString
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: v1
kind: Config
clusters:
- name: capstan
  cluster:
    certificate-authority-data: %s
    server: %s
users:
- name: %[3]s
  user:
    client-certificate-data: %[4]s
    client-key-data: %[5]s
contexts:
- name: capstan
  context:
    cluster: capstan
    user: %[3]s
current-context: capstan
`, encode(authorities), strconv.Quote(url), strconv.Quote(user), encode(cert), encode(key))
	return []byte(b.String())
}

// KubeconfigPath is the file of the administrator's client configuration; "" when none is
// configured or only given authorities are trusted.
func (k *Keyring) KubeconfigPath() string {
	if k.Credentials().AdminCert == nil {
		return ""
	}
	return k.source.KubeconfigFile
}

// WriteKubeconfig writes that file, for the server at a URL.
func (k *Keyring) WriteKubeconfig(url string) error {
	path := k.KubeconfigPath()
	if path == "" {
		return nil
	}
	if err := writePrivate(path, k.Credentials().Kubeconfig(url)); err != nil {
		return fmt.Errorf("administrator's kubeconfig: %w", err)
	}
	return nil
}
