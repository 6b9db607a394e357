package stored

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/store"
)

// formKeys is the beginning of the keys of the records about custom kinds. The rest is
// the name of the definition.
const formKeys = "capstan/stored-form."

// FormKey is the key of the record about the objects of a definition.
func FormKey(definition string) string { return formKeys + definition }

// CustomForm is the record of a store about the form of the objects of a custom kind: a
// fingerprint of how objects are stored. Objects up to the revision since, which is that of
// the record, may have another form. Without a record, those that are older than the
// definition may.
//
// Invariant: a write of an object has the record in its read set. So no object is stored in
// an earlier form once the record of the next one is stored.
type CustomForm struct {
	Form     string `json:"form"`
	Since    uint64 `json:"since"`
	Revision uint64 `json:"-"` // of the record; older releases wrote it later
}

// KeepsForms reports whether the store has records about custom kinds.
func (c *CurrentStore) KeepsForms() bool { return !c.shared }

// Forms reads the records about custom kinds, by the names of their definitions.
func (c *CurrentStore) Forms(ctx context.Context) (map[string]CustomForm, error) {
	if c.shared {
		return map[string]CustomForm{}, nil
	}
	view, err := c.Store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	all := map[string]CustomForm{}
	var wrong error
	err = view.Scan(ctx, formKeys, "", func(e *store.Entry) bool {
		form := CustomForm{Revision: e.Revision}
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

// NoteForms records the forms in which the objects of custom kinds are stored from now on,
// by the names of their definitions, and returns the records.
func (c *CurrentStore) NoteForms(ctx context.Context, forms map[string]string) (map[string]CustomForm, error) {
	var keys []string
	for name := range forms {
		keys = append(keys, FormKey(name))
	}
	entries, err := c.Store.UpdateAll(ctx, keys, func(current []*store.Entry) ([]store.Write, error) {
		writes := make([]store.Write, len(keys))
		for i, key := range keys {
			body := fmt.Appendf(nil, `{"form":%q,"since":}`, forms[key[len(formKeys):]])
			if writes[i] = (store.Write{Op: store.OpUpdate, Value: store.Value{Body: body, RevisionAt: len(body) - 1}}); current[i] == nil {
				writes[i].Op = store.OpCreate
			}
		}
		return writes, nil
	})
	if err != nil {
		return nil, err
	}
	noted := map[string]CustomForm{}
	for i, key := range keys {
		name := key[len(formKeys):]
		noted[name] = CustomForm{Form: forms[name], Since: entries[i].Revision, Revision: entries[i].Revision}
	}
	return noted, nil
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
