package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/operate"
)

// encryptionConfig is a configuration for secrets and a custom resource.
func encryptionConfig(t *testing.T, providers string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers: [" + providers + "]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// aesKeys is a provider aesgcm with keys of these letters.
func aesKeys(letters string) string {
	var keys []string
	for _, c := range letters {
		keys = append(keys, "{name: key-"+string(c)+", secret: "+base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(c), 32)))+"}")
	}
	return "{aesgcm: {keys: [" + strings.Join(keys, ", ") + "]}}"
}

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
	start := func(config string) (h *harness, stop func()) {
		h = startServer(t, func(c *server.Config) { c.InMemory, c.DataDir, c.EncryptionConfigFile = false, dir, config })
		return h, func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			if err := h.server.Shutdown(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	one := encryptionConfig(t, aesKeys("1")+", {identity: {}}")
	h, stop := start(one)
	const hidden, label = "aGlkZGVuLXRleHQ=", "hidden-label" // as it is stored
	h.create(secretsPath, `{"metadata":{"name":"s","labels":{"l":"`+label+`"}},"data":{"password":"`+hidden+`"}}`)
	h.create(secretsPath, `{"metadata":{"name":"gone"},"data":{"password":"`+hidden+`"}}`)
	h.create(configMaps, configMap("plain", `{"x":"visible-text"}`))
	h.patch(secretsPath+"/s", `{"data":{"more":"`+hidden+`"}}`)
	h.remove(secretsPath+"/gone", "")
	backup := filepath.Join(t.TempDir(), "backup")
	if _, err := (operate.Client{DataDir: dir}).Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	read := func(h *harness) {
		t.Helper()
		for _, path := range []string{secretsPath + "/s", secretsPath + "?labelSelector=l%3D" + label, secretsPath} {
			if got := h.get(path); got.code != 200 || !bytes.Contains(got.body, []byte(hidden)) {
				t.Errorf("%s: %d %s", path, got.code, got.body)
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
	for _, config := range []string{"", encryptionConfig(t, aesKeys("2")+", {identity: {}}")} {
		h, stop = start(config)
		if got := h.get(secretsPath + "/s"); got.code != 500 || bytes.Contains(got.body, []byte(hidden)) {
			t.Errorf("%d %s", got.code, got.body)
		}
		h.get(configMaps+"/plain").expect(t, 200, "")
		stop()
	}
}

// A new key encrypts all values that are written from then on; a migration, or a PUT of objects as
// they are, encrypts the rest with it. Then the old key is not needed any more.
func TestEncryptionKeyRotation(t *testing.T) {
	dir := t.TempDir()
	start := func(providers string) *harness {
		return startServer(t, func(c *server.Config) {
			c.InMemory, c.DataDir = false, dir
			if providers != "" {
				c.EncryptionConfigFile = encryptionConfig(t, providers)
			}
		})
	}
	stop := func(h *harness) {
		if err := h.server.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	h := start("")
	h.create(secretsPath, `{"metadata":{"name":"a"}}`)
	h.create(secretsPath, `{"metadata":{"name":"b"}}`)
	stop(h)

	h = start(aesKeys("1") + ", {identity: {}}")
	a := h.get(secretsPath + "/a")
	now := h.send("PUT", secretsPath+"/a", "application/json", a.body)
	if before, after := a.field(t, "metadata.resourceVersion"), now.field(t, "metadata.resourceVersion"); before == after {
		t.Error("a PUT of a plain object as it is does not encrypt it")
	}
	if again := h.send("PUT", secretsPath+"/a", "application/json", now.body).field(t, "metadata.resourceVersion"); again != now.field(t, "metadata.resourceVersion") {
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

	h = start(aesKeys("21"))
	h.get(secretsPath).expect(t, 200, "")
	if n := migrated(); n != 2 {
		t.Errorf("%d objects rewritten with the new key", n)
	}
	if n := migrated(); n != 0 {
		t.Errorf("%d objects rewritten again", n)
	}
	stop(h)

	h = start(aesKeys("2"))
	h.get(secretsPath).expect(t, 200, "")
	stop(h)

	var rewritten int64
	if err := server.MigrateStore(t.Context(), server.Config{DataDir: dir, EncryptionConfigFile: encryptionConfig(t, "{identity: {}}, "+aesKeys("2"))}, func(s operate.Step) { rewritten = s.Rewritten }); err != nil || rewritten != 2 {
		t.Errorf("%d objects made plain: %v", rewritten, err)
	}
	h = start("")
	h.get(secretsPath).expect(t, 200, "")
}

// A wrong configuration refuses the start; a key management service that is not there
// makes writes of its resources fail, and a health check.
func TestEncryptionConfigAndService(t *testing.T) {
	file := encryptionConfig(t, "{aesgcm: {keys: [{name: a, secret: c2hvcnQ=}]}}")
	if _, err := server.Start(t.Context(), server.Config{InMemory: true, EncryptionConfigFile: file}); err == nil || !strings.HasPrefix(err.Error(), file+":5: secret: the key has 5 bytes") {
		t.Error(err)
	}
	h := startServer(t, func(c *server.Config) {
		c.EncryptionConfigFile = encryptionConfig(t, `{kms: {apiVersion: v2, name: k, endpoint: "unix:///nowhere", timeout: 100ms}}, {identity: {}}`)
	})
	h.post(secretsPath, `{"metadata":{"name":"a"}}`).expect(t, 500, "InternalError")
	h.create(configMaps, configMap("a", "{}"))
	if got := h.get("/readyz?verbose"); got.code != 500 || !bytes.Contains(got.body, []byte("[-]kms-provider-0 failed")) {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// The file is followed while the server runs: another first key is that of all writes from
// then on, of a PUT of a cached object as it is, and of a migration. A wrong file, and one
// whose key management service does not answer, change nothing and are reported.
func TestEncryptionReload(t *testing.T) {
	dir := t.TempDir()
	file := encryptionConfig(t, aesKeys("1")+", {identity: {}}")
	h := startServer(t, func(c *server.Config) {
		c.InMemory, c.DataDir, c.EncryptionConfigFile, c.EncryptionConfigReload = false, dir, file, true
		c.Shorten(func(d *server.Durations) { d.Reload = time.Hour })
	})
	use := func(providers string) {
		t.Helper()
		text, err := os.ReadFile(encryptionConfig(t, providers))
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		h.server.Reload()
	}
	revision := func(r reply) any { return r.field(t, "metadata.resourceVersion") }
	counted := func(want string) {
		t.Helper()
		got := ""
		for name, n := range h.figures() {
			if rest, ok := strings.CutPrefix(name, "apiserver_encryption_config_controller_automatic_reloads_total{"); ok {
				got += rest[strings.Index(rest, "status="):] + n + " "
			}
		}
		if fields := strings.Fields(got); strings.Join(slices.Sorted(slices.Values(fields)), " ") != want {
			t.Errorf("reloads %s, want %s", got, want)
		}
	}
	h.create(secretsPath, `{"metadata":{"name":"a"}}`)
	h.create(secretsPath, `{"metadata":{"name":"b"}}`)
	a := h.get(secretsPath + "/a") // cached
	counted("")

	use(aesKeys("1") + ", {kms: {apiVersion: v2, name: k, endpoint: \"unix:///nowhere\", timeout: 100ms}}")
	use("{aesgcm: {keys: []}}")
	use("{aesgcm: {keys: [{name: a, secret: c2hvcnQ=}]}}")
	if same := h.send("PUT", secretsPath+"/a", "application/json", a.body); revision(same) != revision(a) {
		t.Error("a wrong file has an effect")
	}
	h.get("/readyz/kms-providers").expect(t, 200, "")
	counted(`status="failure"3`) // and in the log

	use(aesKeys("21"))
	counted(`status="failure"3 status="success"1`)
	now := h.send("PUT", secretsPath+"/a", "application/json", a.body)
	if revision(now) == revision(a) {
		t.Error("a PUT of a cached object as it is does not encrypt it with the new key")
	}
	if again := h.send("PUT", secretsPath+"/a", "application/json", now.body); revision(again) != revision(now) {
		t.Error("the second PUT is a write too")
	}
	var rewritten int64
	if err := (operate.Client{DataDir: dir}).Migrate(t.Context(), func(s operate.Step) { rewritten = s.Rewritten }); err != nil || rewritten != 1 {
		t.Errorf("%d objects rewritten, want b: %v", rewritten, err)
	}
	use(aesKeys("2"))
	h.get(secretsPath).expect(t, 200, "")
	use(aesKeys("3"))
	h.get(secretsPath+"/a").expect(t, 500, "") // also if it was cached
	h.get(configMaps).expect(t, 200, "")
}
