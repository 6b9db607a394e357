// Package mutant plants mistakes into a server under test: the storm must find them.
package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/tools/storm/overlay"
)

// Mutant is a mistake that can be planted into the server's source.
type Mutant struct {
	Name    string `json:"-"` // that of its file
	Planted string // a sentence about the mistake
	Edits   []Edit
	// Promises are those that find the mistake; one of them is enough.
	Promises []string
	Areas    []string // of the storm
	Where    string   // memory or disk
	Clients  int      // 0 for the usual number
	Steps    int      // of a client; 0 for the usual number
}

// Edit replaces a text that occurs once in a file of the server.
type Edit struct{ File, Old, New string }

// Read reads the mutants of a directory, a YAML file each.
func Read(dir string) (all []Mutant, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if text, err = yaml.ToJSON(text); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m := Mutant{Name: strings.TrimSuffix(filepath.Base(file), ".yaml")}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&m); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// Sources returns the changed files by their paths, which begin with root, the directory of
// the server's module. The texts that are replaced must be there, once each.
func (m *Mutant) Sources(root string) (map[string][]byte, error) {
	changed := make(map[string][]byte)
	for _, e := range m.Edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		text, known := changed[path]
		if !known {
			var err error
			if text, err = os.ReadFile(path); err != nil {
				return nil, err
			}
		}
		if n := bytes.Count(text, []byte(e.Old)); n != 1 {
			return nil, fmt.Errorf("mutant %s: %s has this text %d times, it should be there once:\n%s", m.Name, e.File, n, e.Old)
		}
		changed[path] = bytes.Replace(text, []byte(e.Old), []byte(e.New), 1)
	}
	return changed, nil
}

// Build builds the server with the mistake, and returns the binary's path in dir.
func (m *Mutant) Build(ctx context.Context, root, dir string) (string, error) {
	sources, err := m.Sources(root)
	if err != nil {
		return "", err
	}
	program, err := overlay.Build(ctx, root, dir, "./server/cmd/capstan", sources)
	if err != nil {
		return "", fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	return program, nil
}
