package main

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a file of an archive or of a package.
type entry struct {
	path   string // in the archive, without a leading slash
	source string // on disk
	mode   os.FileMode
}

// writeArchive writes an archive for users of no package manager. Its one folder has the name of the archive.
func (b build) writeArchive(p platform) error {
	name := "capstan-" + p.String()
	entries, err := b.shared(p)
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].path = filepath.Join(name, entries[i].path)
	}
	for _, program := range programs {
		entries = append(entries, entry{filepath.Join(name, "bin", program), b.binary(program, p), 0o755})
	}
	return writeTo(filepath.Join(b.dist, name+".tar.gz"), func(w io.Writer) error {
		packed := gzip.NewWriter(w)
		return errors.Join(writeTar(packed, entries, b.time), packed.Close())
	})
}

// shared are the files that archives and packages have in the same places below their roots.
func (b build) shared(p platform) ([]entry, error) {
	entries := []entry{
		{"share/doc/capstan/LICENSE", filepath.Join(b.root, "LICENSE"), 0o644},
		{"share/doc/capstan/NOTICES", b.notices(p), 0o644},
		{"share/bash-completion/completions/capstan", filepath.Join(b.stage, "completions", "capstan.bash"), 0o644},
		{"share/zsh/site-functions/_capstan", filepath.Join(b.stage, "completions", "_capstan"), 0o644},
		{"share/fish/vendor_completions.d/capstan.fish", filepath.Join(b.stage, "completions", "capstan.fish"), 0o644},
	}
	pages, err := filepath.Glob(filepath.Join(b.stage, "man", "*.1.gz"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		entries = append(entries, entry{"share/man/man1/" + filepath.Base(page), page, 0o644})
	}
	return entries, nil
}

// writeTar writes files in the order of their paths, owned by root and with one time.
func writeTar(w io.Writer, entries []entry, at time.Time) error {
	entries = slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	out := tar.NewWriter(w)
	made := map[string]bool{".": true}
	for _, e := range entries {
		if err := writeFolders(out, filepath.Dir(e.path), made, at); err != nil {
			return err
		}
		content, err := os.ReadFile(e.source)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: e.path, Mode: int64(e.mode), Size: int64(len(content)), ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return out.Close()
}

func writeFolders(out *tar.Writer, dir string, made map[string]bool, at time.Time) error {
	var parents string
	for _, part := range strings.Split(dir, "/") {
		parents = filepath.Join(parents, part)
		if made[parents] {
			continue
		}
		made[parents] = true
		header := &tar.Header{Name: parents + "/", Mode: 0o755, ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeDir}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
	}
	return nil
}

// writeTo makes a file, all of it or an error.
func writeTo(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(f)
	return errors.Join(write(buffered), buffered.Flush(), f.Close())
}
