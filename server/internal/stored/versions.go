package stored

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/capstan-dev/capstan/internal/store"
)

// versionsKey is the key of the note under which documents objects were stored.
const versionsKey = "capstan/stored-versions"

// storedVersions is the note of a store about the form of its objects, by the beginning
// of their keys. A store without it was written before there was one, by an unknown
// release.
type storedVersions map[string]storedVersion

// storedVersion is the note about one kind.
type storedVersion struct {
	// Version is what objects are written in.
	Version string `json:"version"`
	// Form stands for what the documents say of their stored form. Absent in what an
	// older release has noted.
	Form string `json:"form,omitempty"`
	// Mixed says that objects may be in another version or form: those up to the
	// revision Since.
	Mixed bool   `json:"mixed,omitempty"`
	Since uint64 `json:"since,omitempty"`
	// Migrated is the revision up to which that was so; 0 while it is, and when it
	// never was.
	Migrated uint64 `json:"migrated,omitempty"`
}

// NoteVersions brings the store's record up to what will be written from now on,
// and returns the kinds of which there may be old objects; due says that there are
// some that have not been migrated. Nothing may be written meanwhile.
func NoteVersions(ctx context.Context, s store.Store, kinds Kinds) (mixed Kinds, due bool, err error) {
	at := s.Current()
	known, err := changeVersions(ctx, s, func(known storedVersions, found bool) {
		for prefix, k := range kinds {
			v, noted := known[prefix]
			version, form := k.res.GV.APIVersion(), k.form()
			switch {
			case noted && v.Version == version && v.Form == form:
			case !noted && (found || at == 0): // it is new
			default:
				v.Mixed, v.Since, v.Migrated = true, at, 0
			}
			v.Version, v.Form = version, form
			known[prefix] = v
		}
	})
	if err != nil {
		return nil, false, err
	}
	mixed = Kinds{}
	for prefix, k := range kinds {
		v := known[prefix]
		k.since = v.Since
		k.migrated.Store(v.Migrated)
		// Old revisions of what has been migrated can be read for a while.
		if v.Mixed || v.Migrated > 0 && s.Oldest() < v.Migrated {
			mixed[prefix] = k
			due = due || v.Mixed
		}
	}
	return mixed, due, nil
}

// NoteMigrated says in the store's record, and to all who read, that every object
// of the kinds is as it would be stored today.
func NoteMigrated(ctx context.Context, s store.Store, kinds Kinds) error {
	known, err := changeVersions(ctx, s, func(known storedVersions, _ bool) {
		for prefix := range kinds {
			if v := known[prefix]; v.Mixed {
				v.Mixed, v.Migrated = false, s.Current()
				known[prefix] = v
			}
		}
	})
	if err != nil {
		return err
	}
	for prefix, k := range kinds {
		k.migrated.Store(known[prefix].Migrated)
	}
	return nil
}

// changeVersions changes the store's record.
func changeVersions(ctx context.Context, s store.Store, change func(known storedVersions, found bool)) (storedVersions, error) {
	known := storedVersions{}
	_, err := s.Update(ctx, versionsKey, func(current *store.Entry) (store.Write, error) {
		op := store.OpCreate
		var before []byte
		if current != nil {
			op, before = store.OpUpdate, current.Body
			if err := json.Unmarshal(before, &known); err != nil {
				return store.Write{}, fmt.Errorf("%s in the store cannot be read: %w; restore a backup", versionsKey, err)
			}
		}
		change(known, current != nil)
		after, err := json.Marshal(known) // in the order of the names
		if err != nil || string(after) == string(before) {
			return store.Write{}, err
		}
		return store.Write{Op: op, Value: store.Value{Body: after, RevisionAt: -1}}, nil
	})
	return known, err
}
