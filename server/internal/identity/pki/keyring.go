package pki

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/ranks"
)

// Keyring holds the server's present credentials and its trusted authorities and tokens.
//
// Invariants:
//
//	R1. Credentials and tokens are replaced, never changed: a reader loads a
//	    consistent state.
//	R2. Wrong files are not taken: the state read before stays in use. Empty files are
//	    wrong, whatever they are for: they may be caught while they are written.
type Keyring struct {
	source      source
	credentials atomic.Pointer[Credentials]
	tokens      atomic.Pointer[authn.Tokens]

	mu    ranks.Mutex[ranks.Operation] // held while files are read
	files []*watchedFiles
}

// watchedFiles are files that are reloaded when they change.
type watchedFiles struct {
	what  string
	paths []string
	// take puts the contents of the files to use, and describes them for the log.
	take func(texts [][]byte) ([]any, error)

	seen     [sha256.Size]byte // of the contents in use
	mistaken string            // the mistake in them; "" for none
}

// TLS is the server's side of TLS, with the newest certificates.
func (k *Keyring) TLS() *tls.Config {
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.credentials.Load().tls, nil }}
}

// Authenticate implements authn.Authenticator by the client's certificate.
func (k *Keyring) Authenticate(r *http.Request) (*authn.Identity, error) {
	return k.credentials.Load().logins.Authenticate(r)
}

// proxyLogins is the newest authenticator of proxies.
type proxyLogins struct{ of *Keyring }

// Authenticate implements authn.Authenticator.
func (p proxyLogins) Authenticate(r *http.Request) (*authn.Identity, error) {
	return p.of.credentials.Load().proxies.Authenticate(r)
}

// AuthenticateToken implements authn.TokenAuthenticator.
func (k *Keyring) AuthenticateToken(ctx context.Context, token string) (*authn.Identity, error) {
	return k.tokens.Load().AuthenticateToken(ctx, token)
}

// Credentials are those in use.
func (k *Keyring) Credentials() *Credentials { return k.credentials.Load() }

// Open reads everything for the first time, makes the server's own credentials, and notes
// the state of the files. The configuration is valid.
func Open(c Config, site Site) (*Keyring, error) {
	k := &Keyring{source: source{c, site}}
	k.Watch("serving certificate", k.takeServing, c.TLSCertFile, c.TLSPrivateKeyFile)
	for i, text := range c.TLSSNICertKeys {
		if n, err := parseNamedFiles(text); err == nil { // loadCredentials reports the error
			k.Watch("serving certificate for names", func(texts [][]byte) ([]any, error) { return k.takeNamed(i, n, texts) }, n.cert, n.key)
		}
	}
	k.Watch("client authorities", k.takeClientCAs, c.ClientCAFile)
	k.Watch("proxy authorities", k.takeProxyCAs, c.RequestHeaderClientCAFile)
	k.Watch("certificate for extension servers", k.takeFront, c.ProxyClientCertFile, c.ProxyClientKeyFile)
	k.Watch("certificate for nodes", k.takeAgents, c.KubeletClientCertFile, c.KubeletClientKeyFile)
	k.Watch("authorities of nodes", k.takeAgentCAs, c.KubeletCAFile)
	k.watchAuthorities()
	k.Watch("token file", k.takeTokens, c.TokenAuthFile)
	cr, err := loadCredentials(&k.source)
	if err != nil {
		return nil, err
	}
	k.credentials.Store(cr)
	k.tokens.Store(&authn.Tokens{})
	if c.TokenAuthFile != "" {
		tokens, err := authn.TokenFile(c.TokenAuthFile)
		if err != nil {
			return nil, err
		}
		k.tokens.Store(tokens)
	}
	return k, nil
}

// Watch looks at files for changes, too, with every Reload. take puts the contents to use, and
// describes them for the log; while it fails it is called again. Those of now are in use.
func (k *Keyring) Watch(what string, take func([][]byte) ([]any, error), paths ...string) {
	if paths[0] == "" {
		return
	}
	w := &watchedFiles{what: what, paths: paths, take: take}
	if texts, err := w.read(); err == nil {
		w.seen = digest(texts)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.files = append(k.files, w)
}

// Reload checks at once whether the files of certificates, keys and tokens have changed,
// and takes the changes.
func (k *Keyring) Reload() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.files {
		w.look(k.source.Log)
	}
}

// look takes changed contents of the files. A mistake in them is logged once.
func (w *watchedFiles) look(log *slog.Logger) {
	texts, err := w.read()
	if err == nil {
		sum := digest(texts)
		if sum == w.seen {
			w.mistaken = ""
			return
		}
		var taken []any
		if taken, err = w.take(texts); err == nil {
			w.seen, w.mistaken = sum, ""
			log.Info("the "+w.what+" has changed and is in use", append([]any{"files", w.paths}, taken...)...)
			return
		}
	}
	if w.mistaken != err.Error() {
		w.mistaken = err.Error()
		log.Error("the "+w.what+" has changed and cannot be used; the one from before stays in use", "error", err)
	}
}

