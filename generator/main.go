// Command generator is capstan-gen, for this repository: go run ./generator generate.
package main

import "github.com/capstan-dev/capstan/generator/internal/command"

func main() { command.Main() }
