package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// historicModule is a module whose trucks have a history of three releases: the second one has a field and a
// looser bound, the third one a tighter bound.
func historicModule(t *testing.T) string {
	t.Helper()
	return newModule(t, [][3]string{
		{"openapi/releases.yaml", "", "releases: [\"1.0\", \"1.1\", \"1.2\"]\ndefault: \"1.1\"\n"},
		{truck, "maximum: 100", `maximum: 80
        x-cluster-lifecycle: {before: {"1.2": {maximum: 200}, "1.1": {maximum: 100}}}`},
		{truck, "      color:", `      horn:
        description: Sound of the horn.
        type: string
        x-cluster-lifecycle: {since: "1.1"}
      color:`},
	})
}

// TestHistory: one set of documents is generated for its usual release, compared between any two, and documented
// step by step.
func TestHistory(t *testing.T) {
	root := historicModule(t)
	run := func(wantErr string, args ...string) string {
		t.Helper()
		var out strings.Builder
		err := Run(root, args, &out)
		if (err == nil) != (wantErr == "") || err != nil && !strings.Contains(err.Error(), wantErr) {
			t.Errorf("%v: %v, want %q\n%s", args, err, wantErr, &out)
		}
		return out.String()
	}
	run("", "generate")
	if got := run("git:HEAD: there is no such revision", "explain-change"); !strings.Contains(got, "regenerates:\n  nothing") {
		t.Errorf("fresh files are not those of the documents: %s", got)
	}
	if table := readFiles(t, filepath.Join(root, "internal", "gen"))["fleet/v1beta1/table.go"]; !strings.Contains(table, `"horn"`) || !strings.Contains(table, "Max: 200") {
		t.Errorf("gen/ is not of the release 1.1:\n%s", table)
	}
	if got := run("", "compat", "--from", "1.0"); !strings.HasPrefix(got, "0 errors") {
		t.Errorf("the second release breaks the first one: %s", got)
	}
	if got := run("the new side breaks the old one", "compat", "--from", "1.0", "--to", "1.2"); !strings.Contains(got, truck) || !strings.Contains(got, "the maximum allows less: 80") {
		t.Errorf("from the first release to the last: %s", got)
	}
	run(`remove ["release"]`, "compat", "--to", "1.2", "release")
	run("there is no release 1.3", "compat", "--to", "1.3")
	run("", "docs", filepath.Join(root, "site"))
	site := readFiles(t, filepath.Join(root, "site"))
	for page, want := range map[string]string{
		"kinds/fleet/v1beta1/Truck.html": "there from release 1.1",
		"changes-1.0-1.1.html":           "<code>horn</code>",
		"changes-1.1-1.2.html":           "the maximum allows less: 80",
		"index.html":                     `<a href="changes-1.1-1.2.html">Changes from 1.1 to 1.2</a>`,
	} {
		if !strings.Contains(site[page], want) {
			t.Errorf("%s lacks %s: %s", page, want, site[page])
		}
	}
}

// TestMistakesOfOtherReleases: a mistake that only another release has is found before that release is made.
func TestMistakesOfOtherReleases(t *testing.T) {
	root := newModule(t, [][3]string{
		{"openapi/releases.yaml", "", "releases: [\"1.0\", \"1.1\"]\n"},
		{truck, "maximum: 100", `maximum: 100
        x-cluster-lifecycle: {before: {"1.1": {minimum: 300}}}`},
	})
	for _, command := range []string{"generate", "lint"} {
		var out strings.Builder
		if err := Run(root, []string{command}, &out); err == nil || !strings.Contains(err.Error(), "in release 1.0:") || !strings.Contains(err.Error(), truck+":") {
			t.Errorf("%s: %v\n%s", command, err, &out)
		}
	}
}

// TestVersionsOfOtherReleases: what one version allows and another one refuses is said of each release.
func TestVersionsOfOtherReleases(t *testing.T) {
	root := newModule(t, [][3]string{
		{"openapi/releases.yaml", "", "releases: [\"1.0\", \"1.1\"]\n"},
	})
	if err := Run(root, []string{"new", "version", "fleet/v1"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "schemas", "fleet", "v1", "Truck.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "\n$defs: {TruckSpec: {properties: {size: {x-cluster-lifecycle: {before: {\"1.1\": {maximum: 450}}}}}}}\n"...)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"generate", "lint"} {
		var out strings.Builder
		if err := Run(root, []string{command}, &out); err != nil || strings.Count(out.String(), "warning version-values") != 1 {
			t.Errorf("%s: %v\n%s", command, err, &out)
		}
	}
}

// TestReferencesInBodies: a reference in the body of an action would never be looked at.
func TestReferencesInBodies(t *testing.T) {
	body := "schemas/fleet/v1beta1/TruckRestart.yaml"
	root := newModule(t, nil)
	text, err := os.ReadFile(filepath.Join(root, body))
	if err != nil {
		t.Fatal(err)
	}
	text = append(bytes.TrimRight(text, "\n"), "\n  other: {description: Another one., type: string, maxLength: 63, x-cluster-references: {kind: Truck}}\n"...)
	if err := os.WriteFile(filepath.Join(root, body), text, 0o644); err != nil {
		t.Fatal(err)
	}
	err = Run(root, []string{"generate"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), body+":") || !strings.Contains(err.Error(), "the reference is in TruckRestart, a part of the body of an action, which is not kept; drop the key") {
		t.Errorf("%v", err)
	}
}
