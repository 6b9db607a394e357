package discovery

import (
	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
)

// binaryForm is the binary form of the paths and definitions in an OpenAPI v2 document, by the
// library that defines it.
func binaryForm(document []byte) ([]byte, error) {
	doc, err := openapi_v2.ParseDocument(document)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(&openapi_v2.Document{Paths: doc.Paths, Definitions: doc.Definitions})
}
