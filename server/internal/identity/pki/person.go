package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/kubeconfig"
)

// Person describes the client certificate of a user.
type Person struct {
	User   string
	Groups []string
	Life   time.Duration
	// Masters permits the group system:masters, which may do everything, and for ever: no
	// policy takes rights from it.
	Masters bool
}

// Validate reports the first mistake, or nil.
func (p *Person) Validate() error {
	switch {
	case p.User == "":
		return errors.New("--user: empty; a certificate needs a name")
	case slices.Contains(p.Groups, ""):
		return errors.New("--group: empty; leave the flag out for no groups")
	case slices.Contains(p.Groups, authn.GroupMasters) && !p.Masters:
		return fmt.Errorf("--group: members of %s may do everything, and nothing but the end of the certificate takes that away; bind a role to another group, or add --allow-masters", authn.GroupMasters)
	case p.Life <= 0:
		return errors.New("--duration: not a time to come; write it like 720h")
	}
	return nil
}

// Warnings are about a name or a group of the system, for which rules and bindings of the
// server may exist already.
func (p *Person) Warnings() (all []string) {
	const warning = "the %s %s is one of the system: the certificate has whatever rights the server gives the system under that name; people should have names without the prefix " + systemPrefix
	if strings.HasPrefix(p.User, systemPrefix) {
		all = append(all, fmt.Sprintf(warning, "user", p.User))
	}
	for _, group := range p.Groups {
		if strings.HasPrefix(group, systemPrefix) && group != authn.GroupMasters { // which needed a flag
			all = append(all, fmt.Sprintf(warning, "group", group))
		}
	}
	return all
}

// systemPrefix begins the names of users and groups of the system.
const systemPrefix = "system:"

// PersonKubeconfig makes a client certificate by the authority of a server's directory,
// and returns a client configuration (YAML) with it, and the certificate's end. The server
// is the one of the administrator's kubeconfig, or at a URL. The configuration has its
// defaults.
func (c *Config) PersonKubeconfig(p Person, url string, now time.Time) (text []byte, end time.Time, err error) {
	if err := p.Validate(); err != nil {
		return nil, end, err
	}
	ca, err := certDir{path: c.CertDir, now: now}.read("ca")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, end, fmt.Errorf("%s has no authority (ca.crt, ca.key); name the server's --data-dir or --cert-dir", c.CertDir)
	}
	if err != nil {
		return nil, end, err
	}
	if !now.Before(ca.cert.NotAfter) {
		return nil, end, fmt.Errorf("the authority in %s has ended at %s; a start of the server makes another", c.CertDir, ca.cert.NotAfter.Format(time.RFC3339))
	}
	server, authorities, err := readCluster(c.KubeconfigFile)
	if err != nil {
		return nil, end, err
	}
	if url != "" {
		server = url
	}
	pair, err := sign(ca, &x509.Certificate{Subject: pkix.Name{CommonName: p.User, Organization: p.Groups}, NotAfter: now.Add(p.Life),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, now)
	if err != nil {
		return nil, end, err
	}
	return writeKubeconfig(server, p.User, authorities, pair.pem, pair.keyPEM), pair.cert.NotAfter, nil
}

// readCluster reads the server of a client configuration, and its authorities.
func readCluster(path string) (server string, authorities []byte, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", nil, fmt.Errorf("%w; a start of the server writes it", err)
	}
	config, err := kubeconfig.Parse[struct{}](text)
	if err != nil || len(config.Clusters) == 0 || config.Clusters[0].Cluster.Server == "" {
		return "", nil, fmt.Errorf("%s: not a client configuration of a server", path)
	}
	at := &config.Clusters[0].Cluster
	return at.Server, at.CAData, nil
}