func (w *watchedFiles) read() (texts [][]byte, err error) {
	for _, path := range w.paths {
		text, err := os.ReadFile(path)
		switch {
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(text)) == 0:
			return nil, fmt.Errorf("%s is empty; it counts when there is something in it", path)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func digest(texts [][]byte) [sha256.Size]byte {
	var all []byte
	for _, text := range texts {
		sum := sha256.Sum256(text)
		all = append(all, sum[:]...)
	}
	return sha256.Sum256(all)
}

// lasting reads a certificate and its key, and refuses an expired one.
func (k *Keyring) lasting(certFile, keyFile string, texts [][]byte) (*x509.Certificate, error) {
	leaf, err := parsePair(certFile, keyFile, texts[0], texts[1])
	if err != nil {
		return nil, err
	}
	if now := k.source.Now(); now.After(leaf.NotAfter) {
		return nil, fmt.Errorf("the certificate in %s has ended at %s", certFile, leaf.NotAfter.Format(time.RFC3339))
	}
	return leaf, nil
}

// takeNamed takes the certificate for names at index i, and its key.
func (k *Keyring) takeNamed(i int, n namedFiles, texts [][]byte) ([]any, error) {
	leaf, err := k.lasting(n.cert, n.key, texts)
	if err != nil {
		return nil, err
	}
	return about(leaf), k.changeCredentials(func(cr *Credentials) {
		cr.Named = slices.Clone(cr.Named)
		cr.Named[i] = NamedCert{texts[0], texts[1], n.names}
	})
}

// takeServing takes a certificate and its key.
func (k *Keyring) takeServing(texts [][]byte) ([]any, error) {
	leaf, err := k.lasting(k.source.TLSCertFile, k.source.TLSPrivateKeyFile, texts)
	if err != nil {
		return nil, err
	}
	return about(leaf), k.changeCredentials(func(cr *Credentials) { cr.Cert, cr.Key, cr.CA = texts[0], texts[1], texts[0] })
}

// takeClientCAs takes the authorities of clients, in addition to the server's own.
func (k *Keyring) takeClientCAs(texts [][]byte) ([]any, error) {
	all, err := parseAuthorities(k.source.ClientCAFile, texts[0])
	if err != nil {
		return nil, err
	}
	return about(all...), k.changeCredentials(func(cr *Credentials) { cr.ClientCAs = append(bytes.Clone(cr.OwnCA), texts[0]...) })
}

// takeProxyCAs takes the authorities of proxies.
func (k *Keyring) takeProxyCAs(texts [][]byte) ([]any, error) {
	all, err := parseAuthorities(k.source.RequestHeaderClientCAFile, texts[0])
	if err != nil {
		return nil, err
	}
	return about(all...), k.changeCredentials(func(cr *Credentials) { cr.ProxyCAs = texts[0] })
}

// takeFront takes the certificate for extension servers and its key.
func (k *Keyring) takeFront(texts [][]byte) ([]any, error) {
	leaf, err := k.lasting(k.source.ProxyClientCertFile, k.source.ProxyClientKeyFile, texts)
	if err != nil {
		return nil, err
	}
	return about(leaf), k.changeCredentials(func(cr *Credentials) { cr.FrontCert, cr.FrontKey = texts[0], texts[1] })
}

// takeTokens takes a file of bearer tokens.
func (k *Keyring) takeTokens(texts [][]byte) ([]any, error) {
	tokens, err := authn.ParseTokens(bytes.NewReader(texts[0]))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.source.TokenAuthFile, err)
	}
	if tokens.Len() == 0 {
		return nil, fmt.Errorf("%s has no token in it; to take the last ones away, start the server without it", k.source.TokenAuthFile)
	}
	k.tokens.Store(tokens)
	return []any{"users", tokens.Len()}, nil
}

// about describes certificates for the log: the subjects, and when the first of them
// ends.
func about(certs ...*x509.Certificate) []any {
	var names []string
	end := certs[0].NotAfter
	for _, c := range certs {
		names = append(names, c.Subject.String())
		if c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return []any{"subjects", names, "notAfter", end.UTC().Format(time.RFC3339)}
}

// RenewOwn replaces the server's own certificates when they expire soon, as a start does.
// Those in memory only end with the process.
func (k *Keyring) RenewOwn() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	have := k.credentials.Load()
	if have.OwnCA == nil && have.FrontCA == nil || k.source.CertDir == "" {
		return nil
	}
	next := *have
	if have.OwnCA != nil {
		if err := next.makeOwn(&k.source); err != nil {
			return err
		}
	}
	if have.FrontCA != nil {
		if err := next.loadFront(&k.source); err != nil {
			return err
		}
	}
	if bytes.Equal(next.Cert, have.Cert) && bytes.Equal(next.AdminCert, have.AdminCert) && bytes.Equal(next.FrontCert, have.FrontCert) {
		return nil
	}
	k.source.Log.Info("the server's own certificates were ending and have been made anew")
	return k.changeCredentials(func(cr *Credentials) {
		cr.ClientCAs = append(bytes.Clone(next.OwnCA), bytes.TrimPrefix(have.ClientCAs, have.OwnCA)...)
		cr.CA, cr.Cert, cr.Key = next.CA, next.Cert, next.Key
		cr.OwnCA, cr.AdminCert, cr.AdminKey, cr.ownAuthority = next.OwnCA, next.AdminCert, next.AdminKey, next.ownAuthority
		cr.FrontCA, cr.FrontCert, cr.FrontKey = next.FrontCA, next.FrontCert, next.FrontKey
	})
}

// changeCredentials puts changed credentials to use, and updates everything made of the
// old ones.
func (k *Keyring) changeCredentials(change func(*Credentials)) error {
	have := k.credentials.Load()
	next := *have
	change(&next)
	if err := next.prepare(&k.source); err != nil {
		return err
	}
	k.credentials.Store(&next)
	k.source.Changed(have, &next)
	return nil
}
