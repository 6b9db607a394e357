package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/signing"
)

// maxTrustBundle is the schema's bound of the certificates in bytes.
const maxTrustBundle = 1 << 20

// ValidateClusterTrustBundle checks the certificates, unless an update leaves them as they
// were.
func (Policy) ValidateClusterTrustBundle(obj, old document.Value) []schema.Cause {
	var c causes
	bundle := obj.At("spec", "trustBundle")
	text := bundle.Text()
	if old.Exists() && text == old.At("spec", "trustBundle").Text() || len(text) > maxTrustBundle {
		return c.Causes // the schema reports one that is too long
	}
	for _, why := range signing.CheckAnchors([]byte(text)) {
		if c.Full() {
			break
		}
		c.InvalidText("spec.trustBundle", "<value omitted>", why)
	}
	return c.Causes
}
