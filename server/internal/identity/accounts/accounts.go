// Package accounts knows the objects on which the tokens of service accounts depend.
package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Objects reads accounts, secrets, pods and nodes, without making trees of them.
type Objects struct {
	Store   store.Store
	Catalog *catalog.Catalog
}

var _ authn.AccountObjects = Objects{}

// Bound implements authn.AccountObjects.
func (o Objects) Bound(ctx context.Context, plural, namespace, name string) (of authn.Bound, err error) {
	e, err := o.Store.Get(ctx, o.Catalog.Snapshot().Core(plural).Key(namespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return of, fmt.Errorf("%s %s does not exist", plural, path.Join(namespace, name))
	}
	if err != nil {
		return of, err
	}
	meta, _ := document.Find(e.Body, "metadata")
	var deleted string
	of.UID = text(meta, "uid")
	if deleted = text(meta, "deletionTimestamp"); deleted != "" {
		if of.Deleted, err = time.Parse(time.RFC3339, deleted); err != nil {
			return of, err
		}
	}
	if plural == "secrets" {
		token, _ := document.Find(e.Body, "data", "token")
		_ = json.Unmarshal(token, &of.Token) // base64, as it was validated; without one there is no token
	}
	return of, nil
}

// text is a member with a text, "" for none.
func text(object []byte, name string) (s string) {
	value, _ := document.Find(object, name)
	_ = json.Unmarshal(value, &s) // a missing one is no JSON
	return s
}
