package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// AgentTrust is the trust between this server and the agents of nodes: its certificate,
// nil for none, and the authorities of theirs, nil where they are not verified.
type AgentTrust struct {
	Certificate *tls.Certificate
	Authorities *x509.CertPool
}

// Agents is the trust between this server and the agents of nodes. It is another pointer
// when it has changed.
func (cr *Credentials) Agents() *AgentTrust { return cr.agents }

func (c *Config) validateAgents() error {
	if (c.KubeletClientCertFile == "") != (c.KubeletClientKeyFile == "") {
		return errors.New("--kubelet-client-certificate and --kubelet-client-key belong together; set both or none")
	}
	return nil
}

// loadAgents reads the files about the agents of nodes.
func (cr *Credentials) loadAgents(c *source) (err error) {
	if c.KubeletClientCertFile != "" {
		if cr.AgentCert, cr.AgentKey, err = readPair(c.KubeletClientCertFile, c.KubeletClientKeyFile); err != nil {
			return fmt.Errorf("certificate for nodes: %w", err)
		}
	}
	cr.AgentCAs, err = authorities("authorities of nodes", c.KubeletCAFile)
	return err
}

func (cr *Credentials) prepareAgents(c *source) error {
	trust := &AgentTrust{}
	if cr.AgentCert != nil {
		pair, err := tls.X509KeyPair(cr.AgentCert, cr.AgentKey)
		if err != nil {
			return fmt.Errorf("certificate for nodes: %w", err)
		}
		trust.Certificate = &pair
	}
	if cr.AgentCAs != nil {
		all, err := parseAuthorities(c.KubeletCAFile, cr.AgentCAs)
		if err != nil {
			return err
		}
		trust.Authorities = x509.NewCertPool()
		for _, ca := range all {
			trust.Authorities.AddCert(ca)
		}
	}
	cr.agents = trust
	return nil
}

// takeAgents takes the certificate for nodes and its key.
func (k *Keyring) takeAgents(texts [][]byte) ([]any, error) {
	leaf, err := k.lasting(k.source.KubeletClientCertFile, k.source.KubeletClientKeyFile, texts)
	if err != nil {
		return nil, err
	}
	return about(leaf), k.changeCredentials(func(cr *Credentials) { cr.AgentCert, cr.AgentKey = texts[0], texts[1] })
}

// takeAgentCAs takes the authorities of nodes.
func (k *Keyring) takeAgentCAs(texts [][]byte) ([]any, error) {
	all, err := parseAuthorities(k.source.KubeletCAFile, texts[0])
	if err != nil {
		return nil, err
	}
	return about(all...), k.changeCredentials(func(cr *Credentials) { cr.AgentCAs = texts[0] })
}
