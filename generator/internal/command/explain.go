package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/load"
)

func newExplain(root string) *cobra.Command {
	return &cobra.Command{
		Use: "explain-change [OLD]", Short: "Tell what the change of the documents since OLD regenerates, costs and breaks", Args: cobra.MaximumNArgs(1),
		Long: "Tells what a change of the documents regenerates, since gen/ and internal/gen/ were written; what it\ncosts, in hooks to write and objects to migrate; and what it breaks of OLD, a side of compat,\nby default git:HEAD.",
		RunE: func(cmd *cobra.Command, args []string) error {
			old := append(args, "git:HEAD")[0]
			out := cmd.OutOrStdout()
			if err := explainFiles(root, out); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "breaks of %s:\n", old); err != nil {
				return err
			}
			return gate{root: root, format: "human"}.compare(out, []string{old, root})
		},
	}
}

// explainFiles compares generated files with those that the documents make now.
func explainFiles(root string, out io.Writer) error {
	m, err := load.All(root)
	if err != nil {
		return err
	}
	var changed, costs []string
	all := emitters()
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		files, err := emitAll(m, all[dir])
		if err != nil {
			return err
		}
		stale := map[string]bool{}
		err = filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				stale[path] = true
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, f := range files {
			path := filepath.Join(root, dir, filepath.FromSlash(f.Path))
			delete(stale, path)
			was, err := os.ReadFile(path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if bytes.Equal(was, f.Data) {
				continue
			}
			more, less := differing(was, f.Data)
			changed = append(changed, fmt.Sprintf("%s/%s: %d lines more, %d less", dir, f.Path, more, less))
			costs = append(costs, costOf(f, was)...)
		}
		for _, path := range slices.Sorted(maps.Keys(stale)) {
			changed = append(changed, path+": goes")
		}
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"regenerates", changed}, {"costs", costs}} {
		if len(part.lines) == 0 {
			part.lines = []string{"nothing"}
		}
		if _, err := fmt.Fprintf(out, "%s:\n  %s\n", part.title, strings.Join(part.lines, "\n  ")); err != nil {
			return err
		}
	}
	return nil
}

// differing counts the lines that only one of two texts has.
func differing(was, now []byte) (more, less int) {
	count := map[string]int{}
	for line := range bytes.Lines(was) {
		count[string(line)]--
	}
	for line := range bytes.Lines(now) {
		count[string(line)]++
	}
	for _, n := range count {
		more, less = more+max(n, 0), less+max(-n, 0)
	}
	return more, less
}

var (
	formOf   = regexp.MustCompile(`(?s)\{GV: gv, Plural: "([^"]+)".*?(?: Form: "([^"]*)")`)
	methodOf = regexp.MustCompile(`(?m)^\t([A-Z][A-Za-z0-9]*\(.*)$`)
)

// costOf lists what a changed file means for hand-written code and stored objects.
func costOf(f emit.File, was []byte) (costs []string) {
	switch filepath.Base(f.Path) {
	case "catalog.go":
		before := map[string]string{}
		for _, row := range formOf.FindAllSubmatch(was, -1) {
			before[string(row[1])] = string(row[2])
		}
		for _, row := range formOf.FindAllSubmatch(f.Data, -1) {
			if form, known := before[string(row[1])]; known && form != string(row[2]) {
				cost := fmt.Sprintf("stored %s have another form now: each read of one decodes it, until 'store migrate' has rewritten it", row[1])
				if !slices.Contains(costs, cost) { // of two versions
					costs = append(costs, cost)
				}
			}
		}
	case "hooks.go":
		before := map[string]bool{}
		for _, m := range methodOf.FindAllSubmatch(was, -1) {
			before[string(m[1])] = true
		}
		for _, m := range methodOf.FindAllSubmatch(f.Data, -1) {
			if !before[string(m[1])] {
				costs = append(costs, "a hook to write: "+string(m[1]))
			}
			delete(before, string(m[1]))
		}
		for _, m := range slices.Sorted(maps.Keys(before)) {
			costs = append(costs, "a hook that nothing calls any more: "+m)
		}
	}
	return costs
}
