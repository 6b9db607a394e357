package store

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestForgets: a store that nothing has to outlive writes no log, and has all its objects, also those that have left the memory
// table.
func TestForgets(t *testing.T) {
	fs := vfs.NewMem()
	e, err := Open(Config{Dir: "data", FS: fs, Forgets: true, MemTableBytes: minMemTable})
	if err != nil {
		t.Fatal(err)
	}
	const objects = 1000 // four times the memory table
	for i := range objects {
		put(t, e, fmt.Sprintf("k%04d", i), object(4000))
	}
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := fs.Stat(fs.PathJoin("data", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".log") && file.Size() > 0 {
			t.Errorf("the log %s has %d bytes", name, file.Size())
		}
	}
	for i := range objects {
		if _, err := e.Get(t.Context(), fmt.Sprintf("k%04d", i)); err != nil {
			t.Error(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}
