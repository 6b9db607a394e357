package command

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatus: the status of a ready server has its version, figures and certificate; that of a user without rights
// names the missing right, and a server that is away is an error.
func TestStatus(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	stop := serving(t, data)
	code, out, errs := awaitReady(t, data)
	if code != 0 || errs != "" {
		t.Fatalf("%d, %s, %s", code, out, errs)
	}
	for _, want := range []string{"  ready\n", "\nversion ", "\ncertificates  serving until 20", ", client until 20", ", server.crt until 20", "\nup ", "\nrequests ", "\nstore         accepts writes, "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var status struct {
		Ready    bool
		Objects  float64
		Requests float64 `json:"requestsPerSecond"`
		Interval float64 `json:"intervalSeconds"`
		Store    struct{ Revision float64 }
	}
	if code, out, _ = command("status", "--data-dir", data, "-o", "json"); code != 0 || json.Unmarshal([]byte(out), &status) != nil ||
		!status.Ready || status.Interval < 1 || status.Interval > 60 || status.Objects <= 0 || status.Requests <= 0 || status.Store.Revision < 20 {
		t.Errorf("%d, %s", code, out)
	}
	person := filepath.Join(dir, "anna.kubeconfig")
	if code, _, errs := command("kubeconfig", "--data-dir", data, "--user", "anna", "--output", person); code != 0 {
		t.Fatal(errs)
	}
	if code, out, _ = command("status", "--kubeconfig", person); code != 0 || !strings.Contains(out, "\nhidden        /metrics: it needs the right to get the URL /metrics\n") {
		t.Errorf("%d, %s", code, out)
	}
	stop()
	if code, out, errs = command("status", "--data-dir", data); code != failed || out != "" || strings.Count(errs, "\n") != 1 {
		t.Errorf("%d, %s, %s", code, out, errs)
	}
}

// awaitReady asks for the status of a server until it is ready, and returns the last answer. Before, the
// answer names the checks that fail.
func awaitReady(t *testing.T, data string) (code int, out, errs string) {
	t.Helper()
	for range 2000 {
		if code, out, errs = command("status", "--data-dir", data); code == 0 {
			break
		}
		if !strings.Contains(out, "not ready: ") || !strings.Contains(out, "poststarthook/") || errs != "capstan: the server is not ready\n" {
			t.Fatalf("%d, %s, %s", code, out, errs)
		}
	}
	return code, out, errs
}
