package authn

import (
	"encoding/json"
	"time"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// The secrets of bootstrap tokens (the specification, Bootstrap tokens).
const (
	BootstrapTokenNamespace = "kube-system"
	BootstrapTokenPrefix    = "bootstrap-token-" // of their names, followed by the id
	BootstrapTokenType      = "bootstrap." + profile.LabelDomain + "/token"
)

// BootstrapToken is the secret of a token by which new nodes join, as it is stored.
type BootstrapToken struct {
	Metadata struct{ Name, UID, DeletionTimestamp string }
	Type     string
	Data     map[string][]byte
}

// ReadBootstrapToken reads a stored secret, of any type. Errors: those of encoding/json.
func ReadBootstrapToken(body []byte) (t BootstrapToken, err error) {
	return t, json.Unmarshal(body, &t)
}

// ID is the public part of the token.
func (t *BootstrapToken) ID() string { return string(t.Data["token-id"]) }

// Secret is the other part.
func (t *BootstrapToken) Secret() []byte { return t.Data["token-secret"] }

// For reports whether the token has a usage: "authentication" or "signing".
func (t *BootstrapToken) For(usage string) bool {
	return string(t.Data["usage-bootstrap-"+usage]) == "true"
}

// End is the time until which the token counts; unlimited tokens have none. A time that
// cannot be read has passed.
func (t *BootstrapToken) End() (at time.Time, limited bool) {
	text := string(t.Data["expiration"])
	if text == "" {
		return time.Time{}, false
	}
	at, _ = time.Parse(time.RFC3339, text)
	return at, true
}

// Ended reports whether the token does not count any more.
func (t *BootstrapToken) Ended(now time.Time) bool {
	at, limited := t.End()
	return limited && !at.After(now)
}
