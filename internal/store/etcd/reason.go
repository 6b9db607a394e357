package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"
)

// reasonTimeout bounds the look for the reason why a member does not answer.
const reasonTimeout = time.Second

// unanswered is the error of a member that has not answered, with the reason as far as a connection
// shows it: etcd's client says that the time is over.
func (e *Engine) unanswered(ctx context.Context, member string, err error) error {
	if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return fmt.Errorf("etcd: %s does not answer: %w", member, err)
	}
	ctx, cancel := context.WithTimeout(ctx, reasonTimeout)
	defer cancel()
	err = e.tryConnection(ctx, member)
	var wrongCertificate *tls.CertificateVerificationError
	var noTLS tls.RecordHeaderError
	switch {
	case err == nil:
		return fmt.Errorf("etcd: %s does not answer within %v; look at its log, and compare its URL", member, e.cfg.Timeout)
	case errors.As(err, &wrongCertificate):
		return fmt.Errorf("etcd: the certificate of %s is not accepted: %w; compare the authorities of --etcd-cafile and the host of the URL with it", member, wrongCertificate.Err)
	case errors.As(err, &noTLS), errors.Is(err, io.EOF):
		return fmt.Errorf("etcd: %s does not speak TLS; write http in its URL, or give it a certificate", member)
	case isRemote(err):
		return fmt.Errorf("etcd: %s does not accept this server: %w; compare --etcd-certfile with the authorities of clients that etcd has", member, err)
	}
	return fmt.Errorf("etcd: %s does not answer: %w; compare its URL, and look whether it runs", member, err)
}

// isRemote reports whether the other end of a connection with TLS has sent an error.
func isRemote(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// tryConnection connects to a member, and reads what it says about the certificates.
func (e *Engine) tryConnection(ctx context.Context, member string) error {
	at, err := url.Parse(member)
	if err != nil {
		return err
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if at.Scheme != "https" {
		return nil
	}
	config := &tls.Config{}
	if e.cfg.TLS != nil {
		config = e.cfg.TLS.Clone()
	}
	config.ServerName = at.Hostname()
	config.NextProtos = []string{"h2"}
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	if until, ok := ctx.Deadline(); ok {
		_ = secured.SetReadDeadline(until)
	}
	// The other end refuses the client's certificate after the handshake.
	if _, err := secured.Read(make([]byte, 1)); err != nil && isRemote(err) {
		return err
	}
	return nil
}
