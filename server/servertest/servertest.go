// Package servertest gives tests a real server: it runs in the process of the test, in
// memory, and starts within milliseconds. There is no other fake, so a client meets the
// same rules, conflicts and watches as later.
package servertest

import (
	"context"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/server"
)

// stopTimeout is how long a server may take to end.
const stopTimeout = 10 * time.Second

// Server is a running server, and the configuration of a client that may do everything.
type Server struct {
	*server.Server
	Config client.Config
}

// Start starts a server that ends with the test. It has no controllers, so that nothing
// changes unless the test does it, and pods need no account; change adapts its configuration
// before. The alpha versions of an API of its own are on.
func Start(t testing.TB, change ...func(*server.Config)) *Server {
	t.Helper()
	s, stop, err := Run(change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	return s
}

// Release has the server serve a release: of an API whose documents have several, Release("fleet.example.com=1.0"), or of the
// built-in kinds, Release("1.33").
func Release(release string) func(*server.Config) {
	return func(c *server.Config) { c.EmulatedVersion = append(c.EmulatedVersion, release) }
}

// Run is Start for programs that are not a test: stop ends the server.
func Run(change ...func(*server.Config)) (s *Server, stop func() error, err error) {
	config := server.Config{InMemory: true}
	config.Controllers = []string{"-*"}
	config.DisableAdmissionPlugins = []string{"ServiceAccount"}
	for _, f := range change {
		f(&config)
	}
	own, err := config.Emulated(config.API)
	if err != nil {
		return nil, nil, err
	}
	if own != nil { // alpha versions are off elsewhere; a test of an API is about all of its own
		for _, gv := range own.Groups() {
			if gv.Off {
				config.RuntimeConfig = append([]string{gv.APIVersion() + "=true"}, config.RuntimeConfig...)
			}
		}
	}
	ctx := context.Background()
	running, err := server.Start(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	stop = func() error {
		ctx, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		return running.Shutdown(ctx)
	}
	<-running.Bootstrapped()
	s = &Server{Server: running}
	if s.Config, _, err = client.ParseKubeconfig(running.Kubeconfig(), ""); err != nil {
		_ = stop()
		return nil, nil, err
	}
	return s, stop, nil
}
