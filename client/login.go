package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/dialed"
)

// credentials prove the name of the client.
type credentials struct {
	token       string
	certificate *tls.Certificate // nil for none
	until       time.Time        // zero when they have no end
}

// rereadAfter is the time after which files with credentials are read again, since other
// programs renew them.
const rereadAfter = time.Minute

// login adds the credentials of a configuration to requests and connections.
//
// Invariant: no connection is used with another certificate than the present one: when it
// changes, all connections are closed, those of watches too.
type login struct {
	config   *Config
	conns    dialed.Conns
	now      func() time.Time
	terminal func() bool

	mu      sync.Mutex // held while a program runs, since it may ask a person
	token   secretFiles[string]
	pair    secretFiles[*tls.Certificate]
	present *credentials // of the program; nil for none
}

func newLogin(c *Config) *login {
	return &login{config: c, now: time.Now, terminal: isTerminal,
		token: secretFiles[string]{names: []string{c.BearerTokenFile}, parse: parseToken},
		pair:  secretFiles[*tls.Certificate]{names: []string{c.CertificateFile, c.KeyFile}, parse: parsePair}}
}

func parseToken(texts [][]byte) (string, error) {
	if token := strings.TrimSpace(string(texts[0])); token != "" {
		return token, nil
	}
	return "", errors.New("the token file is empty")
}

func parsePair(texts [][]byte) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(texts[0], texts[1])
	return &pair, err
}

// usesExec reports whether a program makes the credentials: others go before it.
func (c *Config) usesExec() bool {
	return c.Exec != nil && c.BearerToken == "" && c.BearerTokenFile == "" && c.Username == "" && c.CertificateFile == "" &&
		(c.TLS == nil || len(c.TLS.Certificates) == 0)
}

// add adds credentials to a request, and returns those of the program.
func (l *login) add(ctx context.Context, h http.Header) (*credentials, error) {
	c := l.config
	c.Impersonate.add(h)
	now, err := l.credentials(ctx)
	if err != nil {
		return nil, fmt.Errorf("credentials: %w", err)
	}
	if now.token != "" {
		h.Set("Authorization", "Bearer "+now.token)
	} else if c.Username != "" {
		r := http.Request{Header: h}
		r.SetBasicAuth(c.Username, c.Password)
	}
	return now, nil
}

// credentials are the present ones.
func (l *login) credentials(ctx context.Context) (now *credentials, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.config
	if c.usesExec() {
		return l.fromProgram(ctx)
	}
	now = &credentials{token: c.BearerToken}
	if c.BearerTokenFile != "" {
		token, _, err := l.token.get(l.now())
		if err == nil {
			now.token = token
		} else if now.token == "" {
			return nil, err
		}
	}
	if c.CertificateFile != "" {
		changed := false
		if now.certificate, changed, err = l.pair.get(l.now()); changed {
			l.conns.CloseAll()
		}
	}
	return now, err
}

// fromProgram returns the credentials of the program, which runs again after their end.
func (l *login) fromProgram(ctx context.Context) (*credentials, error) {
	old := l.present
	if old != nil && (old.until.IsZero() || l.now().Before(old.until)) {
		return old, nil
	}
	fresh, err := l.config.Exec.run(ctx, l.terminal())
	if err != nil {
		return nil, err
	}
	if l.present = fresh; old != nil && !samePair(old.certificate, fresh.certificate) {
		l.conns.CloseAll()
	}
	return fresh, nil
}

func samePair(a, b *tls.Certificate) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.Leaf.Raw, b.Leaf.Raw)
}

// refused ends credentials of the program that the server does not accept.
func (l *login) refused(used *credentials) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if used == l.present && used != nil {
		over := *used
		over.until = time.Unix(0, 0)
		l.present = &over
	}
}

// certificate is called by each handshake in which the server asks for a certificate.
func (l *login) certificate(asked *tls.CertificateRequestInfo) (*tls.Certificate, error) {
	now, err := l.credentials(asked.Context())
	if err != nil || now.certificate == nil {
		return &tls.Certificate{}, err
	}
	return now.certificate, nil
}

// secretFiles are files that hold one secret.
type secretFiles[T any] struct {
	names []string
	parse func(texts [][]byte) (T, error)

	read  time.Time
	texts [][]byte // nil before the first success
	value T
}

// get returns the secret, and whether it is another one than before. While the files
// cannot be read, or are half written, it stays as it was.
func (f *secretFiles[T]) get(now time.Time) (value T, changed bool, err error) {
	first := f.texts == nil
	if !first && now.Sub(f.read) < rereadAfter {
		return f.value, false, nil
	}
	f.read = now
	texts := make([][]byte, len(f.names))
	for i, name := range f.names {
		if texts[i], err = os.ReadFile(name); err != nil {
			break
		}
		changed = changed || first || !bytes.Equal(texts[i], f.texts[i])
	}
	if err == nil && changed {
		if value, err = f.parse(texts); err == nil {
			f.texts, f.value = texts, value
		}
	}
	if err != nil && !first {
		return f.value, false, nil
	}
	return f.value, changed && !first, err
}

// Impersonate is the user as whom requests are made, by a user who may do that.
type Impersonate struct {
	User   string // "" for nobody else
	UID    string
	Groups []string
	Extra  map[string][]string
}

func (i *Impersonate) add(h http.Header) {
	set := func(name string, values ...string) {
		for _, v := range values {
			if v != "" {
				h.Add(name, v)
			}
		}
	}
	set("Impersonate-User", i.User)
	set("Impersonate-Uid", i.UID)
	set("Impersonate-Group", i.Groups...)
	for key, values := range i.Extra {
		set("Impersonate-Extra-"+strings.ReplaceAll(url.QueryEscape(key), "+", "%20"), values...)
	}
}
