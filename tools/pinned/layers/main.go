// Command layers draws the groups of packages and their imports: internal/lint/layers.svg, from
// the rows of internal/lint/layers.txt and the imports in the code.
//
//	layers [-print] FOLDER
//
// The folder is that of the repository. With -print the picture goes to the standard output.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	toOutput := flag.Bool("print", false, "print the picture instead of writing the file")
	flag.Parse()
	if err := run(flag.Arg(0), *toOutput); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root string, toOutput bool) error {
	if root == "" {
		return errors.New("name the folder of the repository")
	}
	h, err := readHouse(root)
	if err != nil {
		return err
	}
	svg, err := draw(h)
	if err != nil {
		return err
	}
	if toOutput {
		_, err = os.Stdout.Write(svg)
		return err
	}
	return os.WriteFile(filepath.Join(root, "internal", "lint", "layers.svg"), svg, 0o644)
}
