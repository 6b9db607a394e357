// Package suggest says what a misspelt word of a command line or a document may mean.
package suggest

import (
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Nearest is the known word that is most like a word; "" when none is like it.
func Nearest(word string, known iter.Seq[string]) string {
	nearest, distance := "", len(word)/3+2
	for k := range known {
		if d := editDistance(word, k, distance); d < distance {
			nearest, distance = k, d
		}
	}
	return nearest
}

// Flag adds a remedy to an error of parsing flags: for an unknown flag it names the nearest known
// one. Other errors are returned as they are.
func Flag(fs *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("unknown flag -%s; see --help", name)
	}
	nearest := Nearest(name, func(yield func(string) bool) {
		over := false
		fs.VisitAll(func(f *pflag.Flag) { over = over || !yield(f.Name) })
	})
	if nearest == "" {
		return fmt.Errorf("unknown flag --%s; see --help", name)
	}
	return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, nearest)
}

// Command refuses the arguments of a command that only has commands of its own, and names the nearest one.
func Command(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	nearest := Nearest(args[0], func(yield func(string) bool) {
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && !yield(c.Name()) {
				return
			}
		}
	})
	if nearest == "" {
		return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return fmt.Errorf("unknown command %q for %q; did you mean %s?", args[0], cmd.CommandPath(), nearest)
}

// editDistance is the least number of characters to insert, remove, replace or exchange with the next one to
// turn a into b; limit when it is that or more.
func editDistance(a, b string, limit int) int {
	if max(len(a), len(b))-min(len(a), len(b)) >= limit {
		return limit
	}
	// Distances of the beginning of a from all beginnings of b, and those of the two shorter beginnings of a.
	row, last, before := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return min(row[len(b)], limit)
}
