// Package expression is internal/expression as far as generated code of other modules
// needs it. Nothing else should import it: it changes with the generator.
package expression

import (
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/schema"
)

// NewCell is the cell of an expression over objects of a type.
func NewCell(t *schema.Table, of schema.Ref, text string) *expression.Cell {
	return expression.NewCell(t, of, text)
}

// NewFinder is the finder for the expressions in the rules of a table.
func NewFinder(t *schema.Table) *expression.Finder { return expression.NewFinder(t) }
