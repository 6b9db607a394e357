package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// promised is openapi/promises.yaml, as far as it is about the server's metrics and flags.
type promised struct {
	Metrics map[string]struct {
		Type, Stability string
		Labels          []string
	}
	Flags map[string]struct{ Default string }
}

func readPromises(t *testing.T) (p promised) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "openapi", "promises.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.NewReplacer("<groupSuffix>", profile.GroupSuffix, "<mediaTypeWord>", profile.MediaTypeWord).Replace(string(text)))
	if err := yaml.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// The flags of openapi/promises.yaml are those of the command line, so the gate sees when
// one goes or has another default. A few may be younger than the list.
func TestFlagsAreAsPromised(t *testing.T) {
	p, fs := readPromises(t), pflag.NewFlagSet("serve", pflag.ContinueOnError)
	(&server.Config{}).AddFlags(fs)
	var young []string
	fs.VisitAll(func(f *pflag.Flag) {
		want, ok := p.Flags[f.Name]
		switch delete(p.Flags, f.Name); {
		case !ok:
			young = append(young, f.Name)
		case want.Default != "" && want.Default != f.DefValue:
			t.Errorf("--%s is %q by default, openapi/promises.yaml says %q", f.Name, f.DefValue, want.Default)
		}
	})
	for name := range p.Flags {
		t.Errorf("openapi/promises.yaml names the flag %s, which does not exist", name)
	}
	if len(young) > 20 {
		t.Errorf("openapi/promises.yaml lacks %v", young)
	}
}

// The stable metrics of openapi/promises.yaml are there, with these labels and types.
func TestMetricsAreAsPromised(t *testing.T) {
	h := harness.Start(t, nil)
	h.Get("/api/v1/componentstatuses")
	defer h.WatchLines("/api/v1/namespaces?watch=1&timeoutSeconds=10")()
	got := h.Send("GET", "/metrics", "", nil)
	if got.Code != http.StatusOK {
		t.Fatal(got.Code)
	}
	types, labels := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(got.Body)) {
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(strings.TrimSpace(rest), " ")
			types[name] = kind
			continue
		}
		name, names := harness.LabelsOf(strings.TrimSpace(line))
		labels[strings.TrimSuffix(name, "_bucket")] = names
	}
	p := readPromises(t)
	if len(p.Metrics) < 7 {
		t.Errorf("%d metrics are promised", len(p.Metrics))
	}
	for name, m := range p.Metrics {
		have := strings.Fields(labels[name])
		slices.Sort(m.Labels)
		if slices.Sort(have); types[name] != m.Type || !slices.Equal(have, m.Labels) {
			t.Errorf("%s is a %s with the labels %v, promised is a %s with %v", name, types[name], have, m.Type, m.Labels)
		}
	}
}
