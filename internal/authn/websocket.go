package authn

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// protocolPrefix begins the WebSocket protocol that carries a bearer token: a browser can
// name protocols when it opens a WebSocket, and set no headers.
const protocolPrefix = "base64url.bearer.authorization." + profile.GroupSuffix + "."

// webSocketBearer authenticates requests by a token among their WebSocket protocols. The
// request has to name another protocol too, because a browser expects that one is chosen
// and the token must not be sent back.
type webSocketBearer bearer

var errNoOtherProtocol = errors.New("a bearer token is the only WebSocket protocol named; another one has to be there to be chosen")

func (b webSocketBearer) Authenticate(r *http.Request) (*Identity, error) {
	token := ProtocolToken(r)
	if token == "" {
		return nil, nil
	}
	if OtherProtocol(r) == "" {
		return nil, errNoOtherProtocol
	}
	return bearer(b).find(r, token)
}

// ProtocolToken is the token among the WebSocket protocols of a request, "" when none is
// readable.
func ProtocolToken(r *http.Request) string {
	for p := range protocols(r) {
		if text, ok := strings.CutPrefix(p, protocolPrefix); ok {
			token, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
			if err == nil && utf8.Valid(token) {
				return string(token)
			}
		}
	}
	return ""
}

// OtherProtocol is the first WebSocket protocol of a request that is not a token, or "".
func OtherProtocol(r *http.Request) string {
	for p := range protocols(r) {
		if !strings.HasPrefix(p, protocolPrefix) {
			return p
		}
	}
	return ""
}

// protocols visits the WebSocket protocols that a request names.
func protocols(r *http.Request) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range r.Header["Sec-Websocket-Protocol"] {
			for p := range strings.SplitSeq(v, ",") {
				if p = strings.TrimSpace(p); p != "" && !yield(p) {
					return
				}
			}
		}
	}
}

// RemoveProtocolToken deletes the tokens among the WebSocket protocols in the headers of a
// request.
func RemoveProtocolToken(h http.Header) {
	var others []string
	for p := range protocols(&http.Request{Header: h}) {
		if !strings.HasPrefix(p, protocolPrefix) {
			others = append(others, p)
		}
	}
	if h.Del("Sec-Websocket-Protocol"); others != nil {
		h.Set("Sec-Websocket-Protocol", strings.Join(others, ", "))
	}
}
