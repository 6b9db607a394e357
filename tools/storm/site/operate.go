package site

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The work of an operator on a server that runs.

// commandLimit bounds a command of the operator.
const commandLimit = 20 * time.Second

// DataDir is the data directory of a server on disk.
func (s *Site) DataDir() string { return filepath.Join(s.Dir, "data") }

// Command runs the server's binary and returns its output.
func (s *Site) Command(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.Binary, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// replace gives a file of the server another content at once.
func (s *Site) replace(name, text string) error {
	temporary := filepath.Join(s.Dir, name+".new")
	if err := os.WriteFile(temporary, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(s.Dir, name))
}

// Encrypted are the resources whose objects are encrypted in the store.
const Encrypted = "configmaps, podtemplates, secrets"

// EncryptionFile is the file with the keys of the store.
func (s *Site) EncryptionFile() string { return filepath.Join(s.Dir, encryptionFile) }

const encryptionFile = "encryption.yaml"

// Rotate makes a new key the first one; the earlier ones are kept, or are forgotten. The
// server reads them when it looks at its files.
func (s *Site) Rotate(forget bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if forget {
		s.keys = s.keys[len(s.keys)-1:]
	} else {
		key := make([]byte, 32)
		if _, err := rand.Read(key); err != nil {
			return err
		}
		kind := []string{"aesgcm", "secretbox"}[s.rotations%2]
		s.keys = append(s.keys, fmt.Sprintf("  - %s: {keys: [{name: k%d, secret: %s}]}\n", kind, s.rotations, base64.StdEncoding.EncodeToString(key)))
		s.rotations++
	}
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [" + Encrypted + "]\n  providers:\n"
	for i := len(s.keys) - 1; i >= 0; i-- {
		text += s.keys[i]
	}
	return s.replace(encryptionFile, text)
}

// Reloads is the number of times that the process has put other keys to use.
func (s *Site) Reloads(ctx context.Context) (n int) {
	_, text, err := s.Ask(ctx, "/metrics")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "apiserver_encryption_config_controller_automatic_reloads_total{") && strings.Contains(line, `status="success"`) {
			_, _ = fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &n) // 0 for no number
		}
	}
	return n
}

// Certify gives the server a new serving certificate, and returns its number.
func (s *Site) Certify() (*big.Int, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	of := x509.Certificate{SerialNumber: number, Subject: pkix.Name{CommonName: "storm"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, &of, &of, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	for name, block := range map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: cert}, "tls.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := s.replace(name, string(pem.EncodeToMemory(block))); err != nil {
			return nil, err
		}
	}
	return number, nil
}

// Certificate is the number of the certificate that the server shows; nil when it does
// not answer.
func (s *Site) Certificate() *big.Int {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}, NetDialer: &net.Dialer{Timeout: time.Second}}
	conn, err := dialer.Dial("tcp", strings.TrimPrefix(s.URL, "https://"))
	if err != nil {
		return nil
	}
	defer conn.Close()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber
}
