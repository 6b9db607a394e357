package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/gen/openapi"
	"github.com/capstan-dev/capstan/internal/api"
)

// The OpenAPI documents are generated; the server hands them out.

// openAPI2 answers /openapi/v2: JSON, or the binary form for clients that ask.
func (s *Server) openAPI2(r *request) error {
	if r.method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	doc := openapi.V2
	contentType := "application/json"
	if strings.Contains(r.http.Header.Get("Accept"), "proto-openapi") {
		doc, contentType = openapi.V2Binary, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	}
	return s.cached(r, contentType, doc)
}

// openAPI3Index answers /openapi/v3: where each group version's document is,
// with its hash, so that clients fetch it once.
func (s *Server) openAPI3Index(r *request) error {
	if r.method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	return s.respondDocument(r, openapi.V3Index)
}

func (s *Server) openAPI3(name string) func(*request) error {
	return func(r *request) error {
		if r.method() != http.MethodGet {
			return api.MethodNotAllowed([]string{http.MethodGet})
		}
		doc := openapi.V3[name]
		if hash := r.query.get("hash"); hash != "" {
			if hash != doc.Hash {
				r.w.Header().Set("Location", "/openapi/v3/"+name+"?hash="+doc.Hash)
				return r.send(http.StatusMovedPermanently, "application/json")
			}
			r.w.Header().Set("Cache-Control", "public, immutable")
			r.w.Header().Set("Expires", s.cfg.now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
		} else {
			r.w.Header().Set("Cache-Control", "no-cache, private")
		}
		return s.cached(r, "application/json", doc)
	}
}

// cached answers with a document, or with 304 when the client has it.
func (s *Server) cached(r *request, contentType string, doc openapi.Document) error {
	etag := `"` + doc.Hash + `"`
	r.w.Header().Set("Etag", etag)
	r.w.Header().Add("Vary", "Accept")
	r.w.Header().Set("Last-Modified", s.started.UTC().Format(http.TimeFormat))
	if r.http.Header.Get("If-None-Match") == etag {
		r.status = http.StatusNotModified
		r.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if since, err := time.Parse(http.TimeFormat, r.http.Header.Get("If-Modified-Since")); err == nil && r.http.Header.Get("If-None-Match") == "" && !s.started.Truncate(time.Second).After(since) {
		r.status = http.StatusNotModified
		r.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return r.send(http.StatusOK, contentType, doc.Data)
}
