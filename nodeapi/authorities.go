package nodeapi

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
)

// rereadAfter is the time after which the file of the authorities is read again.
const rereadAfter = 10 * time.Second

// authorities authenticate requests by certificates of the authorities in a file. The file
// is read again when a certificate comes and the last time was a while ago.
//
// Invariant: a file that is wrong, empty or cut off is not taken; the authorities from
// before stay.
type authorities struct {
	path  string
	clock func() time.Time
	log   *slog.Logger

	mu       sync.Mutex // held while the file is read
	present  *authn.ClientCerts
	text     []byte // that the present ones were read from
	read     time.Time
	mistaken string // the mistake in the file; "" for none
}

// openAuthorities reads the file for the first time.
func openAuthorities(path string, clock func() time.Time, log *slog.Logger) (*authorities, error) {
	a := &authorities{path: path, clock: clock, log: log, read: clock()}
	return a, a.take()
}

// Authenticate implements authn.Authenticator.
func (a *authorities) Authenticate(r *http.Request) (*authn.Identity, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, nil
	}
	return a.newest().Authenticate(r)
}

// newest are the authorities of the file as it was a while ago at most.
func (a *authorities) newest() *authn.ClientCerts {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if now.Sub(a.read) < rereadAfter {
		return a.present
	}
	a.read = now
	if err := a.take(); err == nil {
		a.mistaken = ""
	} else if a.mistaken != err.Error() {
		a.mistaken = err.Error()
		a.log.Error("the authorities of client certificates have changed and cannot be used; those from before stay in use", "error", err)
	}
	return a.present
}

// take reads the file and puts changed contents to use.
func (a *authorities) take() error {
	text, err := os.ReadFile(a.path)
	if err != nil || a.present != nil && bytes.Equal(text, a.text) {
		return err
	}
	pool, err := parseAuthorities(text)
	if err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	if a.present != nil {
		a.log.Info("the authorities of client certificates have changed and are in use", "file", a.path)
	}
	a.present, a.text = authn.ClientCert(pool, a.clock), text
	return nil
}

// parseAuthorities reads certificates in PEM: one at least.
func parseAuthorities(text []byte) (*x509.CertPool, error) {
	pool, some := x509.NewCertPool(), false
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			break
		}
		if text = rest; block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		pool.AddCert(certificate)
		some = true
	}
	switch {
	case bytes.Contains(text, []byte("-----BEGIN ")):
		return nil, errors.New("the file ends in the middle of a block of PEM; it may not be written completely")
	case !some:
		return nil, errors.New("there is no certificate in PEM; the file must hold those of the authorities")
	}
	return pool, nil
}
