package server

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// Clients learn what the server is and what it serves from documents of the catalog's
// current snapshot.

// discoveryAt finds the document at a path; false when there is none.
func (s *Server) discoveryAt(snapshot *catalog.Snapshot, path string) (front.Target, bool) {
	if path == "/api" {
		return front.Target{Endpoint: s.versions, Place: "/api", Aggregated: true}, true
	}
	if !discovery.Serves(snapshot, path) {
		return front.Target{}, false
	}
	return front.Target{Place: front.FirstStep(path), Aggregated: path == "/apis", Endpoint: func(r *front.Request) error { return s.serveDiscovery(r, snapshot, path) }}, true
}

// serveDiscovery answers the document at a path. Those of groups do not look at the
// method, as in 1.25.
func (s *Server) serveDiscovery(r *front.Request, snapshot *catalog.Snapshot, path string) error {
	found, err := s.discovery.At(snapshot, path)
	if err != nil {
		return err
	}
	if found.Kind == "APIResourceList" && r.Method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if r.Accept.As == codec.AsDiscovery {
		return s.respondAggregated(r, snapshot)
	}
	return s.respondDocument(r, found.Kind, found.JSON)
}

// versions answers /api: the versions of the core group and where to reach the
// server.
func (s *Server) versions(r *front.Request) error {
	if r.Method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if r.Accept.As == codec.AsDiscovery {
		return s.respondAggregated(r, s.catalog.Snapshot())
	}
	address := r.HTTP.Host
	if a, ok := r.HTTP.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		address = a.String()
	}
	b, err := discovery.CoreVersions(address)
	if err != nil {
		return err
	}
	return s.respondDocument(r, "APIVersions", b)
}

// respondDocument answers with a document of discovery. The oldest of them have
// no apiVersion, in any representation.
func (s *Server) respondDocument(r *front.Request, kind string, text []byte) error {
	version, _ := document.Find(text, "apiVersion")
	return s.front.RespondBytes(r, http.StatusOK, s.front.MetaKind(kind).Of(string(bytes.Trim(version, `"`))), text)
}

// respondAggregated answers with the document of everything below /api or /apis, or with
// 304 to a client that has it already (RFC 9110 section 13.1.2).
func (s *Server) respondAggregated(r *front.Request, snapshot *catalog.Snapshot) error {
	core := !strings.HasPrefix(r.HTTP.URL.Path, "/apis")
	text, tag, err := discovery.Aggregated(snapshot, core, r.Accept.APIVersion)
	if err != nil {
		return err
	}
	h := r.Writer.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "public")
	h.Add("Vary", "Accept")
	if r.HTTP.Header.Get("If-None-Match") == tag {
		r.Head(http.StatusNotModified, r.Accept.ContentType())
		return nil
	}
	return r.Send(http.StatusOK, r.Accept.ContentType(), text)
}

// openAPI2 answers /openapi/v2: JSON, or the binary form for clients that ask.
func (s *Server) openAPI2(r *front.Request) error {
	doc := openapi.V2()
	if strings.Contains(r.HTTP.Header.Get("Accept"), openapi.BinaryAccept) {
		return s.cached(r, openapi.BinaryType, doc.Hash+"-binary", doc.Binary)
	}
	return s.cached(r, "application/json", doc.Hash, doc.JSON)
}

// openAPI3At finds a document of the third version of OpenAPI, by its path below
// /openapi/.
func (s *Server) openAPI3At(rest string) front.Target {
	path, ok := strings.CutPrefix(rest, "v3/")
	if ok {
		for doc := range discovery.OpenAPI(s.catalog.Snapshot()) {
			if doc.Path == path {
				return front.Target{Endpoint: s.openAPI3(doc), Place: "/openapi", OwnForm: true}
			}
		}
	}
	return front.Target{}
}

// openAPI3Paths are the paths of the documents.
func (s *Server) openAPI3Paths() (paths []string) {
	if s.features[features.OpenAPIV3] {
		for doc := range discovery.OpenAPI(s.catalog.Snapshot()) {
			paths = append(paths, "/openapi/v3/"+doc.Path)
		}
	}
	return paths
}

// openAPI3Index answers /openapi/v3: where each group version's document is.
func (s *Server) openAPI3Index(r *front.Request) error {
	body, err := discovery.OpenAPIIndex(s.catalog.Snapshot())
	if err != nil {
		return err
	}
	return r.Send(http.StatusOK, "application/json", body)
}

// openAPI3 answers one document. A request that names its hash gets an answer
// that may be kept for ever.
func (s *Server) openAPI3(doc openapi.Document) func(*front.Request) error {
	return func(r *front.Request) error {
		if hash := r.Query.Get("hash"); hash != "" {
			if hash != doc.Hash {
				r.Writer.Header().Set("Location", "/openapi/v3/"+doc.Path+"?hash="+doc.Hash)
				return r.Send(http.StatusMovedPermanently, "application/json")
			}
			r.Writer.Header().Set("Cache-Control", "public, immutable")
			r.Writer.Header().Set("Expires", s.cfg.Clock().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
		}
		return s.cached(r, "application/json", doc.Hash, doc.JSON)
	}
}

// cached answers with a document, or with 304 when the client has it.
func (s *Server) cached(r *front.Request, contentType, hash, text string) error {
	etag := `"` + hash + `"`
	r.Writer.Header().Set("Etag", etag)
	r.Writer.Header().Add("Vary", "Accept")
	if r.HTTP.Header.Get("If-None-Match") == etag {
		r.Status = http.StatusNotModified
		r.Writer.WriteHeader(http.StatusNotModified)
		return nil
	}
	return r.Send(http.StatusOK, contentType, []byte(text))
}

// version answers /version.
func (s *Server) version(r *front.Request) error {
	if r.Method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if !codec.AcceptsJSON(r.HTTP.Header.Get("Accept")) {
		refused := api.NotAcceptableForm("only the following media types are accepted: application/json")
		refused.HasDetails = true
		return refused
	}
	body, err := json.MarshalIndent(discovery.Release(), "", "  ")
	if err != nil {
		return err
	}
	return r.Send(http.StatusOK, "application/json", body)
}
