package site

import (
	"encoding/json"
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

const root = "../../.."

var (
	href   = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor = regexp.MustCompile(`id="([^"]*)"`)
)

// TestSite makes the site of the project: every link leads to a page and a place in it, all
// types and fields are there, and no page holds a script or a style of its own.
func TestSite(t *testing.T) {
	pages, err := Pages(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	known, texts, size := map[string]bool{}, map[string]string{}, 0
	for _, p := range pages {
		known[p.Path], texts[p.Path] = true, string(p.Text)
		size += len(p.Text)
		for _, m := range anchor.FindAllSubmatch(p.Text, -1) {
			id := p.Path + "#" + html.UnescapeString(string(m[1]))
			if known[id] && strings.HasSuffix(p.Path, ".html") {
				t.Errorf("%s is there twice", id)
			}
			known[id] = true
		}
	}
	links := 0
	for name, text := range texts {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		if found := inline.FindString(text); found != "" {
			t.Errorf("%s has %q: the policy of the page forbids it", name, found)
		}
		for _, m := range href.FindAllStringSubmatch(text, -1) {
			links++
			if problem := leads(known, name, html.UnescapeString(m[1])); problem != "" {
				t.Errorf("%s: link %q %s", name, m[1], problem)
			}
		}
	}
	t.Logf("%d pages, %d links, %d KiB", len(pages), links, size>>10)
	for _, c := range wanted {
		if !strings.Contains(texts[c.page], c.want) {
			t.Errorf("%s does not contain %s", c.page, c.want)
		}
	}
}

// inline finds scripts and styles that a strict policy refuses.
var inline = regexp.MustCompile(`<script(?: src="[^"]*")?>[^<]|<style|<[^>]* (?:on[a-z]+|style)="`)

// leads reports the mistake of a link of a page; "" for none.
func leads(known map[string]bool, page, link string) string {
	target, err := url.Parse(link)
	switch {
	case err != nil:
		return err.Error()
	case target.Scheme == "https":
		return ""
	case target.Scheme != "" || target.Host != "" || strings.HasPrefix(target.Path, "/"):
		return "is neither https nor relative: the site may lie in any folder"
	}
	to := page
	if target.Path != "" {
		to = path.Join(path.Dir(page), target.Path)
	}
	if !known[to] || target.Fragment != "" && !known[to+"#"+target.Fragment] {
		return "leads nowhere"
	}
	return ""
}

// wanted are texts of pages.
var wanted = []struct{ page, want string }{
	{"kinds/core/v1/Pod.html", `<h3 id="PodSpec">`},
	{"kinds/core/v1/Pod.html", `id="PodSpec.containers"`},
	{"kinds/core/v1/Pod.html", `<code>containerPort</code></a> <span class="of">integer (int32)</span> <strong class="badge required">required</strong>`},
	{"kinds/core/v1/Pod.html", `<li>one of &#34;SCTP&#34;, &#34;TCP&#34;, &#34;UDP&#34;</li>`},
	{"kinds/core/v1/Pod.html", `default <code>&#34;TCP&#34;</code>`},
	{"kinds/core/v1/Pod.html", `list of <a href="#Container">Container</a>`},
	{"kinds/apps/v1/Deployment.html", `<a href="../../../kinds/core/v1/PodTemplate.html#PodTemplateSpec">PodTemplateSpec</a>`},
	{"kinds/apps/v1/Deployment.html", `<code>/apis/apps/v1/namespaces/NAMESPACE/deployments/NAME</code>`},
	{"kinds/apps/v1/Deployment.html", "<pre><code class=\"language-yaml\">apiVersion: apps/v1\nkind: Deployment\n"},
	{"kinds/apps/v1.html", `<a href="../../kinds/apps/v1/Deployment.html">Deployment</a>`},
	{"kinds/core/v1.html", `Used by `},
	{"kinds/autoscaling/v2/HorizontalPodAutoscaler.html", `<tr><td><code>spec.targetCPUUtilizationPercentage</code></td>`},
	{"kinds/autoscaling/v2/HorizontalPodAutoscaler.html", `<span class="lacks">not there</span>`},
	{"index.html", `<a href="tutorials/first-cluster.html">Your first cluster in five minutes</a>`},
	{"index.html", `<a href="kinds/apps/v1/Deployment.html">Deployment</a>`},
	{"changes.html", "<h1>Changes since "},
	{"contributing.html", "<table>"},
	{"reference/keys.html", `<h4 id="x-cluster-one-of"><code>x-cluster-one-of</code></h4>`},
	{"reference/keys.html", `<li>When absent: Members may be set together.</li>`},
	{"reference/keys.html", `<code>Validate&lt;Kind&gt;(obj, old)</code> returns all mistakes`},
	{"reference/keys.html", `<li>Words: those of <code>x-cluster-format</code>.</li>`},
	{"reference/documents.html", `<h2 id="presence">Presence</h2>`},
	{"tutorials/own-kind.html", `<span class="typed">kubectl get boats`},
	{"howto/secure.html", `aria-current="page"`},
	{"architecture.html", `src="layers.svg"`},
	{"layers.svg", "<svg"},
	{"howto/explorer.html", `<a href="../explorer-table.png"><img src="../explorer-table.png" alt="A table of pods`},
	{"explorer-table.png", "PNG"},
	{"readme.html", `src="capstan.svg"`},
	{"search.js", `"PodSpec.containers"`},
	{"search.js", `"The way back"`},
}

// TestSearchIndex: each entry of the index leads to its page and place, and the index stays small.
func TestSearchIndex(t *testing.T) {
	pages, err := Pages(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var index []struct {
		URL      string      `json:"u"`
		Sections [][3]string `json:"s"`
	}
	texts := map[string]string{}
	for _, p := range pages {
		texts[p.Path] = string(p.Text)
	}
	text := strings.TrimPrefix(texts["search.js"], "searchIndex = ")
	if err := json.Unmarshal([]byte(text), &index); err != nil {
		t.Fatal(err)
	}
	entries := 0
	for _, page := range index {
		for _, s := range page.Sections {
			entries++
			if s[0] != "" && !strings.Contains(texts[page.URL], `id="`+html.EscapeString(s[0])+`"`) {
				t.Errorf("%s#%s is not there", page.URL, s[0])
			}
		}
	}
	if entries < 3000 || len(text) > 1<<20 {
		t.Errorf("%d entries, %d KiB", entries, len(text)>>10)
	}
}

// TestContents: pages of docs/ that the contents lack are reported, and a project without contents
// has all of them.
func TestContents(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("docs/drivers.md", "# For drivers\n")
	c, err := readContents(dir, &model.Model{})
	if err != nil || c.find("docs/drivers.md") == nil || c.find("docs/drivers.md").Title != "For drivers" {
		t.Errorf("%+v, error %v", c, err)
	}
	write("docs/README.md", "# All\n\nWords.\n\n## Guides\nFor all.\n\n- [Drive](howto/drive.md): how to.\n")
	write("docs/howto/drive.md", "# Drive\n")
	if _, err = readContents(dir, &model.Model{}); err == nil || !strings.Contains(err.Error(), "docs/README.md:1: the contents lack docs/drivers.md; add a line") {
		t.Errorf("error %v", err)
	}
	write("docs/README.md", "# All\n\nWords.\n\n## Guides\nFor all.\n\n- [Drive](howto/drive.md): how to.\n- [Drivers](drivers.md)\n")
	c, err = readContents(dir, &model.Model{})
	if err != nil || len(c.Parts()) != 2 || c.Parts()[0].Text != "For all." || c.stepOf("howto/drive.html").After.Page != "drivers.html" {
		t.Errorf("%+v, error %v", c, err)
	}
}

// TestExampleOfRequiredFields: a kind without an example gets one of what it needs.
func TestExampleOfRequiredFields(t *testing.T) {
	m, err := load.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWriter(t.TempDir(), m)
	if err != nil {
		t.Fatal(err)
	}
	for _, gv := range m.GroupVersions {
		for _, r := range gv.Resources {
			text, made := w.example(r.Type, r)
			var object map[string]any
			if err := yaml.Unmarshal([]byte(text), &object); err != nil || !made || object["kind"] != r.Type.Name {
				t.Errorf("%s %s: made %v, error %v:\n%s", gv.Dir, r.Plural, made, err, text)
			}
		}
	}
}

// TestMarkdownLinks: the links of the pages in the repository lead to files.
func TestMarkdownLinks(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "internal/*/*.md", "tools/*/*.md", ".github/*.md"} {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	if len(files) < 30 {
		t.Errorf("only %d pages", len(files))
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(m[2], "#")
			if target == "" || strings.HasPrefix(target, "https://") || !strings.ContainsAny(target, "./") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: link to %s: %v", name, target, err)
			}
		}
	}
}

// TestRecord: the record has the names that clients know, and is the same on any day.
func TestRecord(t *testing.T) {
	text, err := Record(root)
	if err != nil {
		t.Fatal(err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if r.Release.Version == "" || !slices.ContainsFunc(r.Versions, func(v recordedVersion) bool {
		return v.Group == "rbac.authorization.k8s.io" && v.Version == "v1" && v.Since != ""
	}) {
		t.Errorf("%+v", r)
	}
	names := map[string]bool{}
	for _, v := range r.Versions {
		names[v.Group+"/"+v.Version] = true
	}
	for _, a := range r.Added {
		if !names[a.Group+"/"+a.Version] || len(a.Kinds)+len(a.Resources)+len(a.Fields) == 0 {
			t.Errorf("an addition of nothing: %+v", a)
		}
	}
	if len(text) > 64<<10 {
		t.Errorf("the record has %d bytes; the page loads it whole", len(text))
	}
}
