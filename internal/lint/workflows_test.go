package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// workflow is the part of a GitHub Actions workflow that the rules check.
type workflow struct {
	Permissions *map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Timeout int `json:"timeout-minutes"`
		Steps   []struct {
			Uses string         `json:"uses"`
			Run  string         `json:"run"`
			With map[string]any `json:"with"`
		} `json:"steps"`
	} `json:"jobs"`
}

var (
	pinned     = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	pinComment = regexp.MustCompile(`uses: \S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	target     = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	makeCall   = regexp.MustCompile(`\bmake((?: +[\w-]+)+)`)
)

// makeTargets are the targets of the Makefile.
func makeTargets(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(string(text), -1) {
		all[m[1]] = true
	}
	return all
}

// checkCalls returns the targets that a text makes, and reports those that the Makefile
// lacks. A word after make is a target unless it sets a variable.
func checkCalls(t *testing.T, where, text string, targets map[string]bool) (calls []string) {
	t.Helper()
	for _, m := range makeCall.FindAllStringSubmatch(text, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			if strings.ToLower(name) != name || strings.HasPrefix(name, "-") {
				continue
			}
			calls = append(calls, name)
			if !targets[name] {
				t.Errorf("%s: make %s: the Makefile has no such target", where, name)
			}
		}
	}
	return calls
}

// TestWorkflows: actions are pinned by hash, permissions are explicit, jobs have a
// time-out, and run targets of the Makefile. Before a change lands, CI makes the targets
// of .ci/run.
func TestWorkflows(t *testing.T) {
	targets := makeTargets(t)
	script, err := os.ReadFile(filepath.Join("..", "..", ".ci", "run"))
	if err != nil {
		t.Fatal(err)
	}
	landing := checkCalls(t, ".ci/run", string(script), targets)
	if want := []string{"verify", "lint", "compat", "test", "docs"}; !slices.Equal(landing, want) {
		t.Errorf(".ci/run makes %v, want %v", landing, want)
	}
	files, err := filepath.Glob(filepath.Join("..", "..", ".github", "workflows", "*.y*ml"))
	if err != nil || len(files) < 3 {
		t.Fatalf("workflows %v, error %v", files, err)
	}
	made := map[string][]string{}
	for _, path := range files {
		checkWorkflow(t, path, targets, made)
	}
	if got := made["ci.yml: check"]; !slices.Equal(got, landing) {
		t.Errorf("ci.yml: check makes %v, .ci/run %v", got, landing)
	}
	var updates map[string]any
	text, err := os.ReadFile(filepath.Join("..", "..", ".github", "dependabot.yml"))
	if err == nil {
		err = yaml.UnmarshalStrict(text, &updates)
	}
	if err != nil || updates["version"] != 2.0 {
		t.Errorf("dependabot.yml: %v", err)
	}
}

// checkWorkflow reads one workflow, and notes in made the targets of each of its jobs.
func checkWorkflow(t *testing.T, path string, targets map[string]bool, made map[string][]string) {
	t.Helper()
	name := filepath.Base(path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "uses:") && !pinComment.MatchString(strings.TrimRight(line, "\n")) {
			t.Errorf("%s: %q: pin the action by the hash of a commit, and name its release in a comment: # v1.2.3", name, strings.TrimSpace(line))
		}
	}
	if w.Permissions == nil || len(w.Jobs) == 0 {
		t.Errorf("%s: say permissions at the top, and have jobs", name)
		return
	}
	for permission, level := range *w.Permissions {
		if level != "read" {
			t.Errorf("%s: %s: %s at the top is for all jobs; give it to the job that needs it", name, permission, level)
		}
	}
	calls := 0
	for job, j := range w.Jobs {
		where := name + ": " + job
		if j.Timeout == 0 {
			t.Errorf("%s: set timeout-minutes", where)
		}
		for _, s := range j.Steps {
			if s.Uses != "" && !pinned.MatchString(s.Uses) {
				t.Errorf("%s: %s is not pinned by a hash", where, s.Uses)
			}
			if strings.HasPrefix(s.Uses, "actions/checkout@") && s.With["persist-credentials"] != false {
				t.Errorf("%s: the code that is checked out does not need the token: persist-credentials: false", where)
			}
			if strings.Contains(s.Run, "${{") && !strings.HasPrefix(s.Run, "make ") {
				t.Errorf("%s: give %q its values by the environment", where, s.Run)
			}
			made[where] = append(made[where], checkCalls(t, where, s.Run, targets)...)
		}
		calls += len(made[where])
	}
	if calls == 0 {
		t.Errorf("%s runs no target of the Makefile", name)
	}
}
