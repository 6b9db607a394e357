// Package emit turns the model into the files of gen/ and internal/gen/. Each emitter is a pure
// function of the model: equal models give equal bytes.
package emit

// File is one generated file.
type File struct {
	Path string // below gen/ or internal/gen/, with slashes: "core/v1/table.go"
	Data []byte
}
