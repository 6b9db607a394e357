package server

// FactTable reads a table of facts.
var FactTable = factTable
