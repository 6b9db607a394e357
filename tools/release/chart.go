package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeChart writes the chart of the version. The chart in the repository has none of its own.
func (b build) writeChart() error {
	dir := filepath.Join(b.root, "packaging", "chart")
	var entries []entry
	err := filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if name == "Chart.yaml" {
			if file, err = b.versioned(file); err != nil {
				return err
			}
		}
		entries = append(entries, entry{filepath.Join("capstan", name), file, 0o644})
		return nil
	})
	if err != nil {
		return err
	}
	return writeTo(filepath.Join(b.dist, "capstan-chart-"+b.semantic+".tgz"), func(w io.Writer) error {
		packed := gzip.NewWriter(w)
		return errors.Join(writeTar(packed, entries, b.time), packed.Close())
	})
}

// versioned writes the description of the chart with the version in place of 0.0.0.
func (b build) versioned(description string) (string, error) {
	text, err := os.ReadFile(description)
	if err != nil {
		return "", err
	}
	if n := bytes.Count(text, []byte(": 0.0.0\n")); n != 2 {
		return "", errors.New(description + ": version and appVersion must both be 0.0.0 in the repository")
	}
	path := filepath.Join(b.stage, "Chart.yaml")
	versions := strings.NewReplacer("appVersion: 0.0.0\n", "appVersion: "+quoted(b.version)+"\n", "version: 0.0.0\n", "version: "+b.semantic+"\n")
	return path, os.WriteFile(path, []byte(versions.Replace(string(text))), 0o644)
}

// quoted is a string of YAML: the hash of a commit may look like a number.
func quoted(text string) string { return `"` + text + `"` }
