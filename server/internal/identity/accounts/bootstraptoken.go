package accounts

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
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
	bootstrapUser  = "system:bootstrap:"
	bootstrapGroup = "system:bootstrappers"
)

var (
	bootstrapToken  = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)
	bootstrapGroups = regexp.MustCompile(`^` + bootstrapGroup + `:[a-z0-9:-]*[a-z0-9]$`)
)

// mostGroup bounds the name of a group, in bytes. A bound in the expression would take milliseconds of each start to compile.
const mostGroup = len(bootstrapGroup+":") + 256

// AuthenticateToken implements authn.TokenAuthenticator. An error is the reason why the
// secret of a token does not count.
func (b BootstrapTokens) AuthenticateToken(ctx context.Context, token string) (*authn.Identity, error) {
	parts := bootstrapToken.FindStringSubmatch(token)
	if parts == nil {
		return nil, nil
	}
	name := authn.BootstrapTokenPrefix + parts[1]
	e, err := b.Store.Get(ctx, b.Catalog.Snapshot().Core("secrets").Key(authn.BootstrapTokenNamespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	secret, err := authn.ReadBootstrapToken(e.Body)
	if err != nil {
		return nil, err
	}
	groups, problem := b.judge(&secret, parts[1], parts[2])
	if problem != "" {
		return nil, fmt.Errorf("the bootstrap token of the secret %s/%s %s", authn.BootstrapTokenNamespace, name, problem)
	}
	return authn.Known(&authn.User{Name: bootstrapUser + parts[1], Groups: groups}), nil
}

// judge returns the groups of a token, or the reason why its secret does not permit it.
func (b BootstrapTokens) judge(secret *authn.BootstrapToken, id, password string) (groups []string, problem string) {
	groups = []string{bootstrapGroup}
	if more := string(secret.Data["auth-extra-groups"]); more != "" {
		for group := range strings.SplitSeq(more, ",") {
			if len(group) > mostGroup || !bootstrapGroups.MatchString(group) {
				return nil, "has a group that is not one of bootstrapping"
			}
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	switch {
	case secret.Metadata.DeletionTimestamp != "":
		return nil, "is being deleted"
	case secret.Type != authn.BootstrapTokenType:
		return nil, "has another type than " + authn.BootstrapTokenType
	case subtle.ConstantTimeCompare(secret.Secret(), []byte(password)) != 1:
		return nil, "has another token-secret"
	case secret.ID() != id:
		return nil, "has another token-id"
	case secret.Ended(b.Clock()):
		return nil, "has expired"
	case !secret.For("authentication"):
		return nil, "is not for authentication"
	}
	return slices.Compact(groups), ""
}
