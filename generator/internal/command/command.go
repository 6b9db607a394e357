// Package command has the commands of the designers of an API, who work on its documents
// (openapi/, schemas/).
package command

import (
	"fmt"
	"io"
	"os"
)

// Main runs a command at the root of the project in the working directory, and ends the
// process: with 1 when the documents are wrong or something breaks, with 2 when compat cannot read a
// side.
func Main() {
	if err := Run(".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(codeOf(err))
	}
}

// Run runs a command for the documents below root.
func Run(root string, args []string, out io.Writer) error {
	command := "generate"
	if len(args) > 0 {
		command = args[0]
	}
	switch command {
	case "compat":
		return compatCommand(root, args[1:], out)
	case "release-baseline":
		return releaseBaseline(root, args[1:], out)
	}
	if len(args) > 1 {
		return fmt.Errorf("%s takes no arguments: remove %q", command, args[1:])
	}
	if command == "generate" {
		return generate(root, emitters(), out)
	}
	return fmt.Errorf("unknown command %q: the commands are generate, compat and release-baseline", command)
}
