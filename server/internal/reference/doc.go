// Package reference holds the pages in docs/reference to the program: what it prints about itself is
// the text of the pages about commands and flags, and the pages about errors, audit events and
// differences mention everything that the code has.
package reference
