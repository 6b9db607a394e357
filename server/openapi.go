package server

import (
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/server/internal/catalog"
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

// openAPI3At finds a document of the third version of OpenAPI, by its path below
// /openapi/.
func (s *Server) openAPI3At(rest string) target {
	path, ok := strings.CutPrefix(rest, "v3/")
	if ok {
		for doc := range s.openAPI3Served() {
			if doc.Path == path {
				return target{endpoint: s.openAPI3(doc), place: "/openapi", ownForm: true}
			}
		}
	}
	return target{}
}

// openAPI3Served are the documents of what is served now.
func (s *Server) openAPI3Served() iter.Seq[openapi.Document] {
	snapshot := s.catalog.Snapshot()
	return func(yield func(openapi.Document) bool) {
		for _, doc := range openapi.V3() {
			if servesOpenAPI(snapshot, doc.Path) && !yield(doc) {
				return
			}
		}
	}
}

// openAPI3Paths are the paths of the documents.
func (s *Server) openAPI3Paths() (paths []string) {
	if s.features[openAPIV3] {
		for doc := range s.openAPI3Served() {
			paths = append(paths, "/openapi/v3/"+doc.Path)
		}
	}
	return paths
}

// servesOpenAPI reports whether the group or group version that a document describes is
// served: its path is apis/<group>/<version>, apis/<group>, or neither of these.
func servesOpenAPI(snapshot *catalog.Snapshot, path string) bool {
	rest, named := strings.CutPrefix(path, "apis/")
	if !named {
		return path != "api/v1" || snapshot.ServesGroup("")
	}
	return slices.ContainsFunc(snapshot.Served(), func(v *catalog.Version) bool { return rest == v.Group || rest == v.APIVersion() })
}

// openAPI3Index answers /openapi/v3: where each group version's document is,
// with its hash, so that clients fetch it once.
func (s *Server) openAPI3Index(r *request) error {
	type place struct {
		URL string `json:"serverRelativeURL"`
	}
	paths := map[string]place{}
	for doc := range s.openAPI3Served() {
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
