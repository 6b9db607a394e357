package background

import (
	"context"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// mayHaveCertificate reports whether the author of a certificate signing request may have
// the certificate of a node: the permission to create that subresource of it.
func (c *Controllers) mayHaveCertificate(ctx context.Context, spec []byte, asks string) (bool, error) {
	var author struct {
		Username, UID string
		Groups        []string
		Extra         map[string][]string
	}
	if err := json.Unmarshal(spec, &author); err != nil {
		return false, err
	}
	decision, _, err := c.cfg.Authz.Authorize(ctx, &authz.Attributes{
		User: &authn.User{Name: author.Username, UID: author.UID, Groups: author.Groups, Extra: author.Extra},
		Verb: "create", Group: "certificates." + profile.GroupSuffix, Version: "*", Resource: "certificatesigningrequests", Subresource: asks, ResourceRequest: true})
	if decision == authz.Allow {
		return true, nil
	}
	return false, err
}
