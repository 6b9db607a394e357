package endpoints

import (
	"net/http"
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// The documents about the issuer of service accounts' tokens, by which other programs
// verify them: 404 when the issuer is not a URL.

// IssuerConfiguration answers /.well-known/openid-configuration.
func (x *Endpoints) IssuerConfiguration(r *request.Request) error {
	if x.cfg.IssuerDocuments == nil {
		return api.UnknownPath()
	}
	documents, age := x.cfg.IssuerDocuments()
	return sendIssuerDocument(r, "application/json", documents.Configuration, age)
}

// KeysPath is the path of the public keys of service accounts' tokens.
const KeysPath = "/openid/v1/jwks"

// IssuerKeys answers with the keys, in a media type of their own.
func (x *Endpoints) IssuerKeys(r *request.Request) error {
	if x.cfg.IssuerDocuments == nil {
		return api.UnknownPath()
	}
	documents, age := x.cfg.IssuerDocuments()
	return sendIssuerDocument(r, "application/jwk-set+json", documents.Keys, age)
}

func sendIssuerDocument(r *request.Request, mediaType string, text []byte, maxAge int) error {
	if r.Method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	if !codec.Accepts(r.HTTP.Header.Get("Accept"), mediaType) {
		return api.NotAcceptable([]string{mediaType})
	}
	r.Writer.Header().Set("Cache-Control", "public, max-age="+strconv.Itoa(maxAge))
	return r.Send(http.StatusOK, mediaType, text)
}
