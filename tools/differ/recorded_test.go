package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestRecordedReference sends scenarios to the server of this tree and compares the
// answers with the reference's, kept in testdata. They are made anew, with another seed,
// by "differ run … -record".
func TestRecordedReference(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "capstan")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", binary, "./server/cmd/capstan")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	differs, err := cmdRecorded(ctx, []string{"-start-server", binary, "-accepted", "accepted.yaml", filepath.Join("testdata", "recorded.json.gz")})
	if err != nil {
		t.Fatal(err)
	}
	if differs {
		t.Error("the server differs from the recorded reference, see above")
	}
}
