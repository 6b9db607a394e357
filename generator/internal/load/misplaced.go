package load

import (
	"bytes"
	"sort"

	"go.yaml.in/yaml/v3"
)

// misplaced finds the line at which a text stops to be YAML. The parser names the line where
// a block begins, which may be far above. A text up to a line before the mistake can be
// parsed, one beyond it cannot.
func misplaced(text []byte, reported int) int {
	lines := bytes.SplitAfter(text, []byte("\n"))
	parses := func(n int) bool {
		var doc yaml.Node
		return yaml.Unmarshal(bytes.Join(lines[:n], nil), &doc) == nil
	}
	for from := 0; from < len(lines); {
		wrong := from + sort.Search(len(lines)-from, func(i int) bool { return !parses(from + i + 1) })
		end := min(len(lines), wrong+maxOpen) // a text in quotes or brackets may go on for some lines
		for from = wrong + 1; from < end && !parses(from+1); {
			from++
		}
		if from >= end {
			return wrong + 1
		}
	}
	return reported
}

// maxOpen bounds the lines of a text in quotes or brackets.
const maxOpen = 20

// tabbed reports whether a tab is in the indentation of a line.
func tabbed(text []byte, line int) bool {
	lines := bytes.Split(text, []byte("\n"))
	if line < 1 || line > len(lines) {
		return false
	}
	rest := bytes.TrimLeft(lines[line-1], " ")
	return len(rest) > 0 && rest[0] == '\t'
}
