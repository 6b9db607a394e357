package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctor: the exit code says whether something was found, in both forms of the report.
func TestDoctor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	doctor := func(args ...string) (int, string, string) {
		return command(append([]string{"doctor", "--data-dir", dir, "--secure-port", "0"}, args...)...)
	}
	code, out, errs := doctor()
	if strings.Contains(out, "warning disk") { // a busy disk
		t.Skip(out)
	}
	if code != 0 || errs != "" || !strings.HasPrefix(out, "no server answers") || !strings.Contains(out, "nothing found: data directory, ") {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if code, out, errs = doctor(); code != failed || !strings.Contains(out, "\nwarning data directory: other users") || !strings.Contains(out, "\n    chmod 0700 "+dir+"\n") || strings.Count(errs, "\n") != 1 {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
	var report struct {
		Checks   []string
		Findings []struct{ Severity, Check, Text, Remedy string }
	}
	if code, out, _ = doctor("-o", "json"); code != failed || json.Unmarshal([]byte(out), &report) != nil || len(report.Findings) == 0 || report.Findings[0].Check != "data directory" || len(report.Checks) < 4 {
		t.Errorf("%d, %s", code, out)
	}
	if code, _, errs = doctor("-o", "yaml"); code != misuse || !strings.Contains(errs, "use json") {
		t.Errorf("%d, %s", code, errs)
	}
}
