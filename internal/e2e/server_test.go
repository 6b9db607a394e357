package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// instance is a running capstan process.
type instance struct {
	cmd        *exec.Cmd
	url        string
	kubeconfig string
	log        lockedBuffer
	exited     chan error
}

// startLimit is how long a server may take to come up before a test gives up.
const startLimit = 30 * time.Second

// start runs capstan on a data directory and a free port, and returns when it
// says that it serves.
func start(dir string, args ...string) (*instance, error) {
	i := &instance{kubeconfig: filepath.Join(dir, "admin.kubeconfig"), exited: make(chan error, 1)}
	i.cmd = exec.Command(binaries.capstan, append([]string{"serve", "--data-dir", dir, "--secure-port", "0"}, args...)...)
	i.cmd.Stderr = &i.log
	stdout, err := i.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := i.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if url, ok := strings.CutPrefix(lines.Text(), "capstan listens on "); ok {
				i.url = url
			}
			if strings.HasPrefix(lines.Text(), "export KUBECONFIG=") {
				ready <- i.url
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		i.exited <- i.cmd.Wait()
		close(i.exited)
	}()
	select {
	case <-ready:
		return i, nil
	case err := <-i.exited:
		return nil, fmt.Errorf("capstan ended at once: %w\n%s", err, i.log.String())
	case <-time.After(startLimit):
		_ = i.cmd.Process.Kill()
		return nil, fmt.Errorf("capstan did not come up in %s\n%s", startLimit, i.log.String())
	}
}

// stop ends the server as an operator would, and reports how it went.
func (i *instance) stop() error {
	if err := i.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-i.exited:
		return err
	case <-time.After(startLimit):
		_ = i.cmd.Process.Kill()
		return errors.New("capstan did not stop after SIGTERM")
	}
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
