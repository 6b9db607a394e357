package stored

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/capstan-dev/capstan/internal/store"
)

// versionsKey is the key of the record of the documents under which objects were stored.
const versionsKey = "capstan/stored-versions"

// storedVersions is the record of a store about the form of its objects, by the beginning
// of their keys. A store without it was written by an unknown old release.
type storedVersions map[string]storedVersion

// storedVersion is the record of one kind.
type storedVersion struct {
	// Version is the storage version.
	Version string `json:"version"`
	// Form is the fingerprint of the stored form. Absent in records of older releases.
	Form string `json:"form,omitempty"`
	// Mixed means that objects may be in another version or form: those up to the
	// revision Since.
	Mixed bool   `json:"mixed,omitempty"`
	Since uint64 `json:"since,omitempty"`
	// Migrated is the revision up to which that was so; 0 while it is, and when it never
	// was.
	Migrated uint64 `json:"migrated,omitempty"`
}

// NoteVersions updates the store's record to the form of coming writes, and returns the
// kinds that may have old objects; due reports that some have not been migrated. Nothing
// may be written meanwhile.
func NoteVersions(ctx context.Context, s store.Store, kinds Kinds) (mixed Kinds, due bool, err error) {
	at := s.Current()
	known, err := changeVersions(ctx, s, func(known storedVersions, found bool) {
		for prefix, k := range kinds {
			v, noted := known[prefix]
			version, form := k.res.GV.APIVersion(), k.form()
			switch {
			case noted && v.Version == version && v.Form == form:
			case !noted && (found || at == 0): // the kind is new
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
		// Old revisions of migrated objects can be read for a while.
		if v.Mixed || v.Migrated > 0 && s.Oldest() < v.Migrated {
			mixed[prefix] = k
			due = due || v.Mixed
		}
	}
	return mixed, due, nil
}

// CheckVersions finds an object in a version that its kind does not have: in the store of a later release, of a kind
// that this release stores in another version. The error says which releases can read it. Objects that later servers
// make by themselves stay unread where their kind is not served.
func CheckVersions(ctx context.Context, s store.Store, kinds Kinds) error {
	known, err := recordOf(ctx, s)
	if err != nil {
		return err
	}
	view, err := s.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	for prefix, k := range kinds {
		if v, noted := known[prefix]; !noted || kinds.read(prefix, v.Version) || k.unasked(prefix) {
			continue
		}
		var wrong error
		err := view.Scan(ctx, prefix, "", func(e *store.Entry) bool {
			if version := VersionOf(e.Body); !e.Unreadable && k.versions.Version(version) == nil {
				wrong = fmt.Errorf("the store has %s in version %s, which this release does not have: serve a release that has it, or first one that stores the older version, and migrate the store",
					e.Key, version)
			}
			return wrong == nil
		})
		if err = cmp.Or(wrong, err); err != nil {
			return err
		}
	}
	return nil
}

// unasked reports whether nobody asks for the objects of a kind that later servers make by themselves.
func (k *Kind) unasked(prefix string) bool {
	_, own := made[prefix]
	return own && !k.versions.Served()
}

// NoteMigrated notes in the store's record, and for all readers, that every object of the
// kinds is as it would be stored today.
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
		at := known[prefix].Migrated
		if k.res.Definition != nil { // not in the record: a definition has its own revision
			at = s.Current()
		}
		k.migrated.Store(at)
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
			var err error
			if known, err = readVersions(before); err != nil {
				return store.Write{}, err
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

// readVersions reads the store's record.
func readVersions(body []byte) (known storedVersions, err error) {
	if err = json.Unmarshal(body, &known); err != nil {
		err = fmt.Errorf("%s in the store cannot be read: %w; restore a backup", versionsKey, err)
	}
	return known, err
}
