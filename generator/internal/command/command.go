// Package command has the commands of the designers of an API, who work on its documents
// (openapi/, schemas/).
package command

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/capstan-dev/capstan/generator/internal/compat"
)

// Main runs a command at the root of the project in the working directory, and ends the
// process: with 1 when the documents are wrong or, for compat, when something breaks.
func Main() {
	if err := Run(".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Run runs a command for the documents below root.
func Run(root string, args []string, out io.Writer) error {
	command := "generate"
	if len(args) > 0 {
		command = args[0]
	}
	if len(args) > 1 {
		return fmt.Errorf("%s takes no arguments: remove %q", command, args[1:])
	}
	switch command {
	case "generate":
		return generate(root, emitters(), out)
	case "compat":
		breaking, err := compat.Run(root, out)
		if err == nil && breaking {
			err = errors.New("the documents break what was released: take the changes back, or make them in a new version")
		}
		return err
	}
	return fmt.Errorf("unknown command %q: the commands are generate and compat", command)
}
