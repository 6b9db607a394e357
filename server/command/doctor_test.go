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
	// A busy disk, or a clock without a time server, is a finding about the machine of the test.
	if own := strings.Contains(out, "\nwarning disk: ") || strings.Contains(out, "\nwarning clock: "); own != (code == failed) || own == (errs == "") || code == misuse ||
		!strings.HasPrefix(out, "no server answers") || !strings.Contains(out, "nothing found: data directory, ") {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
	if code, _, errs = doctor("--tls-cert-file", "x"); code != misuse || !strings.Contains(errs, "[tls-cert-file tls-private-key-file]") {
		t.Errorf("%d, %s", code, errs)
	}
	if code, out, _ = doctor("--etcd-cafile", filepath.Join(dir, "none.crt")); code != failed || !strings.Contains(out, "\nproblem certificates: open "+filepath.Join(dir, "none.crt")) {
		t.Errorf("%d, %s", code, out)
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
