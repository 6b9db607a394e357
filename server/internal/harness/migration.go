package harness

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/operate"
)

// EncryptionConfig is a configuration for secrets and further resources.
func EncryptionConfig(t *testing.T, providers string, more ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "encryption.yaml")
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [" + strings.Join(append([]string{"secrets"}, more...), ", ") + "]\n  providers: [" + providers + "]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// AESKeys is a provider aesgcm with keys of these letters.
func AESKeys(letters string) string {
	var keys []string
	for _, c := range letters {
		keys = append(keys, "{name: key-"+string(c)+", secret: "+base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(c), 32)))+"}")
	}
	return "{aesgcm: {keys: [" + strings.Join(keys, ", ") + "]}}"
}

// Migrated runs a migration to its end and returns the last step.
func Migrated(t *testing.T, run func(context.Context, func(operate.Step)) error) (last operate.Step) {
	t.Helper()
	if err := run(context.Background(), func(s operate.Step) { last = s }); err != nil {
		t.Fatal(err)
	}
	if !last.Done {
		t.Fatalf("it ended with %+v", last)
	}
	return last
}
