package harness

import (
	"os"
	"strings"
	"testing"
)

// FactRow is a line of a table of facts, by column.
type FactRow map[string]string

// FactTable reads a table of facts.
func FactTable(t *testing.T, path string) []FactRow {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	columns := strings.Split(lines[0], "\t")
	var rows []FactRow
	for _, line := range lines[1:] {
		r := FactRow{}
		for i, cell := range strings.Split(line, "\t") {
			r[columns[i]] = cell
		}
		rows = append(rows, r)
	}
	return rows
}
