// Package site runs the server under test as a process, with everything switched on.
package site

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/capstan-dev/capstan/internal/balancer"
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
	// Etcd is a program that runs an etcd. Servers are then that many processes with their objects
	// there, which share the connections of clients.
	Etcd    string
	Servers int
	Members int // of the etcd; 0 means one
	// Apart is the time by which clocks are wrong (clock.Of). The binary is one of package clock then.
	Apart time.Duration
}

// Shared reports whether several processes share an etcd.
func (o *Options) Shared() bool { return o.Etcd != "" }

// Site is a server that can be stopped, killed and started again, or several of them on one etcd.
type Site struct {
	Options
	URL string

	processes []*process
	etcd      etcd
	balancer  *balancer.Balancer
	turn      atomic.Int64 // of the processes to which something happens

	mu     sync.Mutex
	paused time.Duration // all the time that a process stood still
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
	s.processes = []*process{{site: s}}
	if o.Shared() {
		if err := s.share(); err != nil {
			return nil, err
		}
	}
	return s, s.Launch(ctx)
}

// share starts the etcd and the balancer of several processes.
func (s *Site) share() (err error) {
	if s.etcd, err = startEtcd(s.Etcd, filepath.Join(s.Dir, "etcd"), max(s.Members, 1)); err != nil {
		return err
	}
	if s.balancer, err = balancer.New(); err != nil {
		return err
	}
	s.URL, s.processes = "https://"+s.balancer.Address(), nil
	for i := range s.Servers {
		s.processes = append(s.processes, &process{site: s, number: i})
	}
	return nil
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

// Launch starts the processes that do not run, again perhaps, and waits until they are ready.
func (s *Site) Launch(ctx context.Context) error {
	for _, p := range s.processes {
		if p.runs() {
			continue
		}
		if err := p.launch(ctx); err != nil {
			return err
		}
	}
	if !s.Shared() {
		s.URL = s.processes[0].url
		return nil
	}
	var all []string
	for _, p := range s.processes {
		all = append(all, strings.TrimPrefix(p.url, "https://"))
	}
	s.balancer.Use(all...)
	return nil
}

// URLs are those of the servers, past the balancer.
func (s *Site) URLs() (all []string) {
	for _, p := range s.processes {
		all = append(all, p.url)
	}
	return all
}

// next is the process to which something happens now.
func (s *Site) next() *process { return s.processes[int(s.turn.Add(1))%len(s.processes)] }

// Transport connects to the server, whose certificate is its own and of this machine.
func Transport(http2 bool) *http.Transport {
	return &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: http2, MaxIdleConnsPerHost: 4}
}

// Ask is a GET by the administrator on a connection of its own.
func (s *Site) Ask(ctx context.Context, path string) (int, []byte, error) {
	return ask(ctx, s.URL, path)
}

// ask is a GET by the administrator of a URL.
func ask(ctx context.Context, url, path string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
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

// Log is the file with the log of the server, or of the first one.
func (s *Site) Log() string { return s.processes[0].log() }

// Tail is the end of the logs of the servers.
func (s *Site) Tail() (text string) {
	for _, p := range s.processes {
		text += p.tail()
	}
	return text
}

// Stop ends the site as an operator would, and returns the mistakes in its end.
func (s *Site) Stop() error {
	var all []error
	for _, p := range s.processes {
		all = append(all, p.end(syscall.SIGTERM))
	}
	s.close()
	return errors.Join(all...)
}

// Kill ends the site at once.
func (s *Site) Kill() {
	for _, p := range s.processes {
		_ = p.end(syscall.SIGKILL)
	}
	s.close()
}

// close ends the etcd and the balancer.
func (s *Site) close() {
	if s.Shared() {
		_ = s.balancer.Close()
		s.etcd.close()
	}
}

// StopOne ends the server, or the next one of several, as an operator would.
func (s *Site) StopOne() error { return s.next().end(syscall.SIGTERM) }

// KillOne ends the server, or the next one of several, at once.
func (s *Site) KillOne() error {
	_ = s.next().end(syscall.SIGKILL) // it is killed
	return nil
}
