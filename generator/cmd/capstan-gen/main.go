// Command capstan-gen is for the designers of an API: it turns their documents (openapi/,
// schemas/) into gen/, which other programs import, and internal/gen/. Without arguments
// it lists its commands.
package main

import "github.com/capstan-dev/capstan/generator/internal/command"

func main() { command.Main() }
