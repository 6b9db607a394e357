package controller

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// cluster is the server as controllers see it.
type cluster struct {
	Config
	Cluster    Cluster          // acts as the controller's account
	types      map[string]*Type // by prefix
	namespaces *Type
}

func newCluster(cfg Config) *cluster {
	c := &cluster{Config: cfg, types: make(map[string]*Type, len(cfg.Types))}
	for i := range cfg.Types {
		c.types[cfg.Types[i].Prefix] = &cfg.Types[i]
	}
	c.namespaces = c.find("", "namespaces")
	return c
}

// as returns the cluster for one controller.
func (c *cluster) as(account string) *cluster {
	own := *c
	own.Cluster = c.Acting(account)
	return &own
}

// parallel bounds the writes in flight of a piece of work: concurrent writes share the
// disk's sync.
const parallel = 16

// key is the store's key of an object.
func (t *Type) key(namespace, name string) string {
	if t.Namespaced {
		return t.Prefix + namespace + "/" + name
	}
	return t.Prefix + name
}

// split returns the names in a key.
func (t *Type) split(key string) (namespace, name string) {
	rest := key[len(t.Prefix):]
	if t.Namespaced {
		namespace, name, _ = strings.Cut(rest, "/")
		return namespace, name
	}
	return "", rest
}

// typeOf returns the type of the object with a key, or nil.
func (c *cluster) typeOf(key string) *Type {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		if j := strings.IndexByte(key[i+1:], '/'); j >= 0 {
			prefix := key[:i+j+2]
			if t := c.types[prefix]; t != nil || c.Custom == nil {
				return t
			}
			return c.Custom.ByPrefix(prefix)
		}
	}
	return nil
}

// ofKind returns the type of a kind, or nil.
func (c *cluster) ofKind(kind Kind) *Type {
	if t := c.types[c.Kinds[kind]]; t != nil || c.Custom == nil {
		return t
	}
	return c.Custom.ByKind(kind)
}

// find returns the type with a group and plural name, or nil.
func (c *cluster) find(group, plural string) *Type {
	for _, t := range c.types {
		if t.GV.Group == group && t.Plural == plural {
			return t
		}
	}
	return nil
}

// serves reports whether a version of a kind is served.
func (c *cluster) serves(group, plural string) bool {
	t := c.find(group, plural)
	return t != nil && !t.Off
}

// since reports whether the release of the built-in kinds is a named one or a later one.
func (c *cluster) since(release string) bool { return c.Since != nil && c.Since(release) }

// on reports whether a feature is on; "" always is.
func (c *cluster) on(gate string) bool { return gate == "" || c.On != nil && c.On(gate) }

// active reports whether a namespace exists and accepts new content.
func (c *cluster) active(ctx context.Context, name string) (bool, error) {
	e, err := c.Store.Get(ctx, c.namespaces.key("", name))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return !terminating(e.Body), nil
}

// terminating reports whether an object is being deleted.
func terminating(body []byte) bool {
	at, ok := document.Find(body, "metadata", "deletionTimestamp")
	return ok && string(at) != "null"
}

// hasReason reports whether an error is the answer with a reason.
func hasReason(err error, reason api.Reason) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Reason == reason
}

// ignoreNotFound turns the error for a missing object into success.
func ignoreNotFound(err error) error {
	if hasReason(err, api.ReasonNotFound) {
		return nil
	}
	return err
}

// order lists the types in the order of the scan: namespaces first, because the others
// are in them.
func (c *cluster) order() []*Type {
	var types []*Type
	for _, t := range c.types {
		types = append(types, t)
	}
	if c.Custom != nil {
		types = append(types, c.Custom.All()...)
	}
	slices.SortFunc(types, func(a, b *Type) int {
		switch {
		case a == c.namespaces:
			return -1
		case b == c.namespaces:
			return 1
		}
		return strings.Compare(a.Prefix, b.Prefix)
	})
	return types
}
