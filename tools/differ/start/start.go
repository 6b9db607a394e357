// Package start runs the reference and the server under test as processes on loopback, for as long as a run takes.
package start

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Tokens are the bearer tokens that both servers know, in the form of --token-auth-file:
// an administrator, and a user with the rights of every authenticated user.
const Tokens = AdminToken + ",admin,uid-admin,system:masters\n" + UserToken + ",user,uid-user\n"

// AdminToken and UserToken are the tokens in Tokens.
const (
	AdminToken = "admintoken"
	UserToken  = "usertoken"
)

// readyLimit bounds the start of one process, and stopLimit its end after SIGTERM.
const (
	readyLimit = 90 * time.Second
	stopLimit  = 10 * time.Second
)

// Process is a running server. Stop ends it with its dependencies and removes its files.
type Process struct {
	URL   string
	dir   string
	parts []*exec.Cmd
	front *httptest.Server // nil for clients that reach the server itself
}

// Reference starts etcd and kube-apiserver from a directory that reference/build.sh has filled.
func Reference(ctx context.Context, binaries string, flags ...string) (*Process, error) {
	p, ports, err := newProcess(3)
	if err != nil {
		return nil, err
	}
	return p.ready(ctx, ports[0], p.runReference(binaries, ports, flags...))
}

// runReference runs etcd and kube-apiserver on ports: that of the server, and two of etcd.
func (p *Process) runReference(binaries string, ports []string, flags ...string) error {
	if err := writeKey(p.key()); err != nil {
		return err
	}
	client, peer := loopback("http", ports[1]), loopback("http", ports[2])
	// A tester's store may be lost: etcd does not wait for the disk.
	if err := p.run(filepath.Join(binaries, "etcd"), "--data-dir", filepath.Join(p.dir, "etcd"), "--unsafe-no-fsync", "--log-level", "error",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer); err != nil {
		return err
	}
	own := []string{"--etcd-servers", client, "--secure-port", ports[0], "--bind-address", "127.0.0.1", "--cert-dir", filepath.Join(p.dir, "certs"),
		"--token-auth-file", p.tokens(), "--authorization-mode", "RBAC", "--service-cluster-ip-range", "10.0.0.0/16", "--allow-privileged=true"}
	return p.run(filepath.Join(binaries, "kube-apiserver"), append(append(own, p.accountFlags()...), flags...)...)
}

func (p *Process) key() string { return filepath.Join(p.dir, "sa.key") }

// accountFlags are those about the tokens of service accounts.
func (p *Process) accountFlags() []string {
	return []string{"--service-account-issuer", "https://kubernetes.default.svc",
		"--service-account-signing-key-file", p.key(), "--service-account-key-file", p.key()}
}

// Server starts the server under test, without controllers, as the reference has none.
func Server(ctx context.Context, binary string, flags ...string) (*Process, error) {
	p, ports, err := newProcess(1)
	if err != nil {
		return nil, err
	}
	err = p.run(binary, append([]string{"serve", "--data-dir", filepath.Join(p.dir, "data"), "--bind-address", "127.0.0.1", "--secure-port", ports[0],
		"--token-auth-file", p.tokens(), "--controllers", "-*", "--service-cluster-ip-range", "10.0.0.0/16"}, flags...)...)
	return p.ready(ctx, ports[0], err)
}

func newProcess(ports int) (*Process, []string, error) {
	dir, err := os.MkdirTemp("", "differ")
	if err != nil {
		return nil, nil, err
	}
	p := &Process{dir: dir}
	if err := os.WriteFile(p.tokens(), []byte(Tokens), 0o600); err != nil {
		p.Stop()
		return nil, nil, err
	}
	free, err := freePorts(ports)
	if err != nil {
		p.Stop()
	}
	return p, free, err
}

func (p *Process) tokens() string { return filepath.Join(p.dir, "tokens.csv") }

// run starts a program whose log goes to a file of its name.
func (p *Process) run(program string, args ...string) error {
	log, err := os.Create(filepath.Join(p.dir, filepath.Base(program)+".log"))
	if err != nil {
		return err
	}
	defer log.Close() // the program has a descriptor of its own
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return err
	}
	p.parts = append(p.parts, c)
	return nil
}

// ready waits until the server is ready. On an error everything is stopped, and the error
// ends with the last lines of the program's log.
func (p *Process) ready(ctx context.Context, port string, err error) (*Process, error) {
	p.URL = loopback("https", port)
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, readyLimit)
		err = waitReady(ctx, p.URL+"/readyz")
		cancel()
	}
	if err == nil {
		return p, nil
	}
	if n := len(p.parts); n > 0 {
		log, _ := os.ReadFile(filepath.Join(p.dir, filepath.Base(p.parts[n-1].Path)+".log"))
		err = fmt.Errorf("%s: %w\n%s", p.parts[n-1].Path, err, log[max(0, len(log)-1000):])
	}
	p.Stop()
	return nil, err
}

func waitReady(ctx context.Context, url string) error {
	// The server makes its certificate itself, on this machine.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, Timeout: 2 * time.Second}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+AdminToken)
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// Stop ends the programs, last started first, and removes their files.
func (p *Process) Stop() {
	if p.front != nil {
		p.front.CloseClientConnections()
		p.front.Close()
	}
	for i := len(p.parts) - 1; i >= 0; i-- {
		c := p.parts[i]
		_ = c.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(stopLimit, func() { _ = c.Process.Kill() })
		_ = c.Wait() // how it ended does not matter any more
		kill.Stop()
	}
	_ = os.RemoveAll(p.dir)
}

func loopback(scheme, port string) string { return scheme + "://127.0.0.1:" + port }

// freePorts finds unused ports. They are all held until the last is found, so that they
// differ.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports, nil
}

// writeKey makes the key that the reference signs tokens with.
func writeKey(file string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := pem.Encode(&b, &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}
