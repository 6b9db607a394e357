package pki

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/signing"
)

// Config names the certificates and keys of one server. The zero value of every field
// is its default.
type Config struct {
	// TLSCertFile and TLSPrivateKeyFile are the serving certificate (with its chain) and
	// key, PEM. Default: apiserver.crt and apiserver.key in CertDir, as in 1.25, or, where
	// there are none, its own.
	TLSCertFile, TLSPrivateKeyFile string
	// TLSSNICertKeys are certificates for the names in a client's SNI: "CERT,KEY", or
	// "CERT,KEY:NAME,*.NAME" for other names than those in it.
	TLSSNICertKeys []string
	// CertDir is the directory of certificates made by the server; "" keeps nothing, so
	// that each start makes its own. Default <data directory>/pki where the server keeps
	// files.
	CertDir string
	// TLSMinVersion is VersionTLS12 (the default) or VersionTLS13.
	TLSMinVersion string
	// TLSCipherSuites names the cipher suites for TLS 1.2; nil for all safe ones (ECDHE
	// and AEAD). Others are refused.
	TLSCipherSuites []string
	// KubeconfigFile is the path for the administrator's kubeconfig. Default <data
	// directory>/admin.kubeconfig; with InMemory it is not written unless named.
	KubeconfigFile string

	// ClientCAFile is a PEM bundle of the authorities whose client certificates
	// are accepted, besides the server's own.
	ClientCAFile string
	// RequestHeaderClientCAFile is a PEM bundle of the authorities of proxies that
	// authenticate users for this server.
	RequestHeaderClientCAFile string
	// RequestHeaderAllowedNames are the names that certificates of these authorities may
	// have, none for any; the others are the headers in which proxies name the user.
	RequestHeaderAllowedNames, RequestHeaderUsernameHeaders    []string
	RequestHeaderGroupHeaders, RequestHeaderExtraHeadersPrefix []string
	// ProxyClientCertFile and ProxyClientKeyFile are the certificate and key, PEM, by
	// which extension servers know this server as their proxy. Without them, and without
	// RequestHeaderClientCAFile, the server makes its own.
	ProxyClientCertFile, ProxyClientKeyFile string
	// KubeletClientCertFile and KubeletClientKeyFile are the certificate and key, PEM, by
	// which the agents of nodes know this server. KubeletCAFile is a PEM bundle of the
	// authorities of their certificates, which are not verified without it.
	KubeletClientCertFile, KubeletClientKeyFile, KubeletCAFile string
	// ClusterSigningCertFile and ClusterSigningKeyFile are the authority that signs approved
	// certificate signing requests, PEM. Default: the server's own, if it has one.
	ClusterSigningCertFile, ClusterSigningKeyFile string
	// SignerAuthorities are the authorities of single signers. Once one is given the others
	// sign nothing without theirs, as in 1.25.
	SignerAuthorities SignerAuthorities
	// TokenAuthFile is a CSV file of bearer tokens: token,user,uid[,group...].
	TokenAuthFile string
	// ServiceAccountSigningKeyFile holds the key that signs the tokens of service
	// accounts, PEM, RSA or ECDSA. Default: one that the server makes and keeps.
	ServiceAccountSigningKeyFile string
	// ServiceAccountSigningEndpoint is the socket of a program that signs the tokens of service
	// accounts and has the keys that verify them, in place of these files: a path, or "@name" for
	// one without a file. Default: none.
	ServiceAccountSigningEndpoint string
	// ServiceAccountPrivateKeyFile holds the key that signs the tokens of service accounts
	// which secrets hold, as kube-controller-manager does, PEM, RSA or ECDSA. Default: the
	// key of ServiceAccountSigningKeyFile, which defaults to this one too.
	ServiceAccountPrivateKeyFile string
	// ServiceAccountKeyFiles hold the keys that verify the tokens of service accounts, PEM:
	// public or private keys, or certificates. Default: the public parts of the keys that
	// sign them, and of that in TLSPrivateKeyFile if it is RSA or ECDSA.
	ServiceAccountKeyFiles []string
}

// AuthorityFiles are the certificate and the key of an authority, PEM; "" for none.
type AuthorityFiles struct{ Cert, Key string }

// SignerAuthorities are the authorities of the built-in signers.
type SignerAuthorities struct{ KubeletServing, KubeletClient, APIServerClient, LegacyUnknown AuthorityFiles }

// SignerFiles are the authority of a signer, and the part of the flags that name it.
type SignerFiles struct {
	Signer, Flag string
	*AuthorityFiles
}

// Each lists the authorities, given or not.
func (s *SignerAuthorities) Each() []SignerFiles {
	return []SignerFiles{{signing.NodeServingSigner, "kubelet-serving", &s.KubeletServing}, {signing.NodeClientSigner, "kubelet-client", &s.KubeletClient},
		{signing.ClientSigner, "kube-apiserver-client", &s.APIServerClient}, {signing.LegacySigner, "legacy-unknown", &s.LegacyUnknown}}
}

