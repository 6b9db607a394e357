package operate_test

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
	"github.com/capstan-dev/capstan/server/internal/harness"
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
func ready(h *harness.Server, want bool) {
	h.T.Helper()
	code := http.StatusOK
	if !want {
		code = http.StatusInternalServerError
	}
	if r := h.Send("GET", "/readyz", "", nil); r.Code != code || !want && !strings.Contains(string(r.Body), "[-]etcd failed") {
		h.T.Errorf("/readyz: %d %s, expected %d", r.Code, r.Body, code)
	}
	if r := h.Send("GET", "/livez", "", nil); r.Code != http.StatusOK {
		h.T.Errorf("/livez: %d %s; a restart does not help a disk", r.Code, r.Body)
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
			h := harness.Start(t, func(c *server.Config) { c.InMemory, c.DataDir, c.FS = false, "data", disk })
			if r := h.Send("POST", harness.ConfigMaps, "application/json", bigConfigMap("kept", 100)); r.Code != http.StatusCreated {
				t.Fatalf("%d %s", r.Code, r.Body)
			}
			ready(h, true)
			broken.Store(true)
			for range 2 {
				if r := h.Send("POST", harness.ConfigMaps, "application/json", bigConfigMap("lost", 100)); r.Code != http.StatusInternalServerError {
					t.Errorf("a create on a broken disk: %d %s", r.Code, r.Body)
				}
			}
			ready(h, false)
			if r := h.Send("GET", harness.ConfigMaps+"/kept", "", nil); r.Code != http.StatusOK {
				t.Errorf("a get on a broken disk: %d %s", r.Code, r.Body)
			}
			if r := h.Send("GET", harness.ConfigMaps+"/lost", "", nil); r.Code != http.StatusNotFound {
				t.Errorf("a write that was not acknowledged can be read: %d", r.Code)
			}
			if r := h.Send("GET", harness.ConfigMaps, "", nil); r.Code != http.StatusOK || !strings.Contains(string(r.Body), `"kept"`) {
				t.Errorf("a list on a broken disk: %d %s", r.Code, r.Body)
			}
			crashed := mem.CrashClone(vfs.CrashCloneCfg{})
			again := harness.Start(t, func(c *server.Config) { c.InMemory, c.DataDir, c.FS = false, "data", crashed })
			if r := again.Send("GET", harness.ConfigMaps+"/kept", "", nil); r.Code != http.StatusOK {
				t.Errorf("after a restart: %d %s", r.Code, r.Body)
			}
			ready(again, true)
		})
	}
}

// A full disk: creates are refused with a reason, reads and deletes go on, and with space
// the server becomes ready again without a restart.
func TestFullDisk(t *testing.T) {
	disk := smalldisk.New(vfs.NewMem(), 160<<20)
	h := harness.Start(t, func(c *server.Config) { c.InMemory, c.DataDir, c.FS, c.History = false, "data", disk, time.Second })
	ready(h, true)
	names := []string{}
	var refused harness.Reply
	for n := 0; n < 2000; n++ {
		name := fmt.Sprintf("big-%d", n)
		if refused = h.Send("POST", harness.ConfigMaps, "application/json", bigConfigMap(name, 500_000)); refused.Code == http.StatusCreated {
			names = append(names, name)
		} else if refused.Code != http.StatusInsufficientStorage || h.Get("/readyz").Code != http.StatusOK {
			break // and no compaction has just freed its space
		}
	}
	var status struct{ Reason, Message string }
	if err := json.Unmarshal(refused.Body, &status); err != nil || refused.Code != http.StatusInsufficientStorage || !strings.Contains(status.Message, "no space left") {
		t.Fatalf("create %d on a full disk: %d %s", len(names), refused.Code, refused.Body)
	}
	if r := h.Get("/livez"); r.Code != http.StatusOK {
		t.Errorf("/livez: %d %s; a restart does not help a disk", r.Code, r.Body)
	}
	if r := h.Send("GET", harness.ConfigMaps+"/"+names[0], "", nil); r.Code != http.StatusOK {
		t.Errorf("a get on a full disk: %d", r.Code)
	}
	if r := h.Send("GET", harness.ConfigMaps+"?limit=2", "", nil); r.Code != http.StatusOK {
		t.Errorf("a list on a full disk: %d", r.Code)
	}
	if r := h.Send("DELETE", harness.ConfigMaps+"/"+names[1], "", nil); r.Code != http.StatusOK {
		t.Errorf("a delete on a full disk: %d %s", r.Code, r.Body)
	}
	disk.Resize(400 << 20)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if r := h.Send("POST", harness.ConfigMaps, "application/json", bigConfigMap("again", 100)); r.Code == http.StatusCreated {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("half a minute after space has come: %d %s", r.Code, r.Body)
		}
	}
	ready(h, true)
}
