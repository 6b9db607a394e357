package load

import (
	"regexp"
	"slices"
	"strings"
)

// repeats reports whether a text adds nothing to the names: all of its words are in them,
// or are filler. "Name of the role" adds nothing to the field name of RoleRef.
func repeats(text string, names ...string) bool {
	said := filler
	for _, name := range names {
		said = append(said[:len(said):len(said)], words(name)...)
	}
	for _, w := range words(text) {
		if !slices.Contains(said, w) {
			return false
		}
	}
	return true
}

// filler are the words without a meaning of their own, as words returns them.
var filler = words("a an the of is are this that these for to in on at by its be and with field value s")

// Where a word begins inside a name: bindAddress, podIPs, CSIDriver.
var (
	afterSmall = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	lastLarge  = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
	word       = regexp.MustCompile(`[a-z0-9]+`)
)

// words are those of a text or of a name in camel case: in lower case, singular,
// abbreviations as in names.
func words(text string) []string {
	text = lastLarge.ReplaceAllString(afterSmall.ReplaceAllString(text, "$1 $2"), "$1 $2")
	list := word.FindAllString(strings.ToLower(text), -1)
	for i, w := range list {
		switch {
		case w == "specification":
			w = "spec"
		case strings.HasSuffix(w, "ies"):
			w = strings.TrimSuffix(w, "ies") + "y"
		case len(w) > 3:
			w = strings.TrimSuffix(w, "s")
		}
		list[i] = w
	}
	return list
}

// kindWords is a kind as a text names it: config map, CSI driver.
func kindWords(kind string) string {
	list := strings.Fields(lastLarge.ReplaceAllString(afterSmall.ReplaceAllString(kind, "$1 $2"), "$1 $2"))
	for i, w := range list {
		if w != strings.ToUpper(w) {
			list[i] = strings.ToLower(w)
		}
	}
	return strings.Join(list, " ")
}
