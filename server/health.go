package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
)

// healthChecks gives the checks of an endpoint: livez, readyz or healthz. They have
// the names of 1.25, where the store is etcd.
func (s *Server) healthChecks(endpoint string) []discovery.Check {
	ok := func() error { return nil }
	checks := []discovery.Check{{Name: "ping", Check: ok}, {Name: "log", Check: ok}}
	if endpoint == "livez" {
		checks = append(checks, discovery.Check{Name: "etcd", Check: s.storeReads})
	} else {
		checks = append(checks, discovery.Check{Name: "etcd", Check: s.store.Healthy})
	}
	if endpoint == "readyz" {
		// What follows the store has followed it from before the port was open.
		checks = append(checks, discovery.Check{Name: "etcd-readiness", Check: s.store.Healthy}, discovery.Check{Name: "informer-sync", Check: ok})
	}
	for _, h := range s.startup.hooks() {
		checks = append(checks, discovery.Check{Name: h.name, Check: func() error {
			grace := endpoint == "livez" && s.cfg.now().Before(s.started.Add(s.cfg.LivezGracePeriod))
			if h.step == nil || grace || h.step.finished() {
				return nil
			}
			return errors.New("not finished")
		}})
	}
	if endpoint == "readyz" {
		checks = append(checks, discovery.Check{Name: "shutdown", Check: func() error {
			if s.leaving.Load() {
				return errors.New("the server is shutting down")
			}
			return nil
		}})
	}
	return checks
}

// Live reports what /livez would find wrong; nil for a server that lives.
func (s *Server) Live() error {
	for _, c := range s.healthChecks("livez") {
		if err := c.Check(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// storeReads is nil while the store reads. A store that only does not write is no
// reason for a restart, which would not help the disk.
func (s *Server) storeReads() error {
	ctx, cancel := context.WithTimeout(context.Background(), livenessWait)
	defer cancel()
	if _, err := s.store.Get(ctx, s.core("namespaces").Key("", "default")); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return nil
}

// livenessWait is how long a store that is alive needs at most for a read.
const livenessWait = 2 * time.Second

// health answers one of the health endpoints (specification, "Health and
// metrics endpoints"), whole or one check of it.
func (s *Server) health(endpoint, only string) func(*request) error {
	return func(r *request) error {
		checks := s.healthChecks(endpoint)
		if only != "" {
			return s.oneCheck(r, checks, only)
		}
		r.query.get("exclude")
		lines, failed := discovery.ReportHealth(checks, r.query.values["exclude"])
		if len(failed) > 0 {
			s.log.Warn("health check failed", "endpoint", endpoint, "checks", strings.Join(failed, ","))
			return s.text(r, http.StatusInternalServerError, lines+endpoint+" check failed\n")
		}
		if !r.query.has("verbose") {
			return s.text(r, http.StatusOK, "ok")
		}
		return s.text(r, http.StatusOK, lines+endpoint+" check passed\n")
	}
}

func (s *Server) oneCheck(r *request, checks []discovery.Check, name string) error {
	for _, c := range checks {
		if c.Name != name {
			continue
		}
		if err := c.Check(); err != nil {
			return s.text(r, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
		}
		return s.text(r, http.StatusOK, "ok")
	}
	return s.text(r, http.StatusNotFound, "404 page not found\n")
}

// storeComponent is what clients know the store as.
const storeComponent = "etcd-0"

// components are the parts of the server as objects, of which nothing is stored: the
// store. Schedulers and managers of controllers that may run beside it are not asked how
// they are.
func (s *Server) components(res *catalog.Row) (objectView, error) {
	text := `{"metadata":{"name":"` + storeComponent + `"},"conditions":[{"type":"Healthy","status":"True"}]}`
	doc, err := s.decodeOwn(res, []byte(text))
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	if err := s.store.Healthy(); err != nil {
		condition := doc.Root().Get("conditions").Index(0)
		condition.SetString("status", "False")
		condition.SetString("message", err.Error())
	}
	value := store.Value{Meta: selector.AppendMeta(nil, doc.Root(), res.Selectable), Body: doc.Root().AppendJSON(nil), RevisionAt: -1}
	return objectView{{Key: res.Key("", storeComponent), Value: value}}, nil
}

// objectView is a view of objects that are not stored, in the order of their keys. It
// is at no revision.
type objectView []store.Entry

func (v objectView) Revision() uint64 { return 0 }
func (v objectView) Close() error     { return nil }

func (v objectView) Get(key string) (store.Entry, error) {
	for _, e := range v {
		if e.Key == key {
			return e, nil
		}
	}
	return store.Entry{}, store.ErrNotFound
}

func (v objectView) GetEach(_ context.Context, keys []string, visit func(e *store.Entry) bool) error {
	for _, key := range keys {
		if e, err := v.Get(key); err == nil && !visit(&e) {
			break
		}
	}
	return nil
}

func (v objectView) Scan(_ context.Context, prefix, from string, visit func(e *store.Entry) bool) error {
	for i := range v {
		if e := &v[i]; strings.HasPrefix(e.Key, prefix) && e.Key >= from && !visit(e) {
			break
		}
	}
	return nil
}

func (v objectView) ScanMeta(ctx context.Context, prefix, from string, visit func(e *store.Entry) bool) error {
	return v.Scan(ctx, prefix, from, visit)
}

func (v objectView) Count(ctx context.Context, prefix, from string) (n int64, err error) {
	err = v.Scan(ctx, prefix, from, func(*store.Entry) bool { n++; return true })
	return n, err
}
