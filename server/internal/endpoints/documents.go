package endpoints

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Discovery, OpenAPI and version describe the server and the resources of the catalog's
// current snapshot.

// DiscoveryAt finds the document at a path; false when there is none.
func (x *Endpoints) DiscoveryAt(snapshot *catalog.Snapshot, path string) (request.Target, bool) {
	if path == "/api" {
		return request.Target{Endpoint: x.versions, EndpointPath: "/api", Aggregated: true}, true
	}
	if !discovery.Serves(snapshot, path) {
		return request.Target{}, false
	}
	return request.Target{EndpointPath: request.FirstStep(path), Aggregated: path == "/apis", InCBOR: discovery.OfVersion(path),
		Endpoint: func(r *request.Request) error { return x.serveDiscovery(r, snapshot, path) }}, true
}

// serveDiscovery answers the document at a path. Those of groups accept any method, as in
// 1.25.
func (x *Endpoints) serveDiscovery(r *request.Request, snapshot *catalog.Snapshot, path string) error {
	found, err := x.discovery.At(snapshot, path)
	if err != nil {
		return err
	}
	if found.Kind == "APIResourceList" && r.Method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if r.Accept.As == codec.AsDiscovery {
		return x.respondAggregated(r, snapshot)
	}
	return x.respondDocument(r, found.Kind, found.JSON)
}

// versions answers /api: the versions of the core group and the server's address.
func (x *Endpoints) versions(r *request.Request) error {
	if r.Method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if r.Accept.As == codec.AsDiscovery {
		return x.respondAggregated(r, x.catalog.Snapshot())
	}
	address := r.HTTP.Host
	if a, ok := r.HTTP.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		address = a.String()
	}
	b, err := discovery.CoreVersions(address)
	if err != nil {
		return err
	}
	return x.respondDocument(r, "APIVersions", b)
}

// respondDocument answers with a discovery document. The oldest of them have no
// apiVersion, in any representation.
func (x *Endpoints) respondDocument(r *request.Request, kind string, text []byte) error {
	version, _ := document.Find(text, "apiVersion")
	return x.env.RespondBytes(r, http.StatusOK, x.env.MetaKind(kind).Of(string(bytes.Trim(version, `"`))), text)
}

// respondAggregated answers with the document of everything below /api or /apis, or with
// 304 to a client that has it already (RFC 9110 section 13.1.2).
func (x *Endpoints) respondAggregated(r *request.Request, snapshot *catalog.Snapshot) error {
	core := !strings.HasPrefix(r.HTTP.URL.Path, "/apis")
	doc, err := x.discovery.Aggregated(snapshot, core, r.Accept.APIVersion)
	if err != nil {
		return err
	}
	h := r.Writer.Header()
	h.Set("ETag", doc.Tag)
	h.Set("Cache-Control", "public")
	h.Add("Vary", "Accept")
	if r.HTTP.Header.Get("If-None-Match") == doc.Tag {
		r.Head(http.StatusNotModified, r.Accept.ContentType())
		return nil
	}
	return r.Send(http.StatusOK, r.Accept.ContentType(), doc.JSON)
}

// OpenAPI2 answers /openapi/v2: JSON, or the binary form for clients that accept it.
func (x *Endpoints) OpenAPI2(r *request.Request) error {
	snapshot, accept := x.catalog.Snapshot(), r.HTTP.Header.Get("Accept")
	if strings.Contains(accept, api.BinaryAccept) {
		doc := x.custom.Second(snapshot, true)
		doc.Hash += "-binary"
		return x.cached(r, api.BinaryType, doc)
	}
	if !codec.AcceptsJSON(accept) {
		return api.NotAcceptable([]string{"application/json", api.BinaryAccept})
	}
	return x.cached(r, "application/json", x.custom.Second(snapshot, false))
}

// OpenAPI3At finds an OpenAPI v3 document, by its path below /openapi/.
func (x *Endpoints) OpenAPI3At(rest string) request.Target {
	path, ok := strings.CutPrefix(rest, "v3/")
	if !ok {
		return request.Target{}
	}
	if v := x.catalog.Snapshot().RemoteAt("/" + path); v != nil && path == "apis/"+v.APIVersion() {
		return x.extensions.Document(v)
	}
	doc, ok := x.custom.ThirdAt(x.catalog.Snapshot(), path)
	if !ok {
		return request.Target{}
	}
	return request.Target{Endpoint: func(r *request.Request) error { return x.openAPI3(r, path, doc) }, EndpointPath: "/openapi", OwnRepresentation: true}
}

// OpenAPI3Paths are the paths of the documents.
func (x *Endpoints) OpenAPI3Paths() (paths []string) {
	if x.features[options.OpenAPIV3] {
		for path := range x.custom.Third(x.catalog.Snapshot()) {
			paths = append(paths, "/openapi/v3/"+path)
		}
	}
	return paths
}

// OpenAPI3Index answers /openapi/v3: the path of each group version's document.
func (x *Endpoints) OpenAPI3Index(r *request.Request) error {
	body, err := x.custom.Index(x.catalog.Snapshot())
	if err != nil {
		return err
	}
	return r.Send(http.StatusOK, "application/json", body)
}

// binaryThird is the binary form of the third version. Clients that accept nothing else
// read JSON too.
const binaryThird = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"

// openAPI3 answers one document. A request with its hash gets an answer that may be
// cached for ever.
func (x *Endpoints) openAPI3(r *request.Request, path string, doc discovery.Text) error {
	if accept := r.HTTP.Header.Get("Accept"); !codec.AcceptsJSON(accept) && !codec.Accepts(accept, binaryThird) {
		return api.NotAcceptable([]string{"application/json"})
	}
	if hash := r.Query.Get("hash"); hash != "" {
		if hash != doc.Hash {
			r.Writer.Header().Set("Location", "/openapi/v3/"+path+"?hash="+doc.Hash)
			return r.Send(http.StatusMovedPermanently, "application/json")
		}
		r.Writer.Header().Set("Cache-Control", "public, immutable")
		r.Writer.Header().Set("Expires", x.cfg.Clock().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	return x.cached(r, "application/json", doc)
}

// cached answers with a document, or with 304 when the client has it.
func (x *Endpoints) cached(r *request.Request, contentType string, doc discovery.Text) error {
	etag := `"` + doc.Hash + `"`
	r.Writer.Header().Set("Etag", etag)
	r.Writer.Header().Add("Vary", "Accept")
	if r.HTTP.Header.Get("If-None-Match") == etag {
		r.Begun(http.StatusNotModified)
		r.Writer.WriteHeader(http.StatusNotModified)
		return nil
	}
	if doc.Packed != "" && request.GzipPays(doc.Packed.Size()) && r.AcceptsGzip() {
		return r.SendPacked(http.StatusOK, contentType, string(doc.Packed))
	}
	text, err := doc.Parts()
	if err != nil {
		return err
	}
	return r.Send(http.StatusOK, contentType, text...)
}

// Version answers /version.
func (x *Endpoints) Version(r *request.Request) error {
	if r.Method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if !codec.AcceptsJSON(r.HTTP.Header.Get("Accept")) {
		refused := api.NotAcceptableForm("only the following media types are accepted: application/json")
		refused.HasDetails = true
		return refused
	}
	body, err := json.MarshalIndent(discovery.Release(x.cfg.Release), "", "  ")
	if err != nil {
		return err
	}
	return r.Send(http.StatusOK, "application/json", body)
}
