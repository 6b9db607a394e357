package verbs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
)

// pages makes and opens the tokens that continue a list.
//
// A token is base64url(mac | revision | key), where key is the first key of the next page
// without the collection's prefix, and mac covers prefix, revision and key: a token of
// another collection, or an edited one, is refused.
type pages struct{ secret []byte }

const macSize = 16

func (p *pages) mac(prefix string, rest []byte) []byte {
	h := hmac.New(sha256.New, p.secret)
	h.Write([]byte(prefix))
	h.Write([]byte{0})
	h.Write(rest)
	return h.Sum(nil)[:macSize]
}

func (p *pages) encode(revision uint64, prefix, key string) string {
	rest := binary.BigEndian.AppendUint64(nil, revision)
	rest = append(rest, strings.TrimPrefix(key, prefix)...)
	return base64.RawURLEncoding.EncodeToString(append(p.mac(prefix, rest), rest...))
}

// decode returns the content of a token. Errors: 400 for a token that this server
// did not make for this collection.
func (p *pages) decode(token, prefix string) (revision uint64, key string, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	// The decoder skips line breaks.
	if err != nil || strings.ContainsAny(token, "\r\n") || len(b) < macSize+8 || !hmac.Equal(b[:macSize], p.mac(prefix, b[macSize:])) {
		return 0, "", api.BadRequest("continue key is not valid: pass back the token of the previous page, unchanged, to the same collection")
	}
	return binary.BigEndian.Uint64(b[macSize:]), prefix + string(b[macSize+8:]), nil
}
