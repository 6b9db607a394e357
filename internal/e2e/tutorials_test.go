package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTutorials types the sessions of the pages in docs/tutorials, and compares what it sees. A
// block of a page begins with its sort:
//
//	console            commands after "$ ", each with its output
//	console server     a server for the commands that follow, until the next one
//	console restart    the same, after the end of the one before
//	yaml NAME, go NAME a file
//
// Other blocks are for readers only. In an output "…" stands for any text, and a line of it for any
// lines. The port of a page is that of its reader: here it is a free one.
func TestTutorials(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "tutorials", "*.md"))
	if err != nil || len(pages) < 4 {
		t.Fatalf("%d tutorials, error %v", len(pages), err)
	}
	capstanGen(t)
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			r := newReader(t)
			for _, b := range pageBlock.FindAllStringSubmatch(string(text), -1) {
				r.read(strings.TrimSpace(b[1]), b[2])
			}
			if r.commands < 3 {
				t.Errorf("%d commands were typed", r.commands)
			}
		})
	}
}

// TestReadme types the first recipe of the README.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, found := strings.Cut(string(text), "## A kind of your own in a minute\n\n")
	recipe, _, _ = strings.Cut(recipe, "\n\n")
	if !found {
		t.Fatal("README.md has no such recipe")
	}
	server, r := serve(t, ""), newReader(t)
	r.run(fmt.Sprintf("export KUBECONFIG=%q; cd $CAPSTAN", server.kubeconfig))
	r.read("console", strings.TrimPrefix(strings.ReplaceAll(recipe, "\n    ", "\n"), "    ")+"\n")
	if r.commands < 4 {
		t.Errorf("%d commands were typed", r.commands)
	}
}

var pageBlock = regexp.MustCompile("(?ms)^```(.*?)\n(.*?)^```$")

// reader types the sessions of a page into one shell.
type reader struct {
	t        *testing.T
	dir      string
	in       io.Writer
	out      *bufio.Reader
	server   *exec.Cmd
	commands int
}

// newReader starts a shell in a folder of its own, with the tested programs in PATH.
func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, dir: t.TempDir()}
	programs := t.TempDir()
	for name, at := range map[string]string{"capstan": binaries.capstan, "kubectl": binaries.kubectl, "capstan-gen": capstanGen(t)} {
		if err := os.Symlink(at, filepath.Join(programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	root := must[string](t)(filepath.Abs(filepath.Join("..", "..")))
	shell := exec.Command("bash", "--noprofile", "--norc")
	shell.Dir = r.dir
	shell.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"), "HOME="+r.dir, "CAPSTAN="+root, "LC_ALL=C", "KUBECONFIG=",
		"GOMODCACHE="+goEnv(t, "GOMODCACHE"), "GOCACHE="+goEnv(t, "GOCACHE"), "GOPATH="+goEnv(t, "GOPATH"),
		"GIT_AUTHOR_NAME=reader", "GIT_AUTHOR_EMAIL=reader@example.com", "GIT_COMMITTER_NAME=reader", "GIT_COMMITTER_EMAIL=reader@example.com",
		"GOFLAGS="+buildEnvironment["GOFLAGS"]+" '-ldflags="+noSymbols+"' -vet=off")
	in, out, err := pipes(shell)
	if err == nil {
		err = shell.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	r.in, r.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close() // ends the shell
		_ = shell.Wait()
		r.stop()
	})
	fmt.Fprintln(in, "exec 2>&1")
	return r
}

func pipes(cmd *exec.Cmd) (io.WriteCloser, io.Reader, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	return in, out, err
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(runIn(t, "", "go", "env", name))
}

// read does what one block of the page says.
func (r *reader) read(sort, text string) {
	r.t.Helper()
	kind, name, _ := strings.Cut(sort, " ")
	switch {
	case sort == "console":
		for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
			command, want, _ := strings.Cut(part, "\n")
			r.compare(command, r.run(command), want)
		}
	case kind == "console":
		r.stop()
		command, want, _ := strings.Cut(strings.TrimPrefix(text, "$ "), "\n")
		r.serve(command, want)
	case name != "":
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
		if kind == "go" {
			r.module()
		}
	}
}

