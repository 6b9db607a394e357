package stored

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/store"
)

// formKeys is the beginning of the keys of the records about custom kinds. The rest is
// the name of the definition.
const formKeys = "capstan/stored-form."

// CustomForm is the record of a store about the form of the objects of a custom kind.
// Without one, all objects that are older than the definition may be in another form.
type CustomForm struct {
	Form  string `json:"form"`  // a fingerprint of how objects are stored
	Since uint64 `json:"since"` // objects up to this revision may have another one
}

// Forms reads the records about custom kinds, by the names of their definitions.
func (c *CurrentStore) Forms(ctx context.Context) (map[string]CustomForm, error) {
	view, err := c.Store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	all := map[string]CustomForm{}
	var wrong error
	err = view.Scan(ctx, formKeys, "", func(e *store.Entry) bool {
		var form CustomForm
		if err := json.Unmarshal(e.Body, &form); err != nil {
			wrong = fmt.Errorf("%s in the store cannot be read: %w; restore a backup", e.Key, err)
			return false
		}
		all[strings.Clone(e.Key[len(formKeys):])] = form
		return true
	})
	if err == nil {
		err = wrong
	}
	return all, err
}

// NoteForm records that the objects of a custom kind have a form, and returns the record:
// the revision is the one that the type was put with. The type has the beginning prefix of
// its keys, and its definition has the name.
func (c *CurrentStore) NoteForm(ctx context.Context, prefix, name, form string) (noted CustomForm, err error) {
	kind := c.Kinds().of(prefix)
	if kind == nil {
		return noted, nil
	}
	noted = CustomForm{form, kind.since}
	body, err := json.Marshal(noted)
	if err != nil {
		return noted, err
	}
	_, err = c.Store.Update(ctx, formKeys+name, func(current *store.Entry) (store.Write, error) {
		op := store.OpUpdate
		if current == nil {
			op = store.OpCreate
		} else if bytes.Equal(current.Body, body) {
			return store.Write{}, nil
		}
		return store.Write{Op: op, Value: store.Value{Body: body, RevisionAt: -1}}, nil
	})
	return noted, err
}

// ForgetForm removes the record about a custom kind.
func (c *CurrentStore) ForgetForm(ctx context.Context, name string) error {
	_, err := c.Store.Update(ctx, formKeys+name, func(current *store.Entry) (store.Write, error) {
		if current == nil {
			return store.Write{}, nil
		}
		return store.Write{Op: store.OpDelete, Value: store.Value{Body: current.Body, RevisionAt: -1}}, nil
	})
	return err
}
