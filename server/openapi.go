package server

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/gen/openapi"
)

// The OpenAPI documents are generated; the server hands them out.

// openAPI2 answers /openapi/v2: JSON, or the binary form for clients that ask.
func (s *Server) openAPI2(r *request) error {
	doc := openapi.V2()
	if strings.Contains(r.http.Header.Get("Accept"), openapi.BinaryAccept) {
		return s.cached(r, openapi.BinaryType, doc.Hash+"-binary", doc.Binary)
	}
	return s.cached(r, "application/json", doc.Hash, doc.JSON)
}

// openAPI3Routes adds the paths of the third version of OpenAPI.
func (s *Server) openAPI3Routes(endpoint func(string, target)) {
	if !s.features[openAPIV3] {
		return
	}
	endpoint("/openapi/v3", target{endpoint: s.openAPI3Index, ownForm: true})
	for _, doc := range openapi.V3() {
		if !s.servesOpenAPI(doc.Path) {
			continue
		}
		endpoint("/openapi/v3/"+doc.Path, target{endpoint: s.openAPI3(doc), ownForm: true})
	}
}

// openAPI3Index answers /openapi/v3: where each group version's document is,
// with its hash, so that clients fetch it once.
func (s *Server) openAPI3Index(r *request) error {
	type place struct {
		URL string `json:"serverRelativeURL"`
	}
	paths := map[string]place{}
	for _, doc := range openapi.V3() {
		if !s.servesOpenAPI(doc.Path) {
			continue
		}
		paths[doc.Path] = place{"/openapi/v3/" + doc.Path + "?hash=" + doc.Hash}
	}
	body, err := json.Marshal(map[string]any{"paths": paths})
	if err != nil {
		return err
	}
	return r.send(http.StatusOK, "application/json", body)
}

// openAPI3 answers one document. A request that names its hash gets an answer
// that may be kept for ever.
func (s *Server) openAPI3(doc openapi.Document) func(*request) error {
	return func(r *request) error {
		if hash := r.query.get("hash"); hash != "" {
			if hash != doc.Hash {
				r.w.Header().Set("Location", "/openapi/v3/"+doc.Path+"?hash="+doc.Hash)
				return r.send(http.StatusMovedPermanently, "application/json")
			}
			r.w.Header().Set("Cache-Control", "public, immutable")
			r.w.Header().Set("Expires", s.cfg.now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
		}
		return s.cached(r, "application/json", doc.Hash, doc.JSON)
	}
}

// cached answers with a document, or with 304 when the client has it.
func (s *Server) cached(r *request, contentType, hash, text string) error {
	etag := `"` + hash + `"`
	r.w.Header().Set("Etag", etag)
	r.w.Header().Add("Vary", "Accept")
	if r.http.Header.Get("If-None-Match") == etag {
		r.status = http.StatusNotModified
		r.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return r.send(http.StatusOK, contentType, []byte(text))
}