// module makes the folder a module with the requirements of this one: their versions are in the cache.
func (r *reader) module() {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			r.t.Fatal(err)
		}
		text = regexp.MustCompile(`(?m)^module .*`).ReplaceAll(text, []byte("module example.com/boats"))
		text = regexp.MustCompile(`=> \.\./\.\.`).ReplaceAll(text, []byte("=> $$CAPSTAN"))
		text = []byte(strings.ReplaceAll(string(text), "$CAPSTAN", must[string](r.t)(filepath.Abs(filepath.Join("..", "..")))))
		if err := os.WriteFile(filepath.Join(r.dir, name), text, 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
}

// run types a command, and returns what it prints.
func (r *reader) run(command string) string {
	r.t.Helper()
	r.commands++
	end := fmt.Sprintf("--- end of %d ---", r.commands)
	fmt.Fprintf(r.in, "%s\necho; echo '%s'\n", command, end)
	var seen strings.Builder
	for {
		line, err := r.out.ReadString('\n')
		if err != nil {
			r.t.Fatalf("%s: the shell ended: %v\n%s", command, err, seen.String())
		}
		if strings.TrimSpace(line) == end {
			return strings.TrimSuffix(seen.String(), "\n")
		}
		seen.WriteString(line)
	}
}

// serve starts a server, in the folder where the shell is, and waits until it has printed what the
// page says.
func (r *reader) serve(command, want string) {
	r.t.Helper()
	words := strings.Fields(command)
	r.server = exec.Command("bash", "-c", "exec "+strings.Join(append(words, "--secure-port", "0"), " "))
	r.server.Dir = strings.TrimSpace(r.run("pwd"))
	r.server.Env = append(os.Environ(), "PATH="+filepath.Dir(strings.TrimSpace(r.run("command -v capstan")))+":"+os.Getenv("PATH"))
	out, err := r.server.StdoutPipe()
	if err == nil {
		err = r.server.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	var seen strings.Builder
	for range strings.Count(want, "\n") {
		line, err := lines.ReadString('\n')
		if err != nil {
			r.t.Fatalf("%s ended: %v", command, err)
		}
		seen.WriteString(line)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	r.compare(command, seen.String(), strings.ReplaceAll(want, "6443", "…"))
	r.ready()
}

// ready waits until the server has its default objects.
func (r *reader) ready() {
	r.t.Helper()
	for begin := time.Now(); !strings.Contains(r.run("kubectl --kubeconfig capstan-data/admin.kubeconfig get --raw /readyz"), "ok"); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > startLimit {
			r.t.Fatal("the server is not ready")
		}
	}
}

// stop ends the server as its reader does.
func (r *reader) stop() {
	if r.server == nil {
		return
	}
	_ = r.server.Process.Signal(os.Interrupt)
	if err := r.server.Wait(); err != nil {
		r.t.Errorf("the server: %v", err)
	}
	r.server = nil
}

// compare compares what a command printed with the page.
func (r *reader) compare(command, seen, want string) {
	r.t.Helper()
	if !seenAs(want).MatchString(seen) {
		r.t.Errorf("$ %s\n%s\nthe page says\n%s", command, seen, want)
	}
}

// columns are the spaces between columns, whose number depends on the longest value.
var columns = regexp.MustCompile(` {2,}`)

// seenAs is the expression for an output on a page.
func seenAs(want string) *regexp.Regexp {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(want, "\n")) {
		line = strings.TrimRight(line, " \n")
		if line == "…" {
			b.WriteString(`([^\n]*\n)*`)
			continue
		}
		parts := strings.Split(line, "…")
		for i := range parts {
			parts[i] = columns.ReplaceAllString(regexp.QuoteMeta(parts[i]), " +")
		}
		b.WriteString(strings.Join(parts, `[^\n]*`) + ` *\n`)
	}
	return regexp.MustCompile(`^` + b.String() + `\s*$`)
}
