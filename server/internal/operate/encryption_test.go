package operate_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// readableOnDisk reports whether a text is in a file below a folder.
func readableOnDisk(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		found = found || bytes.Contains(b, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const secretsPath = "/api/v1/namespaces/default/secrets"

// Secrets that are encrypted are readable nowhere on the disk: neither in the store and
// its log, nor in history and backups. Another key makes their reads fail, and nothing
// else.
func TestEncryptionAtRest(t *testing.T) {
	dir := t.TempDir()
	start := func(config string) (h *harness.Server, stop func()) {
		h = harness.Start(t, func(c *server.Config) { c.InMemory, c.DataDir, c.EncryptionConfigFile = false, dir, config })
		return h, func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := h.Running.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	one := harness.EncryptionConfig(t, harness.AESKeys("1")+", {identity: {}}")
	h, stop := start(one)
	const hidden, label = "aGlkZGVuLXRleHQ=", "hidden-label" // as it is stored
	h.Create(secretsPath, `{"metadata":{"name":"s","labels":{"l":"`+label+`"}},"data":{"password":"`+hidden+`"}}`)
	h.Create(secretsPath, `{"metadata":{"name":"gone"},"data":{"password":"`+hidden+`"}}`)
	h.Create(harness.ConfigMaps, harness.ConfigMap("plain", `{"x":"visible-text"}`))
	h.MergePatch(secretsPath+"/s", `{"data":{"more":"`+hidden+`"}}`)
	h.Remove(secretsPath+"/gone", "")
	backup := filepath.Join(t.TempDir(), "backup")
	if _, err := (operate.Client{DataDir: dir}).Backup(t.Context(), backup, nil); err != nil {
		t.Fatal(err)
	}
	read := func(h *harness.Server) {
		t.Helper()
		for _, path := range []string{secretsPath + "/s", secretsPath + "?labelSelector=l%3D" + label, secretsPath} {
			if got := h.Get(path); got.Code != 200 || !bytes.Contains(got.Body, []byte(hidden)) {
				t.Errorf("%s: %d %s", path, got.Code, got.Body)
			}
		}
	}
	read(h)
	stop()
	for _, place := range []string{dir, backup} {
		if readableOnDisk(t, place, hidden) || readableOnDisk(t, place, label) || !readableOnDisk(t, place, "visible-text") || !readableOnDisk(t, place, "aesgcm:v1:key-1") {
			t.Errorf("%s: %v, %v, %v", place, readableOnDisk(t, place, hidden), readableOnDisk(t, place, label), readableOnDisk(t, place, "visible-text"))
		}
	}
	h, stop = start(one)
	read(h)
	stop()
	for _, config := range []string{"", harness.EncryptionConfig(t, harness.AESKeys("2")+", {identity: {}}")} {
		h, stop = start(config)
		if got := h.Get(secretsPath + "/s"); got.Code != 500 || bytes.Contains(got.Body, []byte(hidden)) {
			t.Errorf("%d %s", got.Code, got.Body)
		}
		h.Get(harness.ConfigMaps+"/plain").Expect(t, 200, "")
		stop()
	}
}

// A new key encrypts all values that are written from then on; a migration, or a PUT of objects as
// they are, encrypts the rest with it. Then the old key is not needed any more.
func TestEncryptionKeyRotation(t *testing.T) {
	dir := t.TempDir()
	start := func(providers string) *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			c.InMemory, c.DataDir = false, dir
			if providers != "" {
				c.EncryptionConfigFile = harness.EncryptionConfig(t, providers)
			}
		})
	}
	stop := func(h *harness.Server) {
		if err := h.Running.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	h := start("")
	h.Create(secretsPath, `{"metadata":{"name":"a"}}`)
	h.Create(secretsPath, `{"metadata":{"name":"b"}}`)
	stop(h)

	h = start(harness.AESKeys("1") + ", {identity: {}}")
	a := h.Get(secretsPath + "/a")
	now := h.Send("PUT", secretsPath+"/a", "application/json", a.Body)
	if before, after := a.Field(t, "metadata.resourceVersion"), now.Field(t, "metadata.resourceVersion"); before == after {
		t.Error("a PUT of a plain object as it is does not encrypt it")
	}
	if again := h.Send("PUT", secretsPath+"/a", "application/json", now.Body).Field(t, "metadata.resourceVersion"); again != now.Field(t, "metadata.resourceVersion") {
		t.Error("the second PUT is a write too")
	}
	migrated := func() (n int64) {
		t.Helper()
		if err := (operate.Client{DataDir: dir}).Migrate(t.Context(), func(s operate.Step) { n = s.Rewritten }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := migrated(); n != 1 {
		t.Errorf("%d objects rewritten, want b", n)
	}
	stop(h)

	h = start(harness.AESKeys("21"))
	h.Get(secretsPath).Expect(t, 200, "")
	if n := migrated(); n != 2 {
		t.Errorf("%d objects rewritten with the new key", n)
	}
	if n := migrated(); n != 0 {
		t.Errorf("%d objects rewritten again", n)
	}
	stop(h)

	h = start(harness.AESKeys("2"))
	h.Get(secretsPath).Expect(t, 200, "")
	stop(h)

	var rewritten int64
	if err := server.MigrateStore(t.Context(), server.Config{DataDir: dir, EncryptionConfigFile: harness.EncryptionConfig(t, "{identity: {}}, "+harness.AESKeys("2"))}, func(s operate.Step) { rewritten = s.Rewritten }); err != nil || rewritten != 2 {
		t.Errorf("%d objects made plain: %v", rewritten, err)
	}
	h = start("")
	h.Get(secretsPath).Expect(t, 200, "")
}

// A wrong configuration refuses the start; a key management service that is not there
// makes writes of its resources fail, and a health check.
func TestEncryptionConfigAndService(t *testing.T) {
	file := harness.EncryptionConfig(t, "{aesgcm: {keys: [{name: a, secret: c2hvcnQ=}]}}")
	if _, err := server.Start(t.Context(), server.Config{InMemory: true, EncryptionConfigFile: file}); err == nil || !strings.HasPrefix(err.Error(), file+":5: secret: the key has 5 bytes") {
		t.Error(err)
	}
	h := harness.Start(t, func(c *server.Config) {
		c.EncryptionConfigFile = harness.EncryptionConfig(t, `{kms: {apiVersion: v2, name: k, endpoint: "unix:///nowhere", timeout: 100ms}}, {identity: {}}`)
	})
	h.Post(secretsPath, `{"metadata":{"name":"a"}}`).Expect(t, 500, "InternalError")
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	if got := h.Get("/readyz?verbose"); got.Code != 500 || !bytes.Contains(got.Body, []byte("[-]kms-provider-0 failed")) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// The file is followed while the server runs: another first key is that of all writes from
// then on, of a PUT of a cached object as it is, and of a migration. A wrong file, and one
// whose key management service does not answer, change nothing and are reported.
func TestEncryptionReload(t *testing.T) {
	dir := t.TempDir()
	file := harness.EncryptionConfig(t, harness.AESKeys("1")+", {identity: {}}")
	h := harness.Start(t, func(c *server.Config) {
		c.InMemory, c.DataDir, c.EncryptionConfigFile, c.EncryptionConfigReload = false, dir, file, true
		harness.Shorten(c, func(d *seams.Durations) { d.Reload = time.Hour })
	})
	use := func(providers string) {
		t.Helper()
		text, err := os.ReadFile(harness.EncryptionConfig(t, providers))
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		h.Running.Reload()
	}
	revision := func(r harness.Reply) any { return r.Field(t, "metadata.resourceVersion") }
	counted := func(want string) {
		t.Helper()
		got := ""
		for name, n := range h.Figures() {
			if rest, ok := strings.CutPrefix(name, "apiserver_encryption_config_controller_automatic_reloads_total{"); ok {
				got += rest[strings.Index(rest, "status="):] + n + " "
			}
		}
		if fields := strings.Fields(got); strings.Join(slices.Sorted(slices.Values(fields)), " ") != want {
			t.Errorf("reloads %s, want %s", got, want)
		}
	}
	h.Create(secretsPath, `{"metadata":{"name":"a"}}`)
	h.Create(secretsPath, `{"metadata":{"name":"b"}}`)
	a := h.Get(secretsPath + "/a") // cached
	counted("")

	use(harness.AESKeys("1") + ", {kms: {apiVersion: v2, name: k, endpoint: \"unix:///nowhere\", timeout: 100ms}}")
	use("{aesgcm: {keys: []}}")
	use("{aesgcm: {keys: [{name: a, secret: c2hvcnQ=}]}}")
	if same := h.Send("PUT", secretsPath+"/a", "application/json", a.Body); revision(same) != revision(a) {
		t.Error("a wrong file has an effect")
	}
	h.Get("/readyz/kms-providers").Expect(t, 200, "")
	counted(`status="failure"3`) // and in the log

	use(harness.AESKeys("21"))
	counted(`status="failure"3 status="success"1`)
	now := h.Send("PUT", secretsPath+"/a", "application/json", a.Body)
	if revision(now) == revision(a) {
		t.Error("a PUT of a cached object as it is does not encrypt it with the new key")
	}
	if again := h.Send("PUT", secretsPath+"/a", "application/json", now.Body); revision(again) != revision(now) {
		t.Error("the second PUT is a write too")
	}
	var rewritten int64
	if err := (operate.Client{DataDir: dir}).Migrate(t.Context(), func(s operate.Step) { rewritten = s.Rewritten }); err != nil || rewritten != 1 {
		t.Errorf("%d objects rewritten, want b: %v", rewritten, err)
	}
	use(harness.AESKeys("2"))
	h.Get(secretsPath).Expect(t, 200, "")
	use(harness.AESKeys("3"))
	h.Get(secretsPath+"/a").Expect(t, 500, "") // also if it was cached
	h.Get(harness.ConfigMaps).Expect(t, 200, "")
}