func (s *SignerAuthorities) validate() error {
	var all []error
	for _, f := range s.Each() {
		if (f.Cert == "") != (f.Key == "") {
			all = append(all, fmt.Errorf("signing authority: --cluster-signing-%s-cert-file and --cluster-signing-%[1]s-key-file belong together; set both or none", f.Flag))
		}
	}
	return errors.Join(all...)
}

// SetDefaults names the files of a server that keeps them in dataDir.
func (c *Config) SetDefaults(dataDir string) {
	c.CertDir = cmp.Or(c.CertDir, filepath.Join(dataDir, "pki"))
	c.KubeconfigFile = cmp.Or(c.KubeconfigFile, filepath.Join(dataDir, "admin.kubeconfig"))
}

// FindServing takes the serving certificate that somebody put into CertDir, unless another
// is named. One file without the other is a mistake that Open reports.
func (c *Config) FindServing() {
	if c.CertDir == "" || c.TLSCertFile != "" || c.TLSPrivateKeyFile != "" {
		return
	}
	cert, key := filepath.Join(c.CertDir, "apiserver.crt"), filepath.Join(c.CertDir, "apiserver.key")
	if exists(cert) || exists(key) {
		c.TLSCertFile, c.TLSPrivateKeyFile = cert, key
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// Validate reports all mistakes, joined into one error, or nil. It opens no file.
func (c *Config) Validate() error {
	var all []error
	if (c.TLSCertFile == "") != (c.TLSPrivateKeyFile == "") {
		all = append(all, errors.New("serving certificate: the certificate file and the private key file belong together; set both or none"))
	}
	switch {
	case c.ServiceAccountSigningEndpoint == "":
	case c.ServiceAccountSigningKeyFile != "":
		all = append(all, errors.New("service-account-signing-key-file and service-account-signing-endpoint "+
			"are mutually exclusive and cannot be set at the same time"))
	case len(c.ServiceAccountKeyFiles) > 0:
		all = append(all, errors.New("can't set `--service-account-signing-key-file` and/or `--service-account-key-file` with `--service-account-signing-endpoint` "+
			"(They are mutually exclusive)"))
	}
	if (c.ClusterSigningCertFile == "") != (c.ClusterSigningKeyFile == "") {
		all = append(all, errors.New("signing authority: --cluster-signing-cert-file and --cluster-signing-key-file belong together; set both or none"))
	}
	for _, text := range c.TLSSNICertKeys {
		if _, err := parseNamedFiles(text); err != nil {
			all = append(all, err)
		}
	}
	if _, err := tlsVersion(c.TLSMinVersion); err != nil {
		all = append(all, err)
	}
	if _, err := cipherSuites(c.TLSCipherSuites); err != nil {
		all = append(all, err)
	}
	return errors.Join(append(all, c.validateProxies(), c.validateAgents(), c.SignerAuthorities.validate())...)
}

// Site is the server that uses the certificates.
type Site struct {
	// Address is the IP address that the server listens at; an unspecified one stands for
	// all of this machine's, any other text for none.
	Address string
	// Names are further names and IP addresses that clients may use for the server.
	Names []string
	// Now is the time of day.
	Now func() time.Time
	// Log receives changes and unusable files.
	Log *slog.Logger
	// Changed is called after other credentials are in use.
	Changed func(before, now *Credentials)
	// CertContent is read of certificates of clients.
	CertContent authn.CertContent
}

// source is the configuration of credentials with its server.
type source struct {
	Config
	Site
}

// tlsVersion turns the name of a protocol version into its number.
func tlsVersion(name string) (uint16, error) {
	switch name {
	case "", "VersionTLS12":
		return tls.VersionTLS12, nil
	case "VersionTLS13":
		return tls.VersionTLS13, nil
	}
	return 0, fmt.Errorf("least TLS version: %q is not served; use VersionTLS12 or VersionTLS13", name)
}

// cipherSuites turns the names of TLS 1.2 cipher suites into their numbers; no names are
// all suites that encrypt and authenticate in one step (AEAD) with keys that later theft
// does not reveal (ECDHE). Only these are served. The suites of TLS 1.3 are always on;
// they may be named.
func cipherSuites(names []string) ([]uint16, error) {
	var ids []uint16
	var known []string
	for _, s := range tls.CipherSuites() {
		old := slices.Contains(s.SupportedVersions, tls.VersionTLS12)
		if old && !(strings.HasPrefix(s.Name, "TLS_ECDHE_") && (strings.Contains(s.Name, "_GCM_") || strings.Contains(s.Name, "_CHACHA20_POLY1305_"))) {
			continue
		}
		known = append(known, s.Name)
		if len(names) == 0 || slices.Contains(names, s.Name) {
			ids = append(ids, s.ID)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("TLS cipher suite %q is unknown or not safe enough to be served; use some of %s", name, strings.Join(known, ", "))
		}
	}
	return ids, nil
}
