package stage

import (
	"context"
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// ReadBackup reads what a backup of the store holds of built-in kinds.
func (s *Stage) ReadBackup(dir string) (b record.Backup, err error) {
	cipher, err := encryption.Read(s.EncryptionFile(), resourceOfKey)
	if err != nil {
		return b, err
	}
	defer cipher.Close()
	engine, err := store.OpenReadOnly(store.Config{Dir: dir, Cipher: cipher})
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	ctx := context.Background()
	view, err := engine.At(ctx, 0)
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	b = record.Backup{Revision: engine.Current(), Objects: make(map[string]uint64)}
	for _, kind := range Builtin {
		group := kind.Group
		if group == "" {
			group = "core"
		}
		prefix := group + "/" + kind.Resource + "/"
		err := view.Scan(ctx, prefix, "", func(e *store.Entry) bool {
			space, name, found := strings.Cut(strings.TrimPrefix(e.Key, prefix), "/")
			if !found {
				space, name = "", space
			}
			b.Objects[history.Key(kind.Resource, space, name)] = e.Revision
			return true
		})
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// resourceOfKey is the resource whose object a key of the store names.
func resourceOfKey(key string) (group, resource string, ok bool) {
	group, rest, _ := strings.Cut(key, "/")
	resource, _, ok = strings.Cut(rest, "/")
	if group == "core" {
		group = ""
	}
	return group, resource, ok
}
