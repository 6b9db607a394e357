package discovery

import (
	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"

	"github.com/capstan-dev/capstan/internal/api"
)

// binaryOfGenerated is the binary form of a generated document. Modules embed the JSON text only.
func binaryOfGenerated(doc api.Document) ([]byte, error) {
	if doc.Binary != "" {
		return doc.Binary.Text()
	}
	text, err := doc.JSON.Text()
	if err != nil {
		return nil, err
	}
	return binaryForm(text)
}

// binaryForm is the binary form of the paths and definitions in an OpenAPI v2 document, by the
// library that defines it.
func binaryForm(document []byte) ([]byte, error) {
	doc, err := openapi_v2.ParseDocument(document)
	if err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(&openapi_v2.Document{Paths: doc.Paths, Definitions: doc.Definitions})
}
