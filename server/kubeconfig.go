package server

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Kubeconfig returns a client configuration (YAML) for the administrator of the
// server at that URL, with everything embedded; nil when the server has no
// administrator's certificate (see Credentials).
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

// Kubeconfig returns the administrator's client configuration for this server,
// or nil when it has no administrator's certificate.
func (s *Server) Kubeconfig() []byte { return s.keys.credentials.Load().Kubeconfig(s.URL()) }

// KubeconfigPath is the file with the administrator's client configuration; ""
// when there is none, because the server keeps nothing on disk or trusts only
// the authorities it was given.
func (s *Server) KubeconfigPath() string {
	if s.keys.credentials.Load().AdminCert == nil {
		return ""
	}
	return s.cfg.KubeconfigFile
}

// writeKubeconfig writes that file. The server is listening, so that its URL is
// known.
func (s *Server) writeKubeconfig() error {
	path := s.KubeconfigPath()
	if path == "" {
		return nil
	}
	if err := writePrivate(path, s.Kubeconfig()); err != nil {
		return fmt.Errorf("administrator's kubeconfig: %w", err)
	}
	return nil
}
