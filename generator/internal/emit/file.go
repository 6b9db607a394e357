package emit

// File is one generated file.
type File struct {
	Path string // below gen/ or internal/gen/, with slashes: "core/v1/table.go"
	Data []byte
}
