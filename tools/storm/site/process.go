package site

import (
	"bufio"
	"context"
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

	"github.com/capstan-dev/capstan/tools/storm/clock"
)

// process is a server's process.
type process struct {
	site   *Site
	number int
	url    string

	mu     sync.Mutex
	cmd    *exec.Cmd
	ended  chan struct{} // closed when the process is gone
	failed error         // how it ended
}

// runs reports whether the process was started and has not ended.
func (p *process) runs() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) flags() []string {
	s := p.site
	port := "0"
	if p.url != "" {
		port = p.url[strings.LastIndexByte(p.url, ':')+1:] // clients come back to the same place
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
	if s.Shared() {
		return append(flags, "--etcd-servers", s.etcd.urls(), "--data-dir", fmt.Sprint(s.DataDir(), p.number), "--cert-dir", filepath.Join(s.Dir, "pki"))
	}
	if s.Memory {
		return append(flags, "--in-memory", "--write-kubeconfig", filepath.Join(s.Dir, "admin.kubeconfig"))
	}
	return append(flags, "--data-dir", s.DataDir())
}

// launch starts the process, again perhaps, and waits until it is ready.
func (p *process) launch(ctx context.Context) error {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the process has a descriptor of its own
	cmd := exec.Command(p.site.Binary, p.flags()...)
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	if s := p.site; s.Apart != 0 {
		cmd.Env = append(cmd.Env, clock.Fast(clock.Of(p.number, s.Apart)))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, url := make(chan struct{}), make(chan string, 1)
	p.mu.Lock()
	p.cmd, p.ended = cmd, ended
	p.mu.Unlock()
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if at, ok := strings.CutPrefix(lines.Text(), "capstan listens on "); ok {
				url <- at
			}
		}
		_, _ = io.Copy(io.Discard, out)
		err := cmd.Wait()
		p.mu.Lock()
		p.failed = err
		p.mu.Unlock()
		close(ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case at := <-url:
		p.url = at
		return p.awaitReady(ctx)
	case <-ended:
		return fmt.Errorf("the server ended at once: %s", p.tail())
	case <-ctx.Done():
		return fmt.Errorf("the server does not listen after %s: %s", startLimit, p.tail())
	}
}

func (p *process) awaitReady(ctx context.Context) error {
	for {
		if code, _, err := ask(ctx, p.url, "/readyz"); err == nil && code == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready: %s", p.tail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// log is the file with the process's log.
func (p *process) log() string {
	if !p.site.Shared() {
		return filepath.Join(p.site.Dir, "server.log")
	}
	return filepath.Join(p.site.Dir, fmt.Sprintf("server-%d.log", p.number))
}

// tail is the end of the log.
func (p *process) tail() string {
	text, _ := os.ReadFile(p.log()) // without it there is nothing to show
	return string(text[max(0, len(text)-2000):])
}

// signal sends a signal to the process, which may have ended.
func (p *process) signal(signal os.Signal) {
	p.mu.Lock()
	cmd := p.cmd
	p.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Signal(signal)
	}
}

// end sends a signal, and waits until the process is gone. It returns the mistake in its end.
func (p *process) end(signal os.Signal) error {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	if ended == nil {
		return nil
	}
	p.signal(signal)
	select {
	case <-ended:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.failed
	case <-time.After(StopLimit + 5*time.Second):
	}
	return errors.New("the server did not stop within its time; its goroutines are in " + p.quit())
}

// dump writes all goroutines into a file and returns the file's name: by the process's profile, or
// by SIGQUIT, which ends the process, when it does not answer.
func (p *process) dump(ctx context.Context) string {
	if code, text, err := ask(ctx, p.url, "/debug/pprof/goroutine?debug=2"); err == nil && code == http.StatusOK {
		file := filepath.Join(p.site.Dir, fmt.Sprintf("goroutines-%d.txt", p.number))
		if os.WriteFile(file, text, 0o600) == nil {
			return file
		}
	}
	return p.quit()
}

// quit has the runtime write all goroutines into the log and end.
func (p *process) quit() string {
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	p.signal(syscall.SIGQUIT)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		p.signal(syscall.SIGKILL)
		<-ended
	}
	return p.log()
}
