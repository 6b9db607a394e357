package options

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
)

// Explain adds a remedy to an error of parsing fs: for an unknown flag it names the
// nearest known one. Other errors are returned as they are.
func Explain(fs *pflag.FlagSet, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return fmt.Errorf("unknown flag -%s; see --help", name)
	}
	nearest, distance := "", len(name)/3+2
	fs.VisitAll(func(f *pflag.Flag) {
		if d := EditDistance(name, f.Name, distance); d < distance {
			nearest, distance = f.Name, d
		}
	})
	if nearest == "" {
		return fmt.Errorf("unknown flag --%s; see --help", name)
	}
	return fmt.Errorf("unknown flag --%s; did you mean --%s?", name, nearest)
}

// EditDistance is the least number of characters to insert, remove or replace to turn a
// into b; limit when it is that or more.
func EditDistance(a, b string, limit int) int {
	if max(len(a), len(b))-min(len(a), len(b)) >= limit {
		return limit
	}
	row := make([]int, len(b)+1) // distances of the beginning of a from all beginnings of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, diagonal+1)
		}
	}
	return min(row[len(b)], limit)
}
