package command

import (
	"io"
	"os"

	"golang.org/x/term"
)

// colours paints words on a terminal. Without one, and where NO_COLOR is set, words stay plain.
type colours bool

// coloursOf are those of a command's output.
func coloursOf(out io.Writer) colours {
	return colours(terminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// terminal reports whether a person looks at the output.
func terminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (c colours) paint(code, text string) string {
	if !c {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (c colours) red(text string) string    { return c.paint("31", text) }
func (c colours) yellow(text string) string { return c.paint("33", text) }
func (c colours) green(text string) string  { return c.paint("32", text) }
func (c colours) bold(text string) string   { return c.paint("1", text) }
