package command

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// generate writes gen/ below root.
func generate(root string, all map[string][]emitter, out io.Writer) error {
	start := time.Now()
	m, err := load.Load(root)
	if err != nil {
		return err
	}
	found, err := warnings(root, m)
	if err != nil {
		return err
	}
	if err := writeFindings(out, &compat.Report{Findings: found}, "human"); err != nil {
		return err
	}
	return generateOf(m, root, all, out, start)
}

// generateOf writes gen/ of documents that were begun to be loaded at start. A mistake anywhere leaves the old gen/ as it
// was: the new one is complete before it takes its place.
func generateOf(m *model.Model, root string, all map[string][]emitter, out io.Writer, start time.Time) (err error) {
	if m.Module == model.Nameless {
		return errors.New("go.mod is missing, so the imports of generated code are unknown: run go mod init, or work at the root of the module")
	}
	made := map[string][]emit.File{}
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(all))) { // tables first: they find most mistakes
		if made[dir], err = emitAll(m, all[dir]); err != nil {
			return err
		}
	}
	if of := emit.HandConverted(m); len(of) > 0 && !m.Hooks {
		if _, err := fmt.Fprintf(out, "No test tries the conversion of %s: call servertest.Conversions in one, or name the hooks Hooks in a package hooks.\n", strings.Join(of, ", ")); err != nil {
			return err
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(made)) {
		size, err := write(root, dir, made[dir])
		if err != nil {
			return err
		}
		if _, err = fmt.Fprintf(out, "%s/: %d files, %d KiB, in %s\n", dir, len(made[dir]), size>>10, time.Since(start).Round(time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

// emitter makes a part of gen/ from the model alone.
type emitter = func(*model.Model) ([]emit.File, error)

// emitters are the writers of each folder.
func emitters() map[string][]emitter {
	return map[string][]emitter{
		"gen":          {emit.Types, emit.Client, emit.Outside},
		"internal/gen": {emit.Tables, emit.Catalog, emit.PackedOpenAPI, editorSchemas},
	}
}

// editorSchemas makes the JSON Schemas by which editors complete and check the documents of another module, and
// its manifests.
func editorSchemas(m *model.Model) ([]emit.File, error) {
	if m.Module == "" {
		return nil, nil
	}
	files, _, err := emit.JSONSchemas(m, ownGroups(m))
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].Path = "editor/manifests/" + files[i].Path
	}
	forms, err := load.EditorSchemas()
	for _, name := range []string{"schema.json", "version.json"} {
		files = append(files, emit.File{Path: "editor/" + name, Data: forms[name]})
	}
	return files, err
}

// emitAll makes the files of all emitters, which may not write one twice.
func emitAll(m *model.Model, all []emitter) ([]emit.File, error) {
	var files []emit.File
	by := map[string]bool{}
	for _, e := range all {
		made, err := e(m)
		if err != nil {
			return nil, err
		}
		for _, f := range made {
			if by[f.Path] {
				return nil, fmt.Errorf("two emitters write %s", f.Path)
			}
			by[f.Path] = true
		}
		files = append(files, made...)
	}
	emit.Relocate(m, files)
	return files, nil
}

// write replaces a folder by the files and returns their size in bytes.
func write(root, name string, files []emit.File) (size int, err error) {
	dir := filepath.Join(root, filepath.FromSlash(name))
	scratch := filepath.Join(root, ".tmp") // not under version control, on the same disk
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return 0, err
	}
	scratch, err = os.MkdirTemp(scratch, "gen-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	for _, f := range files {
		path := filepath.Join(scratch, "new", filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return 0, err
		}
		size += len(f.Data)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return 0, err
	}
	old := filepath.Join(scratch, "old")
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	if err := os.Rename(filepath.Join(scratch, "new"), dir); err != nil {
		return 0, errors.Join(err, os.Rename(old, dir))
	}
	return size, nil
}
