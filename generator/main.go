// Command generator turns the documents (openapi/, schemas/) into gen/.
//
//	generator generate    wipes gen/ and writes it anew (the default)
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/capstan-dev/capstan/generator/emit"
	"github.com/capstan-dev/capstan/generator/load"
	"github.com/capstan-dev/capstan/generator/model"
)

func main() {
	command := "generate"
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	var err error
	switch command {
	case "generate":
		err = generate(".")
	default:
		err = fmt.Errorf("unknown command %q; the commands are: generate", command)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// emitters make the files of gen/, each from the model alone.
var emitters = []func(*model.Model) ([]emit.File, error){emit.Tables, emit.Catalog, emit.OpenAPI, emit.Types, emit.Client}

// generate writes gen/ below root. A mistake anywhere leaves the old gen/ as it
// was: the new one is complete before it takes its place.
func generate(root string) error {
	start := time.Now()
	m, err := load.Load(root)
	if err != nil {
		return err
	}
	var files []emit.File
	for _, e := range emitters {
		made, err := e(m)
		if err != nil {
			return err
		}
		files = append(files, made...)
	}
	size, err := write(filepath.Join(root, "gen"), files)
	if err != nil {
		return err
	}
	fmt.Printf("gen/: %d files, %d KiB, in %s\n", len(files), size>>10, time.Since(start).Round(time.Millisecond))
	return nil
}

// write replaces a folder by the files and returns their size in bytes.
func write(dir string, files []emit.File) (size int, err error) {
	scratch, err := os.MkdirTemp(filepath.Dir(dir), ".gen-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.Path] {
			return 0, fmt.Errorf("two emitters write %s", f.Path)
		}
		seen[f.Path] = true
		path := filepath.Join(scratch, "new", filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return 0, err
		}
		size += len(f.Data)
	}
	if err := os.Rename(dir, filepath.Join(scratch, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	return size, os.Rename(filepath.Join(scratch, "new"), dir)
}
