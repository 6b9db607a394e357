package api

// API holds the group versions of another module with their rules, and the documents that
// describe them. Generated code makes it.
type API struct {
	Groups    func() []*GroupVersion // makes new rows, of which each server has its own
	Documents Documents
}

// Documents are published OpenAPI documents.
type Documents struct {
	V2 Document
	V3 []Document // ordered by path
}

// Document is one published document. The hash was computed at generation, so that
// serving it costs nothing.
type Document struct {
	Path   string // "apis/apps/v1"; "" for the document of the second version
	JSON   string // a line for each member of paths, definitions and schemas
	Binary string // the protobuf form; "" where there is none
	Hash   string // SHA-512 of JSON in upper-case hexadecimal
}

// The binary form of the second version: the type that clients request in Accept, and the
// Content-Type of the answer. They differ because a media type may not hold an "@", so
// that clients fail to parse their own name for it.
const (
	BinaryAccept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	BinaryType   = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
)
