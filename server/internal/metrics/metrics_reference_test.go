package metrics_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/docpage"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/flowcontrol"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// described is a metric on the page.
type described struct{ kind, labels, help string }

var description = regexp.MustCompile(`fqName: "(\S+)", help: "(.*)", unit: "\S*", constLabels: \{([^}]*)\}, variableLabels: \{+([^{}]*)\}+`)

// TestMetricsAreOnTheirPage holds the page of metrics to a running server, and to the metrics that
// have no value yet.
func TestMetricsAreOnTheirPage(t *testing.T) {
	all := map[string]described{}
	for _, d := range metrics.Descriptions(new(flowcontrol.Control)) {
		m := description.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("%s has another form", d)
		}
		labels := slices.Sorted(strings.SplitSeq(m[4], ","))
		if constant, _, ok := strings.Cut(m[3], "="); ok {
			labels = []string{constant}
		}
		all[m[1]] = described{"", strings.Join(labels, ", "), m[2]}
	}
	live(t, all)
	source := sources(t)
	var b bytes.Buffer
	b.WriteString(`# Metrics

For those who watch over a server. ` + "`/metrics`" + ` has them in the text form of Prometheus, for users with the right to read that path. Names and labels are those of kube-apiserver 1.25
where it has the metric; the server's own begin with ` + "`capstan_`" + `. The page is made of a running server (` + "`make reference`" + `). The metrics of Go and of the process
(` + "`go_`, `process_`" + `) are those of [Prometheus' library](https://pkg.go.dev/github.com/prometheus/client_golang/prometheus/collectors).

| metric | type | labels | meaning |
| --- | --- | --- | --- |
`)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		d := all[name]
		if d.kind == "" {
			d.kind = kindIn(source, name)
		}
		if d.kind == "" {
			t.Errorf("the type of %s is unknown", name)
		}
		if d.labels != "" {
			d.labels = "`" + d.labels + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, d.kind, d.labels, docpage.Cell(d.help))
	}
	docpage.Compare(t, "docs/reference/metrics.md", b.String())
}

// live adds the metrics that a running server shows, with their types.
func live(t *testing.T, all map[string]described) {
	h := harness.Start(t, func(c *server.Config) { c.DisablePriorityAndFairness = false })
	h.WatchLines("/api/v1/namespaces?watch=1&timeoutSeconds=10")()
	help := ""
	for line := range strings.Lines(string(h.Get("/metrics").Body)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		if len(words) == 4 && words[1] == "HELP" {
			help = words[3]
		}
		if len(words) < 4 || words[1] != "TYPE" {
			continue
		}
		d := all[words[2]]
		d.kind, d.help = words[3], strings.TrimSpace(help)
		all[words[2]] = d
	}
}

// sources is the text of the files that make metrics.
func sources(t *testing.T) string {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			b.Write(text)
		}
	}
	return b.String()
}

var kinds = regexp.MustCompile(`(?i)counter|gauge|histogram|summary|times\(`)

// kindIn is the type of a metric without a value, by the last constructor before its name. Those of
// flow control are all described by one, and differ by their names.
func kindIn(source, name string) string {
	if rest, ok := strings.CutPrefix(name, "apiserver_flowcontrol_"); ok {
		switch {
		case strings.HasSuffix(rest, "_total"):
			return "counter"
		case strings.HasSuffix(rest, "_bounds"):
			return "gauge"
		}
		return "histogram"
	}
	at := strings.Index(source, `"`+name+`"`)
	for rest := name; at < 0; at = strings.Index(source, `"`+rest+`"`) {
		_, after, ok := strings.Cut(rest, "_") // a name that is joined of parts
		if !ok {
			return ""
		}
		rest = after
	}
	found := kinds.FindAllString(source[:at], -1)
	if len(found) == 0 {
		return ""
	}
	kind := strings.ToLower(found[len(found)-1])
	return map[string]string{"times(": "histogram"}[kind] + strings.TrimSuffix(kind, "times(")
}
