package accounts

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// BootstrapTokens authenticates by the tokens with which new nodes join: secrets of
// kube-system (the specification, Bootstrap tokens).
type BootstrapTokens struct {
	Objects
	Clock func() time.Time
}

var _ authn.TokenAuthenticator = BootstrapTokens{}

const (
	bootstrapNamespace = "kube-system"
	bootstrapUser      = "system:bootstrap:"
	bootstrapGroup     = "system:bootstrappers"
	bootstrapType      = "bootstrap." + profile.LabelDomain + "/token"
)

var (
	bootstrapToken  = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)
	bootstrapGroups = regexp.MustCompile(`^` + bootstrapGroup + `:[a-z0-9:-]{0,255}[a-z0-9]$`)
)

// AuthenticateToken implements authn.TokenAuthenticator. An error is the reason why the
// secret of a token does not count.
func (b BootstrapTokens) AuthenticateToken(ctx context.Context, token string) (*authn.Identity, error) {
	parts := bootstrapToken.FindStringSubmatch(token)
	if parts == nil {
		return nil, nil
	}
	name := "bootstrap-token-" + parts[1]
	e, err := b.Store.Get(ctx, b.Catalog.Snapshot().Core("secrets").Key(bootstrapNamespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	groups, problem := b.judge(e.Body, parts[1], parts[2])
	if problem != "" {
		return nil, fmt.Errorf("the bootstrap token of the secret %s/%s %s", bootstrapNamespace, name, problem)
	}
	return authn.Known(&authn.User{Name: bootstrapUser + parts[1], Groups: groups}), nil
}

// judge returns the groups of a token, or the reason why its secret does not permit it.
func (b BootstrapTokens) judge(secret []byte, id, password string) (groups []string, problem string) {
	meta, _ := document.Find(secret, "metadata")
	var data map[string][]byte
	raw, _ := document.Find(secret, "data")
	_ = json.Unmarshal(raw, &data) // validated when it was stored
	groups = []string{bootstrapGroup}
	if more := string(data["auth-extra-groups"]); more != "" {
		for group := range strings.SplitSeq(more, ",") {
			if !bootstrapGroups.MatchString(group) {
				return nil, "has a group that is not one of bootstrapping"
			}
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	switch {
	case text(meta, "deletionTimestamp") != "":
		return nil, "is being deleted"
	case text(secret, "type") != bootstrapType:
		return nil, "has another type than " + bootstrapType
	case subtle.ConstantTimeCompare(data["token-secret"], []byte(password)) != 1:
		return nil, "has another token-secret"
	case string(data["token-id"]) != id:
		return nil, "has another token-id"
	case b.expired(string(data["expiration"])):
		return nil, "has expired"
	case string(data["usage-bootstrap-authentication"]) != "true":
		return nil, "is not for authentication"
	}
	return slices.Compact(groups), ""
}

// expired reports whether a time has passed; "" is never. One that cannot be read has.
func (b BootstrapTokens) expired(end string) bool {
	if end == "" {
		return false
	}
	at, err := time.Parse(time.RFC3339, end)
	return err != nil || !at.After(b.Clock())
}
