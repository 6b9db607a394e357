package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// instance is a running capstan process.
type instance struct {
	cmd        *exec.Cmd
	url        string
	kubeconfig string
	log        lockedBuffer
	exited     chan error
}

// startLimit bounds the time of a server's start, of its end, and of steps on the way,
// before a test gives up; testLimit that of most tests. Machines may do much else.
const (
	startLimit = 2 * time.Minute
	testLimit  = 5 * time.Minute
)

// start runs capstan on a data directory and a free port, and returns when it is serving.
func start(dir string, args ...string) (*instance, error) {
	return startBinary(binaries.capstan, dir, args...)
}

func startBinary(capstan, dir string, args ...string) (*instance, error) {
	i := &instance{kubeconfig: filepath.Join(dir, "admin.kubeconfig"), exited: make(chan error, 1)}
	i.cmd = exec.Command(capstan, append([]string{"serve", "--data-dir", dir, "--secure-port", "0"}, args...)...)
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
		var url string
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "capstan listens on "); ok {
				url = text
			}
			if strings.HasPrefix(lines.Text(), "export KUBECONFIG=") {
				ready <- url
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		i.exited <- i.cmd.Wait()
		close(i.exited)
	}()
	select {
	case i.url = <-ready:
		return i, nil
	case err := <-i.exited:
		if err == nil {
			err = errors.New("exit status 0")
		}
		return nil, fmt.Errorf("capstan ended at once: %w\n%s", err, i.log.String())
	case <-time.After(startLimit):
		_ = i.cmd.Process.Kill()
		return nil, fmt.Errorf("capstan did not come up in %s\n%s", startLimit, i.log.String())
	}
}

// serve starts a server for one test, on dir or, when that is empty, on a
// directory of its own. The test fails when it does not end well.
func serve(t *testing.T, dir string, args ...string) *instance {
	t.Helper()
	if dir == "" {
		dir = t.TempDir()
	}
	return serveBinary(t, binaries.capstan, dir, args...)
}

func serveBinary(t *testing.T, capstan, dir string, args ...string) *instance {
	t.Helper()
	i, err := startBinary(capstan, dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.stop(); err != nil {
			t.Errorf("capstan: %v\n%s", err, i.log.String())
		}
	})
	i.awaitReady(t)
	return i
}

// awaitReady waits until the server is ready: the default roles have been written then.
func (i *instance) awaitReady(t *testing.T) {
	t.Helper()
	ctx, admin := testContext(t), i.client(t)
	for err := admin.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil; err = admin.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() {
		if ctx.Err() != nil {
			t.Fatalf("the server is not ready: %v\n%s", err, i.log.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// config is client-go's configuration for the server.
func (i *instance) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", i.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

func (i *instance) client(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(i.config(t))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	t.Cleanup(cancel)
	return ctx
}

// stop ends the server as an operator would, and reports how it went. A second
// call does nothing.
func (i *instance) stop() error { return i.end(syscall.SIGTERM) }

// end sends a signal and waits until the process is gone.
func (i *instance) end(signal os.Signal) error {
	if err := i.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-i.exited:
		return err
	case <-time.After(startLimit):
		_ = i.cmd.Process.Kill()
		return errors.New("capstan did not stop in time after " + signal.String())
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
