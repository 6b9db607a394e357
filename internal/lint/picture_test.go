package lint

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"testing"
)

// TestPictureIsFresh: layers.svg shows the rows and the imports as they are. Its program is in
// the module of the tools.
func TestPictureIsFresh(t *testing.T) {
	have, err := os.ReadFile("layers.svg")
	if err != nil {
		t.Fatal(err)
	}
	want, err := exec.Command("go", "-C", "../../tools/pinned", "run", "./layers", "-print", "../..").Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		t.Fatalf("the picture of the layers cannot be drawn: %s", exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("internal/lint/layers.svg is stale: run make picture, and commit it")
	}
}
