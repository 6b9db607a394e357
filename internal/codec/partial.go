package codec

import "github.com/capstan-dev/capstan/internal/document"

// AppendPartial appends the PartialObjectMetadata of an object given as canonical JSON.
// apiVersion is that of the result, "meta.k8s.io/v1". An error means that the text is not
// that of an object.
func AppendPartial(dst, body []byte, apiVersion string) ([]byte, error) {
	metadata, ok := document.Find(body, "metadata")
	if !ok {
		return dst, errSyntax
	}
	dst = appendPartialHead(dst, apiVersion)
	dst = append(dst, metadata...)
	return append(dst, '}'), nil
}

func appendPartialHead(dst []byte, apiVersion string) []byte {
	dst = append(dst, `{"kind":"PartialObjectMetadata","apiVersion":`...)
	dst = document.AppendQuoted(dst, apiVersion)
	return append(dst, `,"metadata":`...)
}
