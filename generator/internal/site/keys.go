package site

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/generator/internal/load"
)

// keysIntro begins the page of all keys.
const keysIntro = `# Keys of documents

All keys of the documents below ` + "`openapi/` and `schemas/`" + `. This page is made of the JSON Schemas that the generator checks documents
with. ` + "`capstan-gen keys KEY`" + ` prints the part about one key, and ` + "`capstan-gen keys --json-schema FOLDER`" + ` writes the JSON Schemas for editors.
`

// Keys is the reference of all keys of documents in Markdown, or of those with a name.
func Keys(name string) (string, error) {
	chapters, err := load.Reference(name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if name == "" {
		b.WriteString(keysIntro)
	}
	known := map[string]string{} // the first key with the same words
	for _, c := range chapters {
		level := "###"
		if len(c.Keys) == 0 {
			level = "##"
		}
		fmt.Fprintf(&b, "\n%s %s\n", level, c.Title)
		if c.Text != "" {
			fmt.Fprintf(&b, "\n%s\n", c.Text)
		}
		for _, k := range c.Keys {
			writeKey(&b, k, known)
		}
	}
	return strings.TrimPrefix(b.String(), "\n"), nil
}

// writeKey writes the part about one key.
func writeKey(b *strings.Builder, k load.Key, known map[string]string) {
	fmt.Fprintf(b, "\n#### `%s`\n\n%s\n\n- Form: %s.\n- When absent: %s\n", k.Name, k.Text, k.Form, sentence(k.Absent))
	words := fmt.Sprint(k.Words)
	switch first := known[words]; {
	case len(k.Words) == 0:
	case first != "" && len(k.Words) > 3:
		fmt.Fprintf(b, "- Words: those of `%s`.\n", first)
	case !slices.ContainsFunc(k.Words, func(w load.Word) bool { return w.Meaning != "" }):
		var names []string
		for _, w := range k.Words {
			names = append(names, "`"+w.Name+"`")
		}
		fmt.Fprintf(b, "- Words: %s.\n", strings.Join(names, ", "))
	default:
		known[words] = k.Name
		b.WriteString("- Words:\n")
		for _, w := range k.Words {
			fmt.Fprintf(b, "  - `%s`: %s\n", w.Name, strings.TrimSpace(w.Meaning))
		}
	}
	for _, example := range k.Examples {
		fmt.Fprintf(b, "- Example: `%s`\n", example)
	}
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	if strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
