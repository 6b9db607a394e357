package command

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inGit runs git in a project, as nobody in particular.
func inGit(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v %s", args, err, out)
	}
}

// committed is a module whose files are committed.
func committed(t *testing.T, edits ...[3]string) string {
	t.Helper()
	root := newModule(t, edits)
	inGit(t, root, "init", "-q")
	commit(t, root)
	return root
}

func commit(t *testing.T, root string) {
	t.Helper()
	if err := Run(root, []string{"generate"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	inGit(t, root, "add", "-A")
	inGit(t, root, "commit", "-q", "--allow-empty", "-m", "a state")
}

const (
	truck = "schemas/fleet/v1beta1/Truck.yaml"
	wheel = "        default: Blue\n      wheels: {description: Number of wheels., format: int32, default: 4, minimum: 3}\n"
)

// A project is released twice: with its baseline, its notes, and the check of the tag.
func TestRelease(t *testing.T) {
	root := committed(t)
	run := func(want string, args ...string) {
		t.Helper()
		var out bytes.Buffer
		if err := Run(root, args, &out); err != nil || !strings.Contains(out.String(), want) {
			t.Fatalf("%v: %v %s, want %s", args, err, out.String(), want)
		}
	}
	notes := func(version string, wants ...string) {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(root, "docs", "release-"+version+".md"))
		if strings.Contains(string(text), "meta/v1") {
			t.Errorf("the notes of %s have built-in kinds:\n%s", version, text)
		}
		for _, want := range wants {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("the notes of %s lack %s: %v\n%s", version, want, err, text)
			}
		}
	}
	run("0 errors, 0 warnings", "compat") // before the first release
	run("git tag -a v0.1.0 -m v0.1.0", "release", "v0.1.0")
	notes("v0.1.0", "# Release v0.1.0", "the first release", "- The version `fleet.example.com/v1beta1` with `Truck`, `TruckRestart`.")
	commit(t, root)
	inGit(t, root, "tag", "v0.1.0")
	run("", "release", "--check", "v0.1.0")
	if err := Run(root, []string{"release", "--check", "v0.1.1"}, io.Discard); err == nil || codeOf(err) != 1 || !strings.Contains(err.Error(), "were released as v0.1.0, and not as v0.1.1") {
		t.Errorf("the tag of another version: %v", err)
	}
	edit(t, root, [3]string{truck, "        default: Blue\n", wheel})
	if err := Run(root, []string{"release", "--check", "v0.1.0"}, io.Discard); err == nil || codeOf(err) != 1 || !strings.Contains(err.Error(), "schemas/fleet/v1beta1/Truck.yaml changed after the release v0.1.0") {
		t.Errorf("a later commit: %v", err)
	}
	commit(t, root)
	run("docs/release-v0.2.0.md", "release", "v0.2.0")
	notes("v0.2.0", "after v0.1.0. The gate says: 0 errors, 0 warnings", "- In `fleet.example.com/v1beta1` the fields `wheels` of `TruckSpec`.")
	commit(t, root)
	run("", "release", "--check", "v0.2.0")
	run("index.html", "docs", filepath.Join(root, "site")) // the notes are pages
	run("", "new", "version", "v1", "--from", "v1beta1")
	commit(t, root)
	run("", "release", "v0.3.0")
	edit(t, root, [3]string{"openapi/fleet/v1.yaml", "versionPriority: 99", "versionPriority: 101"})
	commit(t, root)
	run("", "release", "v0.4.0")
	notes("v0.4.0", "- The preferred version of `fleet.example.com` is `v1`, and was `v1beta1`.")
}

// A release that is wrong writes nothing.
func TestReleaseRefuses(t *testing.T) {
	released := [3]string{"openapi/released/release.yaml", "", "version: v0.9.0\ndate: 2026-01-01\nserved: {}\n"}
	for _, c := range []struct {
		version string
		prepare func(root string)
		edits   [][3]string
		want    string
		code    int
	}{
		{version: "0.1.0", want: `"0.1.0" is not the version of a release: write one like v0.1.0`, code: 2},
		{version: "v0.1", want: `"v0.1" is not the version of a release`, code: 2},
		{version: "v0.9.0", edits: [][3]string{released}, want: "the last release is v0.9.0: write a later version than that, not v0.9.0", code: 2},
		{version: "v0.10.0", edits: [][3]string{released}, want: "the released documents cannot be read", code: 2},
		{version: "v0.1.0", prepare: func(root string) { inGit(t, root, "tag", "v0.1.0") }, want: "there is a tag v0.1.0 already", code: 2},
		{version: "v0.1.0", prepare: func(root string) { edit(t, root, [3]string{"new.txt", "", "a\n"}) }, want: "commit first, since a release is made of a commit:\n?? new.txt", code: 2},
		{version: "v0.1.0", prepare: func(root string) {
			edit(t, root, [3]string{truck, "maximum: 100", "maximum: 99"})
			inGit(t, root, "commit", "-qam", "stale")
		}, want: "is not made of these documents: make generate, and commit", code: 2},
		{version: "v0.1.0", edits: [][3]string{{"docs/release-v0.1.0.md", "", "# Mine\n"}}, want: "release-v0.1.0.md is there already", code: 2},
		{version: "v0.1.0", edits: [][3]string{{truck, "        maximum: 100\n", "        maximum: 100\n      timeout: {description: Words for it., type: integer, minimum: 1}\n"}}, want: "the house rules say no", code: 1},
		{version: "v0.2.0", prepare: func(root string) {
			if err := Run(root, []string{"release", "v0.1.0"}, io.Discard); err != nil {
				t.Fatal(err)
			}
			edit(t, root, [3]string{truck, "maximum: 100", "maximum: 99"})
			commit(t, root)
		}, want: "the documents break the last release", code: 1},
	} {
		root := committed(t, c.edits...)
		if c.prepare != nil {
			c.prepare(root)
		}
		before := readFiles(t, root)
		err := Run(root, []string{"release", c.version}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), c.want) || codeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.version, err, c.want)
		}
		after := readFiles(t, root)
		delete(before, ".git/index") // git refreshes it
		delete(after, ".git/index")
		if changed := changes(before, after); len(changed) > 0 {
			t.Errorf("%s: changed %v", c.want, changed)
		}
	}
	err := Run(newModule(t, nil), []string{"release", "v0.1.0"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "a release needs a project under git") || codeOf(err) != 2 {
		t.Errorf("without git: %v", err)
	}
}
