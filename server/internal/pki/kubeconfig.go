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
- name: %s
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: capstan
  context:
    cluster: capstan
    user: %s
current-context: capstan
`, encode(c.CA), strconv.Quote(url), adminName, encode(c.AdminCert), encode(c.AdminKey), adminName)
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
