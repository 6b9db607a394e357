package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/capstan-dev/capstan/internal/storetest/smalldisk"
	"github.com/capstan-dev/capstan/server"
)

// bigConfigMap is a body with a value that does not compress.
func bigConfigMap(name string, size int) []byte {
	value, x := make([]byte, size), uint64(len(name))*2654435761+uint64(size)
	for i := range value {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		value[i] = 'a' + byte(x%26)
	}
	return fmt.Appendf(nil, `{"metadata":{"name":%q},"data":{"v":%q}}`, name, value)
}

// ready checks the answers of /readyz and /livez.
func (h *harness) ready(want bool) {
	h.t.Helper()
	code := http.StatusOK
	if !want {
		code = http.StatusInternalServerError
	}
	if r := h.send("GET", "/readyz", "", nil); r.code != code || !want && !strings.Contains(string(r.body), "[-]etcd failed") {
		h.t.Errorf("/readyz: %d %s, expected %d", r.code, r.body, code)
	}
	if r := h.send("GET", "/livez", "", nil); r.code != http.StatusOK {
		h.t.Errorf("/livez: %d %s; a restart does not help a disk", r.code, r.body)
	}
}

// A disk that breaks: writes fail without effect, /readyz reports it, reads go on, and a
// restart on a working disk finds all acknowledged writes.
func TestBrokenDisk(t *testing.T) {
	for name, kinds := range map[string][]errorfs.OpKind{
		"log":       {errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
		"sync only": {errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
	} {
		t.Run(name, func(t *testing.T) {
			var broken atomic.Bool
			mem := vfs.NewCrashableMem()
			disk := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !broken.Load() {
					return nil
				}
				for _, kind := range kinds {
					if op.Kind == kind {
						return errors.New("the disk is broken")
					}
				}
				return nil
			}))
			h := startServer(t, func(c *server.Config) { c.InMemory, c.DataDir, c.FS = false, "data", disk })
			if r := h.send("POST", configMaps, "application/json", bigConfigMap("kept", 100)); r.code != http.StatusCreated {
				t.Fatalf("%d %s", r.code, r.body)
			}
			h.ready(true)
			broken.Store(true)
			for range 2 {
				if r := h.send("POST", configMaps, "application/json", bigConfigMap("lost", 100)); r.code != http.StatusInternalServerError {
					t.Errorf("a create on a broken disk: %d %s", r.code, r.body)
				}
			}
			h.ready(false)
			if r := h.send("GET", configMaps+"/kept", "", nil); r.code != http.StatusOK {
				t.Errorf("a get on a broken disk: %d %s", r.code, r.body)
			}
			if r := h.send("GET", configMaps+"/lost", "", nil); r.code != http.StatusNotFound {
				t.Errorf("a write that was not acknowledged can be read: %d", r.code)
			}
			if r := h.send("GET", configMaps, "", nil); r.code != http.StatusOK || !strings.Contains(string(r.body), `"kept"`) {
				t.Errorf("a list on a broken disk: %d %s", r.code, r.body)
			}
			crashed := mem.CrashClone(vfs.CrashCloneCfg{})
			again := startServer(t, func(c *server.Config) { c.InMemory, c.DataDir, c.FS = false, "data", crashed })
			if r := again.send("GET", configMaps+"/kept", "", nil); r.code != http.StatusOK {
				t.Errorf("after a restart: %d %s", r.code, r.body)
			}
			again.ready(true)
		})
	}
}

// A full disk: creates are refused with a reason, reads and deletes go on, and with space
// the server becomes ready again without a restart.
func TestFullDisk(t *testing.T) {
	disk := smalldisk.New(vfs.NewMem(), 160<<20)
	h := startServer(t, func(c *server.Config) { c.InMemory, c.DataDir, c.FS, c.History = false, "data", disk, time.Second })
	h.ready(true)
	names := []string{}
	var refused reply
	for n := 0; n < 2000; n++ {
		name := fmt.Sprintf("big-%d", n)
		if refused = h.send("POST", configMaps, "application/json", bigConfigMap(name, 500_000)); refused.code == http.StatusCreated {
			names = append(names, name)
		} else if refused.code != http.StatusInsufficientStorage || h.get("/readyz").code != http.StatusOK {
			break // and no compaction has just freed its space
		}
	}
	var status struct{ Reason, Message string }
	if err := json.Unmarshal(refused.body, &status); err != nil || refused.code != http.StatusInsufficientStorage || !strings.Contains(status.Message, "disk") {
		t.Fatalf("create %d on a full disk: %d %s", len(names), refused.code, refused.body)
	}
	if r := h.get("/livez"); r.code != http.StatusOK {
		t.Errorf("/livez: %d %s; a restart does not help a disk", r.code, r.body)
	}
	if r := h.send("GET", configMaps+"/"+names[0], "", nil); r.code != http.StatusOK {
		t.Errorf("a get on a full disk: %d", r.code)
	}
	if r := h.send("GET", configMaps+"?limit=2", "", nil); r.code != http.StatusOK {
		t.Errorf("a list on a full disk: %d", r.code)
	}
	if r := h.send("DELETE", configMaps+"/"+names[1], "", nil); r.code != http.StatusOK {
		t.Errorf("a delete on a full disk: %d %s", r.code, r.body)
	}
	disk.Resize(400 << 20)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if r := h.send("POST", configMaps, "application/json", bigConfigMap("again", 100)); r.code == http.StatusCreated {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("half a minute after space has come: %d %s", r.code, r.body)
		}
	}
	h.ready(true)
}
