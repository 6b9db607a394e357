package compat

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
)

// Source says where surfaces come from.
type Source struct {
	Root       string // of the project: of "release", of git
	Kubeconfig string // with the credentials for servers; "" for none
	Context    string // in it; "" for the current one
	Now        time.Time
}

// Open reads a side of a comparison:
//
//	release, release:1.25    the released documents of the project
//	git:v1.2                 the documents in a revision of git
//	https://server:6443      a running server
//	a folder                 documents, with openapi/ and schemas/
//	a file                   the manifests of custom resource definitions, or an OpenAPI 3 document
//
// Errors name file, line and remedy.
func (s Source) Open(ctx context.Context, name string) (*Surface, error) {
	if s.Now.IsZero() {
		s.Now = time.Now().UTC()
	}
	surface, err := s.open(ctx, name)
	if err != nil {
		return nil, err
	}
	if surface.Name == "" {
		surface.Name = name
	}
	return surface, nil
}

func (s Source) open(ctx context.Context, name string) (*Surface, error) {
	kind, rest, _ := strings.Cut(name, ":")
	switch {
	case kind == "release":
		return s.release(rest)
	case kind == "git":
		return s.git(ctx, rest)
	case kind == "http" || kind == "https":
		return s.server(ctx, name)
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such file or folder; write a folder, a file, release, git:REVISION or a URL", name)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return fileSurface(foreign.Read(name))
	}
	return folderSurface(name)
}

// folderSurface is the surface of documents in a folder, a release if it says so.
func folderSurface(dir string) (*Surface, error) {
	for _, name := range []string{"openapi", "schemas"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s: the folder has no %s/; name a folder with openapi/ and schemas/", dir, name)
		}
	}
	surface, err := Documents(dir)
	if err != nil {
		return nil, err
	}
	if dir = filepath.ToSlash(filepath.Clean(dir)); dir != "." {
		surface.prefix = dir + "/"
	}
	surface.Release, err = ReadRelease(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return surface, nil
	}
	if err == nil {
		err = surface.complete(dir + "/" + releaseFile)
	}
	return surface, err
}

func (s Source) release(version string) (*Surface, error) {
	old, err := Baseline(s.Root, s.Now)
	if err != nil {
		return nil, err
	}
	if version != "" && version != old.Release.Version {
		return nil, fmt.Errorf("%s/%s:1: the last release is %s; write git:v%s for an earlier one", Released, releaseFile, old.Release.Version,
			strings.TrimPrefix(version, "v"))
	}
	return old, nil
}

// mostArchived bounds the documents of a revision, in bytes.
const mostArchived = 64 << 20

// git reads the documents of a revision. They are relative to the root, which may be below
// that of the repository.
func (s Source) git(ctx context.Context, revision string) (*Surface, error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return nil, fmt.Errorf("git:%s: that is not a revision; write git:v1.2, a tag, a branch or a commit", revision)
	}
	commit, err := s.run(ctx, "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("git:%s: there is no such revision; fetch it, or write one that git log shows: %w", revision, err)
	}
	archive, err := s.run(ctx, "archive", "--format=tar", strings.TrimSpace(string(commit)), "openapi", "schemas")
	if err != nil {
		return nil, fmt.Errorf("git:%s: the revision has no openapi/ and schemas/ here; run the command at the root of the project: %w", revision, err)
	}
	dir, err := os.MkdirTemp("", "compat-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := unpack(archive, dir); err != nil {
		return nil, fmt.Errorf("git:%s: %w", revision, err)
	}
	surface, err := Documents(dir)
	if err != nil {
		return nil, fmt.Errorf("git:%s: the documents of the revision cannot be read:\n%w", revision, err)
	}
	surface.prefix = revision + ":"
	if before, err := ReadRelease(filepath.Join(dir, filepath.FromSlash(Released))); err == nil {
		before.Resources, before.Fields, before.Rules = 0, 0, 0 // those of the release before
		surface.Release = before
		if date, err := s.run(ctx, "show", "-s", "--format=%cs", strings.TrimSpace(string(commit))); err == nil && versionText(revision) && before.before(revision) {
			before.Earlier = append(before.Earlier, struct{ Version, Date string }{before.Version, before.Date})
			before.Version, before.Date = strings.TrimPrefix(revision, "v"), strings.TrimSpace(string(date))
		}
	}
	return surface, nil
}

// run runs git at the root.
func (s Source) run(ctx context.Context, args ...string) ([]byte, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Root, &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, errors.Join(err, errors.New(strings.TrimSpace(errs.String())))
	}
	return out.Bytes(), nil
}

// unpack writes the documents of an archive, without examples, below a folder.
func unpack(archive []byte, dir string) error {
	size := int64(0)
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Clean(h.Name)
		wanted := strings.HasSuffix(name, ".yaml") && !strings.HasPrefix(name, "schemas/examples/")
		if h.Typeflag != tar.TypeReg || !wanted || !filepath.IsLocal(name) || strings.HasPrefix(name, Released) && name != Released+"/"+releaseFile {
			continue
		}
		if size += h.Size; size > mostArchived {
			return fmt.Errorf("the documents have more than %d MiB; remove what is not a document", mostArchived>>20)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
	}
}
