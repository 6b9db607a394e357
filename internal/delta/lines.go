package delta

import "strings"

// A published document has a line for each member of paths and of schemas, which may be long. For its changes the lines are
// cut after each object in them.
const cut, mark = "},", "},\n\t"

// Lines cuts a JSON text, without tabs between its values, into lines.
func Lines(text []byte) []string {
	return strings.Split(strings.ReplaceAll(string(text), cut, mark), "\n")
}

// Text joins the lines of a JSON text.
func Text(lines []string) string {
	return strings.ReplaceAll(strings.Join(lines, "\n"), mark, cut)
}
