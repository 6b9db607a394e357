package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/capstan-dev/capstan/server/manual"
)

// commands is the tree of commands of the program.
func commands() *cobra.Command {
	root := manual.Commands()
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	return root
}

// writeManuals writes a manual page for each command, compressed, as distributions have them.
func (b build) writeManuals() error {
	dir := filepath.Join(b.stage, "man")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	header := &doc.GenManHeader{Section: "1", Date: &b.time, Source: "capstan " + b.semantic, Manual: "Capstan"}
	err := doc.GenManTreeFromOpts(commands(), doc.GenManTreeOptions{Header: header, Path: dir, CommandSeparator: "-"})
	if err != nil {
		return fmt.Errorf("manual pages: %w", err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		return err
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		packed, err := compressed(text)
		if err != nil {
			return err
		}
		if err := os.WriteFile(page+".gz", packed, 0o644); err != nil {
			return err
		}
		if err := os.Remove(page); err != nil {
			return err
		}
	}
	return nil
}

// compressed has neither the name nor the time of a file, so that equal texts stay equal.
func compressed(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// writeCompletions writes the completions of three shells.
func (b build) writeCompletions() error {
	dir := filepath.Join(b.stage, "completions")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root := commands()
	for name, generate := range map[string]func(io.Writer) error{
		"capstan.bash": func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"_capstan":     root.GenZshCompletion,
		"capstan.fish": func(w io.Writer) error { return root.GenFishCompletion(w, true) },
	} {
		var script bytes.Buffer
		if err := generate(&script); err != nil {
			return fmt.Errorf("completions: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), script.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
