package verbs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"path"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// pages makes and opens the tokens that continue a list.
//
// A token is base64url(mac | revision | number | key), where key is the first key of the
// next page without the collection's prefix, and mac covers the prefix and the rest: a
// token of another collection, or an edited one, is refused. Where the number of objects
// from that key on is not known it is left out, and mac says so.
//
// Servers that share a store have no secret: their tokens are those of kube-apiserver
// (sharedToken), so that any of them continues a list of another one.
type pages struct{ secret []byte }

// place is the content of a token.
type place struct {
	revision uint64
	key      string
	rest     *int64 // objects from the key on, nil if they were not counted
}

const macSize = 16

func (p *pages) mac(prefix string, counted bool, rest []byte) []byte {
	h := hmac.New(sha256.New, p.secret)
	h.Write([]byte(prefix))
	if counted {
		h.Write([]byte{1})
	} else {
		h.Write([]byte{0})
	}
	h.Write(rest)
	return h.Sum(nil)[:macSize]
}

func (p *pages) encode(prefix string, at place) string {
	if p.secret == nil {
		return encodeShared(prefix, at)
	}
	rest := binary.BigEndian.AppendUint64(nil, at.revision)
	if at.rest != nil {
		rest = binary.BigEndian.AppendUint64(rest, uint64(*at.rest))
	}
	rest = append(rest, strings.TrimPrefix(at.key, prefix)...)
	return base64.RawURLEncoding.EncodeToString(append(p.mac(prefix, at.rest != nil, rest), rest...))
}

// decode returns the content of a token. Errors: 400 for a token that this server
// did not make for this collection.
func (p *pages) decode(token, prefix string) (at place, err error) {
	if p.secret == nil {
		return decodeShared(token, prefix)
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	// The decoder skips line breaks.
	if err == nil && !strings.ContainsAny(token, "\r\n") && len(b) >= macSize+8 {
		mac, rest := b[:macSize], b[macSize:]
		at.revision = binary.BigEndian.Uint64(rest)
		if hmac.Equal(mac, p.mac(prefix, false, rest)) {
			at.key = prefix + string(rest[8:])
			return at, nil
		}
		if len(rest) >= 16 && hmac.Equal(mac, p.mac(prefix, true, rest)) {
			n := int64(binary.BigEndian.Uint64(rest[8:]))
			at.key, at.rest = prefix+string(rest[16:]), &n
			return at, nil
		}
	}
	return place{}, errToken()
}

func errToken() error {
	return api.BadRequest("continue key is not valid: pass back the token of the previous page, unchanged, to the same collection")
}

// sharedToken is the JSON of a token of kube-apiserver, in base64url. Rest is known to this server
// only.
type sharedToken struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"` // negative for the newest state
	Start    string `json:"start"`
	Rest     *int64 `json:"rest,omitempty"`
}

// sharedVersion is the version of such tokens.
const sharedVersion = "meta." + profile.GroupSuffix + "/v1"

func encodeShared(prefix string, at place) string {
	text, _ := json.Marshal(sharedToken{sharedVersion, int64(at.revision), strings.TrimPrefix(at.key, prefix), at.rest}) // never fails
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodeShared opens a token. The start stays in the collection.
func decodeShared(token, prefix string) (at place, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	var t sharedToken
	if err != nil || json.Unmarshal(text, &t) != nil || t.Version != sharedVersion || t.Revision == 0 || t.Start == "" || path.Clean("/"+t.Start) != "/"+t.Start {
		return place{}, errToken()
	}
	at.key, at.rest = prefix+t.Start, t.Rest
	if t.Revision > 0 {
		at.revision = uint64(t.Revision)
	}
	return at, nil
}
