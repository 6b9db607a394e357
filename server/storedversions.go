package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/capstan-dev/capstan/internal/store"
)

// versionsKey is where the store says in which versions its objects are.
const versionsKey = "capstan/stored-versions"

// storedVersions is what a store says of the versions of its objects, by the
// beginning of their keys. A store without it was written before there was one, by
// nobody knows which release.
type storedVersions map[string]storedVersion

// storedVersion is what is known of one kind.
type storedVersion struct {
	// Version is what objects are written in.
	Version string `json:"version"`
	// Mixed says that objects from before may be in others.
	Mixed bool `json:"mixed,omitempty"`
	// Migrated is the revision up to which that was so; 0 when it never was.
	Migrated uint64 `json:"migrated,omitempty"`
}

// noteVersions brings the store's record up to what will be written from now on,
// and returns the kinds that may be read in other versions; due says that there are
// some that have not been migrated.
func noteVersions(ctx context.Context, s store.Store, kinds storeKinds) (mixed storeKinds, due bool, err error) {
	fresh := s.Current() == 0
	known, err := changeVersions(ctx, s, func(known storedVersions, found bool) {
		for prefix, k := range kinds {
			v, noted := known[prefix]
			version := k.res.GV.APIVersion()
			switch {
			case !noted:
				v.Mixed = !found && !fresh
			case v.Version != version:
				v.Mixed = true
			}
			v.Version = version
			known[prefix] = v
		}
	})
	if err != nil {
		return nil, false, err
	}
	mixed = storeKinds{}
	for prefix, k := range kinds {
		// Old revisions of what has been migrated can be read for a while.
		if v := known[prefix]; v.Mixed || v.Migrated > 0 && s.Oldest() <= v.Migrated {
			mixed[prefix] = k
			due = due || v.Mixed
		}
	}
	return mixed, due, nil
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
