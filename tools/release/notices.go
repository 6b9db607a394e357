package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// notices is the path of the licences of the modules that a platform's binaries are made of.
func (b build) notices(p platform) string { return filepath.Join(b.stage, "NOTICES-"+p.String()) }

// writeNotices collects the licences of all modules in the binaries of a platform, and that of Go.
func (b build) writeNotices(p platform) error {
	used := map[string]string{} // versions by path
	for _, name := range programs {
		info, err := buildinfo.ReadFile(b.binary(name, p))
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			used[m.Path] = m.Version
		}
	}
	folders, err := b.moduleFolders()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	text.WriteString("Capstan is made of the following modules, whose licences follow their names.\n")
	goroot := runtimeRoot()
	if err := addLicences(&text, "Go's runtime and standard library", goroot); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(used)) {
		name := path + " " + used[path]
		folder, ok := folders[name]
		if !ok {
			return fmt.Errorf("the module %s of the binary is not that of go.mod: build the binaries of this tree", name)
		}
		if err := addLicences(&text, name, folder); err != nil {
			return err
		}
	}
	return os.WriteFile(b.notices(p), text.Bytes(), 0o644)
}

// moduleFolders are the folders of the modules of go.mod in the module cache, by their paths and versions.
func (b build) moduleFolders() (map[string]string, error) {
	list := exec.Command("go", "list", "-m", "-json", "all")
	list.Dir = b.root
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	folders := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		folders[m.Path+" "+m.Version] = m.Dir
	}
}

func runtimeRoot() string {
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		return strings.TrimSpace(string(out))
	}
	return runtime.GOROOT()
}

var licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// addLicences adds the licence files at the root of a module. A module in a folder of a repository has the licence
// of the repository, which the Go command puts into that folder.
func addLicences(text *bytes.Buffer, name, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licence.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(text, "\n\n==== %s: %s ====\n\n%s\n", name, e.Name(), strings.TrimSpace(string(content)))
		found = true
	}
	if !found {
		return fmt.Errorf("%s has no licence file in %s: add its terms to the notices", name, folder)
	}
	return nil
}
