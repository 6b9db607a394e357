package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestNewerObjects: a release that lacks kinds of stored objects does not start, unless it may hide them.
func TestNewerObjects(t *testing.T) {
	const (
		classes  = "/apis/storage.k8s.io/v1/volumeattributesclasses"
		policies = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
		ranges   = "/apis/networking.k8s.io/v1/servicecidrs"
		services = "/api/v1/namespaces/default/services"
	)
	dir := t.TempDir()
	config := func(release string, hides bool) func(c *server.Config) {
		return func(c *server.Config) {
			emulating(release)(c)
			c.InMemory, c.DataDir, c.HideNewerObjects = false, dir, hides
		}
	}
	in := func(release string, hides bool, do func(h *harness.Server)) {
		t.Run(release, func(t *testing.T) { do(harness.Start(t, config(release, hides))) })
	}
	refused := func(release, want string) {
		t.Helper()
		c := server.Config{}
		config(release, false)(&c)
		if s, err := harness.Launch(t.Context(), c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s starts: %v, want %s", release, err, want)
			if err == nil {
				_ = s.Shutdown(t.Context())
			}
		}
	}
	in("1.36", false, func(h *harness.Server) { // objects that the server makes by itself do not count
		h.Post(services, `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}}`).Expect(h.T, http.StatusCreated, "")
	})
	in("1.25", false, func(h *harness.Server) { h.Get(services+"/s").Expect(h.T, http.StatusOK, "") })
	in("1.30", false, func(h *harness.Server) { h.Get(services+"/s").Expect(h.T, http.StatusOK, "") })
	in("1.36", false, func(h *harness.Server) {
		h.Post(classes, `{"metadata":{"name":"gold"},"driverName":"d.example.com","parameters":{"a":"b"}}`).Expect(h.T, http.StatusCreated, "")
		h.Define(`{"type":"object"}`, "") // custom objects do not count
		h.MutateFor("changed", `"mutations":[`+harness.ConfigurationChange(`Object{data: {"a": "b"}}`)+`]`)
	})
	refused("1.25", "--emulated-version 1.25: release 1.25 lacks kinds of objects in the store: 1 volumeattributesclasses.storage.k8s.io; "+
		"serve one of 1.34, 1.35, 1.36, or delete them there (capstan store check --emulated-version 1.25 shows those left), or start with --hide-newer-objects")
	refused("1.30", "--emulated-version 1.30: the store has storage.k8s.io/volumeattributesclasses/gold in version storage.k8s.io/v1, which this release does not have")
	in("1.34", false, func(h *harness.Server) { h.Get(classes+"/gold").Expect(h.T, http.StatusOK, "") })
	in("1.25", true, func(h *harness.Server) { h.Get(classes).Expect(h.T, http.StatusNotFound, "") })
	in("1.36", false, func(h *harness.Server) {
		h.Get(classes+"/gold").Expect(h.T, http.StatusOK, "")
		h.Get(policies+"/changed").Expect(h.T, http.StatusOK, "")
		h.Post(ranges, `{"metadata":{"name":"more"},"spec":{"cidrs":["10.9.0.0/24"]}}`).Expect(h.T, http.StatusCreated, "")
	})
	refused("1.26", "--emulated-version 1.26: release 1.26 lacks kinds of objects in the store: 1 servicecidrs.networking.k8s.io, 1 volumeattributesclasses.storage.k8s.io; serve one of")
}
