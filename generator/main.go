package main

import "github.com/capstan-dev/capstan/generator/internal/command"

func main() { command.Main() }
