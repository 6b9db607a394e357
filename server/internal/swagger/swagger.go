// Package swagger makes the binary form of OpenAPI v2 documents, by the library that
// defines it.
package swagger

import (
	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
)

// Binary is the binary form of the paths and definitions in a document.
func Binary(document []byte) ([]byte, error) {
	doc, err := openapi_v2.ParseDocument(document)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(&openapi_v2.Document{Paths: doc.Paths, Definitions: doc.Definitions})
}
