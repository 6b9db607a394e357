// Package health tells what works: the checks of /livez, /readyz and /healthz.
package health

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/background"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Config holds the parts that the checks look at.
type Config struct {
	Clock       func() time.Time
	Store       store.Store
	Catalog     *catalog.Catalog
	Controllers *background.Controllers
	Cipher      *encryption.Cipher // nil for none
	// KeysReload has one check for all key services, whose number may change.
	KeysReload bool
	// HealthTimeout and ReadyTimeout bound the questions of the checks etcd and etcd-readiness to
	// a shared store.
	HealthTimeout, ReadyTimeout time.Duration
	// LivezGracePeriod is the time from the start in which /livez excuses its steps.
	LivezGracePeriod time.Duration
}

// Health is the state of a server. It is begun when the server starts.
type Health struct {
	cfg     Config
	started time.Time
	leaving atomic.Bool
}

// New makes the health of a server that starts now.
func New(cfg Config) *Health { return &Health{cfg: cfg, started: cfg.Clock()} }

// Leave makes /readyz fail: the server will stop.
func (h *Health) Leave() { h.leaving.Store(true) }

// Checks returns the checks of an endpoint: livez, readyz or healthz. They have the
// names of 1.25, where the store is etcd.
func (h *Health) Checks(endpoint string) []Check {
	ok := func() error { return nil }
	checks := []Check{{Name: "ping", Check: ok}, {Name: "log", Check: ok}}
	if endpoint == "livez" {
		checks = append(checks, Check{Name: "etcd", Check: h.storeReads})
	} else {
		checks = append(checks, Check{Name: "etcd", Check: h.storeAnswers(h.cfg.HealthTimeout)})
	}
	if endpoint == "readyz" {
		// The followers of the store are ready before the port is open.
		checks = append(checks, Check{Name: "etcd-readiness", Check: h.storeAnswers(h.cfg.ReadyTimeout)}, Check{Name: "informer-sync", Check: ok})
	}
	for _, hook := range h.cfg.Controllers.Hooks() {
		checks = append(checks, Check{Name: hook.Name, Check: func() error { return hook.Check(h.Excuses(endpoint)) }})
	}
	if services := h.cfg.Cipher.Checks(); !h.cfg.KeysReload {
		for i, check := range services {
			checks = append(checks, Check{Name: fmt.Sprintf("kms-provider-%d", i), Check: check})
		}
	} else { // one check for as many services as there are
		checks = append(checks, Check{Name: "kms-providers", Check: func() (err error) {
			for _, check := range services {
				err = errors.Join(err, check())
			}
			return err
		}})
	}
	if endpoint == "readyz" {
		checks = append(checks, Check{Name: "shutdown", Check: func() error {
			if h.leaving.Load() {
				return errors.New("process is shutting down") // the words of 1.25
			}
			return nil
		}})
	}
	return checks
}

// Excuses reports whether an endpoint excuses steps of the start that are not done yet.
func (h *Health) Excuses(endpoint string) bool {
	return endpoint == "livez" && h.cfg.Clock().Before(h.started.Add(h.cfg.LivezGracePeriod))
}

// Live reports the failing check of /livez; nil for a server that lives.
func (h *Health) Live() error {
	for _, c := range h.Checks("livez") {
		if err := c.Check(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// storeReads is nil while the store can be read. A failure to write does not
// count: a restart would not repair the disk.
func (h *Health) storeReads() error {
	ctx, cancel := context.WithTimeout(context.Background(), livenessWait)
	defer cancel()
	if _, err := h.cfg.Store.Get(ctx, h.cfg.Catalog.Snapshot().Core("namespaces").Key("", "default")); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// storeAnswers is nil while the store accepts writes and this server has its newest state: a server
// that shares the store is behind the others for a moment, and not longer than the timeout.
func (h *Health) storeAnswers(timeout time.Duration) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		_, err := h.cfg.Store.Newest(ctx)
		return errors.Join(h.cfg.Store.Healthy(), err)
	}
}

// livenessWait bounds a read of a store that is alive.
const livenessWait = 2 * time.Second
