package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestSameBytes: packages of one commit are the same at another time in another folder.
func TestSameBytes(t *testing.T) {
	first := released(t, "v1.0.0")
	second := makeRelease(t, "v1.0.0")
	defer os.RemoveAll(second)
	entries, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(programs)+5 {
		t.Errorf("a release has %v", entries)
	}
	for _, e := range entries {
		a, err := os.ReadFile(filepath.Join(first, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(second, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s has %d and %d bytes, which differ", e.Name(), len(a), len(b))
		}
	}
}
