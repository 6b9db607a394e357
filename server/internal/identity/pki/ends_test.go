package pki

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEnds: of several certificates the first end counts, and a changed file counts at once.
func TestEnds(t *testing.T) {
	now := time.Now()
	own, err := Open(Config{}, Site{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	ends := own.Ends()
	if diff := cmp.Diff([]string{"administrator", "clients", "extension-servers", "own-authority", "serving"}, slices.Sorted(maps.Keys(ends))); diff != "" {
		t.Errorf("other purposes: %s", diff)
	}
	for purpose, end := range ends {
		if end.Before(now) || end.After(now.Add(20*365*24*time.Hour)) {
			t.Errorf("%s ends at %s", purpose, end)
		}
	}
	older, err := Open(Config{}, Site{Now: func() time.Time { return now.Add(-24 * time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "clients.crt")
	if err := os.WriteFile(file, older.Credentials().OwnCA, 0o600); err != nil {
		t.Fatal(err)
	}
	both, err := Open(Config{ClientCAFile: file}, Site{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := both.Ends()["clients"], older.Ends()["own-authority"]; !got.Equal(want) {
		t.Errorf("the authorities of clients end at %s, not at %s", got, want)
	}
}
