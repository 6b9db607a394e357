package api

import (
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// API holds the group versions of another module with their rules, and the documents that
// describe them. Generated code makes it.
type API struct {
	Release   string                 // of the documents; "" where they have no history
	Groups    func() []*GroupVersion // makes new rows, of which each server has its own
	Documents Documents
	Others    []Release // of the documents
}

// Release is another release of an API.
type Release struct {
	Release   string
	Groups    func() []*GroupVersion
	Documents Documents
}

// At is the API in one of its releases. The error names them.
func (a *API) At(release string) (*API, error) {
	var known []string
	for _, r := range a.Others {
		if known = append(known, r.Release); r.Release == release {
			return &API{Release: r.Release, Groups: r.Groups, Documents: r.Documents}, nil
		}
	}
	switch {
	case a.Release == "":
		return nil, errors.New("the API has no releases; drop the flag, or add openapi/releases.yaml to its documents")
	case a.Release == release:
		return a, nil
	}
	return nil, fmt.Errorf("the API has no release %q; write %s, the usual one, or one of %s", release, a.Release, strings.Join(known, ", "))
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
	JSON   Packed // a line for each member of paths, definitions and schemas
	Binary Packed // the protobuf form; "" where it is made of the JSON, or there is none
	Hash   string // SHA-512 of the JSON text in upper-case hexadecimal
}

// HashOf is the hash of a document with a JSON text.
func HashOf(text []byte) string {
	sum := sha512.Sum512(text)
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}

// Packed is a text in the form of gzip, in which most clients receive it as it is.
type Packed string

// Pack packs a text.
func Pack(text string) Packed {
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, text) // a builder takes everything
	_ = z.Close()
	return Packed(packed.String())
}

// Size is the number of bytes of the text.
func (p Packed) Size() int {
	if len(p) < 4 {
		return 0
	}
	return int(binary.LittleEndian.Uint32([]byte(p[len(p)-4:])))
}

// Text unpacks the text. Packed texts are made at generation, so a broken one is a broken
// binary.
func (p Packed) Text() ([]byte, error) {
	z, err := gzip.NewReader(strings.NewReader(string(p)))
	if err != nil {
		return nil, fmt.Errorf("a packed document: %w", err)
	}
	text := make([]byte, p.Size())
	if _, err := io.ReadFull(z, text); err != nil {
		return nil, fmt.Errorf("a packed document: %w", err)
	}
	return text, nil
}

// The binary form of the second version: the type that clients request in Accept, and the
// Content-Type of the answer. They differ because a media type may not hold an "@", so
// that clients fail to parse their own name for it.
const (
	BinaryAccept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	BinaryType   = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
)
