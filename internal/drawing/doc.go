// Package drawing draws values of the types of a table, for tests and for the checks of documents. What it draws keeps
// most of the rules of its type; validation tells which values keep all. Equal seeds give equal values.
package drawing
