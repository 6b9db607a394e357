// Package site runs the server under test as a process, with everything switched on.
package site

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The limits of the server's requests and of its stop, and of its start.
const (
	RequestLimit = 10 * time.Second
	StopLimit    = 10 * time.Second
	startLimit   = time.Minute
)

// AdminToken is the token of an administrator; a user that was given no rights has the
// token that is its name and "-token".
const AdminToken = "admin-token"

// Users are the users without rights of their own.
var Users = []string{"ann", "bob"}

// Options choose the server.
type Options struct {
	Binary string
	Memory bool   // keep objects in memory
	Dir    string // for the server's files and its log
	// History is the time for which old revisions can be read.
	History time.Duration
}

// Site is a server that can be stopped, killed and started again.
type Site struct {
	Options
	URL string

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process is gone
	failed error         // how it ended
	paused time.Duration // all the time that the process stood still
	stands time.Time     // since when it stands still
	// keys are the providers of the file with the keys of the store, the oldest first, and
	// rotations is the number of all that there were.
	keys      []string
	rotations int
}

// Start runs the server and waits until it is ready.
func Start(ctx context.Context, o Options) (*Site, error) {
	s := &Site{Options: o}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	tokens := AdminToken + ",admin,uid-admin,system:masters\n"
	for _, u := range Users {
		tokens += u + "-token," + u + ",uid-" + u + "\n"
	}
	for name, text := range map[string]string{"tokens.csv": tokens, "audit.yaml": auditPolicy} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if err := s.Rotate(false); err != nil {
		return nil, err
	}
	if _, err := s.Certify(); err != nil {
		return nil, err
	}
	return s, s.Launch(ctx)
}

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: RequestResponse, resources: [{group: "", resources: [configmaps, services]}]}
- {level: Metadata}
`

// NodePorts and Addresses are small ranges, so that services fight for them.
const (
	NodePorts = 16
	FirstPort = 30000
	Addresses = 30 // usable ones of the range
	Range     = "10.9.0.0/27"
)

func (s *Site) flags() []string {
	port := "0"
	if s.URL != "" {
		port = s.URL[strings.LastIndexByte(s.URL, ':')+1:] // clients come back to the same place
	}
	flags := []string{"serve", "--bind-address", "127.0.0.1", "--secure-port", port, "--token-auth-file", filepath.Join(s.Dir, "tokens.csv"),
		"--audit-policy-file", filepath.Join(s.Dir, "audit.yaml"), "--audit-log-path", filepath.Join(s.Dir, "audit.log"), "--audit-log-maxsize",
		"20", "--audit-log-maxbackup", "1",
		"--service-cluster-ip-range", Range, "--service-node-port-range", fmt.Sprintf("%d+%d", FirstPort, NodePorts),
		"--enable-admission-plugins", "OwnerReferencesPermissionEnforcement,NodeRestriction",
		"--request-timeout", RequestLimit.String(), "--shutdown-timeout", "5s", "--history", s.History.String(), "--max-requests-inflight", "400",
		"--max-mutating-requests-inflight", "400", "--runtime-config", "api/all=true",
		"--encryption-provider-config", s.EncryptionFile(), "--encryption-provider-config-automatic-reload",
		"--tls-cert-file", filepath.Join(s.Dir, "tls.crt"), "--tls-private-key-file", filepath.Join(s.Dir, "tls.key")}
	if s.Memory {
		return append(flags, "--in-memory", "--write-kubeconfig", filepath.Join(s.Dir, "admin.kubeconfig"))
	}
	return append(flags, "--data-dir", s.DataDir())
}

// Launch starts the process, again perhaps, and waits until it is ready.
func (s *Site) Launch(ctx context.Context) error {
	log, err := os.OpenFile(s.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has a descriptor of its own
	cmd := exec.Command(s.Binary, s.flags()...)
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, url := make(chan struct{}), make(chan string, 1)
	s.mu.Lock()
	s.cmd, s.ended = cmd, ended
	s.mu.Unlock()
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if at, ok := strings.CutPrefix(lines.Text(), "capstan listens on "); ok {
				url <- at
			}
		}
		_, _ = io.Copy(io.Discard, out)
		err := cmd.Wait()
		s.mu.Lock()
		s.failed = err
		s.mu.Unlock()
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case at := <-url:
		s.URL = at
		return s.awaitReady(ctx)
	case <-ended:
		return fmt.Errorf("the server ended at once: %s", s.Tail())
	case <-ctx.Done():
		return fmt.Errorf("the server does not listen after %s: %s", startLimit, s.Tail())
	}
}

// Transport connects to the server, whose certificate is its own and of this machine.
func Transport(http2 bool) *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2, MaxIdleConnsPerHost: 4}
}

func (s *Site) awaitReady(ctx context.Context) error {
	for {
		if code, _, err := s.Ask(ctx, "/readyz"); err == nil && code == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %s", s.Tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Ask is a GET by the administrator on a connection of its own.
func (s *Site) Ask(ctx context.Context, path string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+AdminToken)
	t := Transport(false)
	defer t.CloseIdleConnections()
	resp, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

// Log is the file with the server's log.
func (s *Site) Log() string { return filepath.Join(s.Dir, "server.log") }

// Tail is the end of the server's log.
func (s *Site) Tail() string {
	text, _ := os.ReadFile(s.Log()) // without it there is nothing to show
	return string(text[max(0, len(text)-2000):])
}

// Stop ends the process as an operator would, and returns the mistake in its end.
func (s *Site) Stop() error { return s.end(syscall.SIGTERM) }

// Kill ends the process at once.
func (s *Site) Kill() { _ = s.end(syscall.SIGKILL) }

func (s *Site) end(signal os.Signal) error {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.mu.Unlock()
	if cmd == nil {
		return nil
	}
	_ = cmd.Process.Signal(signal) // it may have ended
	select {
	case <-ended:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.failed
	case <-time.After(StopLimit + 5*time.Second):
	}
	dump := s.quit(cmd, ended)
	return errors.New("the server did not stop within its time; its goroutines are in " + dump)
}
