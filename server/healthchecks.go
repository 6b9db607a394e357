package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/discovery"
)

// healthChecks returns the checks of an endpoint: livez, readyz or healthz. They have the
// names of 1.25, where the store is etcd.
func (s *Server) healthChecks(endpoint string) []discovery.Check {
	ok := func() error { return nil }
	checks := []discovery.Check{{Name: "ping", Check: ok}, {Name: "log", Check: ok}}
	if endpoint == "livez" {
		checks = append(checks, discovery.Check{Name: "etcd", Check: s.storeReads})
	} else {
		checks = append(checks, discovery.Check{Name: "etcd", Check: s.store.Healthy})
	}
	if endpoint == "readyz" {
		// The followers of the store are ready before the port is open.
		checks = append(checks, discovery.Check{Name: "etcd-readiness", Check: s.store.Healthy}, discovery.Check{Name: "informer-sync", Check: ok})
	}
	for _, h := range s.controllers.Hooks() {
		checks = append(checks, discovery.Check{Name: h.Name, Check: func() error { return h.Check(s.excuses(endpoint)) }})
	}
	if services := s.cipher.Checks(); !s.cfg.EncryptionConfigReload {
		for i, check := range services {
			checks = append(checks, discovery.Check{Name: fmt.Sprintf("kms-provider-%d", i), Check: check})
		}
	} else { // one check for as many services as there are
		checks = append(checks, discovery.Check{Name: "kms-providers", Check: func() (err error) {
			for _, check := range services {
				err = errors.Join(err, check())
			}
			return err
		}})
	}
	if endpoint == "readyz" {
		checks = append(checks, discovery.Check{Name: "shutdown", Check: func() error {
			if s.leaving.Load() {
				return errors.New("process is shutting down") // the words of 1.25
			}
			return nil
		}})
	}
	return checks
}

// excuses reports whether an endpoint excuses steps of the start that are not done yet.
func (s *Server) excuses(endpoint string) bool {
	return endpoint == "livez" && s.cfg.Clock().Before(s.started.Add(s.cfg.LivezGracePeriod))
}

// Live reports the failing check of /livez; nil for a server that lives.
func (s *Server) Live() error {
	for _, c := range s.healthChecks("livez") {
		if err := c.Check(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// storeReads is nil while the store can be read. A failure to write does not
// count: a restart would not repair the disk.
func (s *Server) storeReads() error {
	ctx, cancel := context.WithTimeout(context.Background(), livenessWait)
	defer cancel()
	if _, err := s.store.Get(ctx, s.catalog.Snapshot().Core("namespaces").Key("", "default")); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// livenessWait bounds a read of a store that is alive.
const livenessWait = 2 * time.Second
