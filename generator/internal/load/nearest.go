package load

import (
	"fmt"
	"strings"
)

// suggest is the remedy for an unknown word.
func suggest(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) > 12 {
		return "remove it"
	}
	return "write one of " + strings.Join(known, ", ")
}

// nearest finds the known word that a misspelt one probably means, or "".
func nearest(word string, known []string) string {
	best, distance := "", len(word)/3+2
	for _, k := range known {
		if d := editDistance(word, k); d < distance {
			best, distance = k, d
		}
	}
	return best
}

// editDistance counts the letters to change, add or drop to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
