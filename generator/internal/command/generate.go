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
	"github.com/capstan-dev/capstan/internal/schema"
)

// generate writes gen/ below root, and lists the warnings about right documents. Next to the mistakes that keep some
// documents from being read it gives those that emitters find in the others.
func generate(root string, all map[string][]emitter, out io.Writer) ([]compat.Finding, error) {
	start := time.Now()
	m, err := load.All(root)
	if err != nil {
		return nil, errors.Join(err, laterMistakes(m, all))
	}
	found, err := warnings(root, m)
	if err != nil {
		return nil, err
	}
	return found, generateOf(m, root, all, out, start)
}

// laterMistakes are those of documents that emitters find.
func laterMistakes(m *model.Model, all map[string][]emitter) error {
	if m == nil {
		return nil
	}
	_, err := emitFolders(m, all)
	var mistakes []error
	for _, f := range mistakesOf(err) {
		if f.File != "" {
			mistakes = append(mistakes, &schema.Error{Pos: schema.Position{File: f.File, Line: f.Line}, What: f.What, Fix: f.Mend})
		}
	}
	return errors.Join(mistakes...)
}

// generateOf writes gen/ of documents that were begun to be loaded at start. A mistake anywhere leaves the old gen/ as it
// was: the new one is complete before it takes its place.
func generateOf(m *model.Model, root string, all map[string][]emitter, out io.Writer, start time.Time) (err error) {
	if m.Module == model.Nameless {
		return errors.New("go.mod is missing, so the imports of generated code are unknown: run go mod init, or work at the root of the module")
	}
	made, err := emitFolders(m, all)
	if err != nil {
		return err
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
		"gen":          {ofAllReleases(emit.Types), ofAllReleases(emit.Client), emit.Outside},
		"internal/gen": {emit.Tables, emit.Catalog, emit.PackedOpenAPI, emit.OtherReleases, emit.History, editorSchemas},
	}
}

// ofAllReleases makes files that serve all releases of the documents: types and clients of one may speak with another.
func ofAllReleases(e emitter) emitter {
	return func(m *model.Model) ([]emit.File, error) { return e(m.Whole()) }
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

// emitFolders makes the files of each folder. The mistakes of all emitters are joined.
func emitFolders(m *model.Model, all map[string][]emitter) (map[string][]emit.File, error) {
	made, wrong := map[string][]emit.File{}, []error{}
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(all))) { // tables first: they find most mistakes
		var err error
		made[dir], err = emitAll(m, all[dir])
		wrong = append(wrong, err)
	}
	return made, errors.Join(wrong...)
}

// emitAll makes the files of all emitters, which may not write one twice.
func emitAll(m *model.Model, all []emitter) ([]emit.File, error) {
	var files []emit.File
	var wrong []error
	by := map[string]bool{}
	for _, e := range all {
		made, err := e(m)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		for _, f := range made {
			if by[f.Path] {
				return nil, fmt.Errorf("two emitters write %s", f.Path)
			}
			by[f.Path] = true
		}
		files = append(files, made...)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
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
