package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/suggest"
)

// remedyForRelease is the remedy for a release that the project does not name: the nearest of few numbers says little.
func remedyForRelease(known []string) string { return "write one of " + strings.Join(known, ", ") }

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
