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

// binaryText is the binary form of a generated document of the second version.
func (c *CustomOpenAPI) binaryText(doc api.Document) Text {
	text := c.generatedText(doc.Hash, doc.Binary)
	if doc.Binary == "" {
		text.Parts = func() ([][]byte, error) {
			return c.made.get("v2 binary whole "+doc.Hash, func() ([][]byte, error) { return wholeBinary(doc) })
		}
	}
	return text
}

// wholeBinary is the binary form of a generated document that has only the JSON text.
func wholeBinary(doc api.Document) ([][]byte, error) {
	text, err := doc.JSON.Text()
	if err != nil {
		return nil, err
	}
	whole, err := openapi_v2.ParseDocument(text)
	if err != nil {
		return nil, err
	}
	binary, err := proto.MarshalOptions{Deterministic: true}.Marshal(whole)
	return [][]byte{binary}, err
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
