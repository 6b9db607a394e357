package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/suggest"
)

// remedyFor is the remedy for an unknown word.
func remedyFor(word string, known []string) string {
	if near := suggest.Nearest(word, slices.Values(known)); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) > 12 {
		return "remove it"
	}
	return "write one of " + strings.Join(known, ", ")
}
