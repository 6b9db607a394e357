package command

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestStoreCheckRelease: a store with objects of a later kind is served by the releases that the check accepts, and by others
// with --hide-newer-objects, which warns once.
func TestStoreCheckRelease(t *testing.T) {
	const why = "release 1.25 lacks kinds of objects in the store: 1 volumeattributesclasses.storage.k8s.io; serve one of 1.34, 1.35, 1.36"
	data := t.TempDir()
	var log bytes.Buffer
	in := func(release string, do func(h *harness.Server)) {
		t.Run(release, func(t *testing.T) {
			do(harness.Start(t, func(c *server.Config) {
				c.InMemory, c.DataDir, c.EmulatedVersion, c.HideNewerObjects = false, data, []string{release}, release == "1.25"
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			}))
		})
	}
	in("1.36", func(h *harness.Server) {
		h.Post("/apis/storage.k8s.io/v1/volumeattributesclasses", `{"metadata":{"name":"gold"},"driverName":"d.example.com","parameters":{"a":"b"}}`).
			Expect(h.T, http.StatusCreated, "")
	})
	if out := must(t, "store", "check", "--data-dir", data, "--emulated-version", "1.35"); !strings.HasPrefix(out, "no violations") {
		t.Errorf("the check for 1.35: %s", out)
	}
	if code, _, stderr := command("store", "check", "--data-dir", data, "--emulated-version", "1.25"); code != 1 || !strings.Contains(stderr, why) {
		t.Errorf("the check for 1.25 ended with %d: %s", code, stderr)
	}
	if code, _, stderr := command("serve", "--secure-port=0", "--data-dir", data); code != 1 || !strings.Contains(stderr, why) {
		t.Errorf("the server of 1.25 ended with %d: %s", code, stderr)
	}
	log.Reset()
	in("1.25", func(*harness.Server) {})
	if n := strings.Count(log.String(), why); n != 1 {
		t.Errorf("%d warnings in %s", n, &log)
	}
}
