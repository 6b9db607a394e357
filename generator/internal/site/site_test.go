package site

import (
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const root = "../../.."

var (
	href   = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor = regexp.MustCompile(`id="([^"]*)"`)
)

// TestSite makes the site of the project: every link leads to a page and a place in it, all
// types and fields are there, and no page needs a script.
func TestSite(t *testing.T) {
	pages, err := Pages(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	known, size := map[string]bool{}, 0
	for _, p := range pages {
		known[p.Path] = true
		size += len(p.Text)
		for _, m := range anchor.FindAllSubmatch(p.Text, -1) {
			id := p.Path + "#" + html.UnescapeString(string(m[1]))
			if known[id] {
				t.Errorf("%s is there twice", id)
			}
			known[id] = true
		}
	}
	links := 0
	for _, p := range pages {
		text := string(p.Text)
		if strings.Contains(text, "<script") || strings.Contains(text, " on") && regexp.MustCompile(`<[^>]* on[a-z]+="`).MatchString(text) {
			t.Errorf("%s has a script", p.Path)
		}
		for _, m := range href.FindAllStringSubmatch(text, -1) {
			links++
			target, err := url.Parse(html.UnescapeString(m[1]))
			switch {
			case err != nil:
				t.Errorf("%s: link %q: %v", p.Path, m[1], err)
			case target.Scheme == "https":
			case target.Scheme != "" || target.Host != "":
				t.Errorf("%s: link %q: want a page of the site, or https", p.Path, m[1])
			default:
				to := p.Path
				if target.Path != "" {
					to = path.Join(path.Dir(p.Path), target.Path)
				}
				if !known[to] || target.Fragment != "" && !known[to+"#"+target.Fragment] {
					t.Errorf("%s: link %q leads nowhere", p.Path, m[1])
				}
			}
		}
	}
	t.Logf("%d pages, %d links, %d KiB", len(pages), links, size>>10)
	for _, c := range []struct{ page, want string }{
		{"reference/core/v1.html", `<h3 id="PodSpec">`},
		{"reference/core/v1.html", `<code>containerPort</code> <em>required</em></td><td>integer (int32)</td>`},
		{"reference/core/v1.html", `<li>one of &#34;SCTP&#34;, &#34;TCP&#34;, &#34;UDP&#34;</li>`},
		{"reference/core/v1.html", `<code>&#34;TCP&#34;</code>`},
		{"reference/core/v1.html", `list of <a href="../../reference/core/v1.html#Container">Container</a>`},
		{"reference/apps/v1.html", `<h3 id="resource-deployments">deployments</h3>`},
		{"index.html", `<a href="reference/apps/v1.html#resource-deployments">Deployment</a>`},
		{"changes.html", "<h1>Changes since "},
		{"contributing.html", "<table>"},
		{"keys.html", `<h4 id="x-cluster-one-of"><code>x-cluster-one-of</code></h4>`},
		{"keys.html", `<li>When absent: Members may be set together.</li>`},
		{"keys.html", `<code>Validate&lt;Kind&gt;(obj, old)</code> returns all mistakes`},
		{"keys.html", `<li>Words: those of <code>x-cluster-format</code>.</li>`},
		{"index.html", `<a href="keys.html">Keys of documents</a>`},
		{"documents.html", `<h2 id="presence">Presence</h2>`},
		{"architecture.html", `src="layers.svg"`},
		{"layers.svg", "<svg"},
	} {
		found := false
		for _, p := range pages {
			found = found || p.Path == c.page && strings.Contains(string(p.Text), c.want)
		}
		if !found {
			t.Errorf("%s does not contain %s", c.page, c.want)
		}
	}
}

// TestMarkdownLinks: the links of the pages in the repository lead to files.
func TestMarkdownLinks(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "internal/*/*.md", ".github/*.md"} {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, some...)
	}
	if len(files) < 8 {
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
