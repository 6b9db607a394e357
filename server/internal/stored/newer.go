package stored

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// made are the objects that a server of a later release makes by itself, and makes again: by the beginning of their keys,
// with the name of the one that is made, "" for all.
var made = map[string]string{
	"networking." + profile.GroupSuffix + "/ipaddresses/":       "",
	"networking." + profile.GroupSuffix + "/servicecidrs/":      profile.MediaTypeWord,
	"coordination." + profile.GroupSuffix + "/leasecandidates/": "",
}

// Newer are the objects in a store whose kinds came in releases later than the one to serve.
type Newer struct {
	kinds map[string]unread // by the beginning of their keys
	works []string          // the releases that read all of these kinds
}

// unread are the objects of a kind that the release lacks.
type unread struct {
	version string // in which the last server stored them
	count   int64
}

// FindNewer finds the objects of later releases in a store; nil for none. Kinds that no later release has do not count,
// since they are gone, nor do objects that servers make by themselves, nor those of custom kinds, which the
// store's record does not name. later are the releases after that of kinds; of makes the kinds of one, which is
// needed only if the store has objects of an unknown kind. A kind without objects costs one seek.
func FindNewer(ctx context.Context, s store.Store, kinds Kinds, later []string, of func(release string) (Kinds, error)) (*Newer, error) {
	missing, err := kinds.missing(ctx, s)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	found, having := &Newer{kinds: map[string]unread{}}, map[string]Kinds{}
	for _, release := range later {
		if having[release], err = of(release); err != nil {
			return nil, err
		}
		for prefix, kind := range missing {
			if having[release][prefix] != nil {
				found.kinds[prefix] = kind
			}
		}
	}
	for _, release := range later {
		all := true
		for prefix, kind := range found.kinds {
			all = all && having[release].read(prefix, kind.version)
		}
		if all {
			found.works = append(found.works, release)
		}
	}
	if len(found.kinds) == 0 {
		return nil, nil
	}
	return found, nil
}

// String names the kinds with their counts, and the releases that read them: "2 podgroups.scheduling.k8s.io; serve 1.36".
func (n *Newer) String() string {
	var kinds []string
	for _, prefix := range slices.Sorted(maps.Keys(n.kinds)) {
		group, plural, _ := catalog.ResourceOfKey(prefix)
		kinds = append(kinds, fmt.Sprintf("%d %s", n.kinds[prefix].count, strings.TrimSuffix(plural+"."+group, ".")))
	}
	text := strings.Join(kinds, ", ")
	switch len(n.works) {
	case 0:
		return text + "; no release has them all"
	case 1:
		return text + "; serve " + n.works[0]
	}
	return text + "; serve one of " + strings.Join(n.works, ", ")
}

// read reports whether a kind is there, and has the version.
func (k Kinds) read(prefix, version string) bool {
	return k[prefix] != nil && k[prefix].versions.Version(version) != nil
}

// missing counts the objects of kinds that the store's record names and that are not there.
func (k Kinds) missing(ctx context.Context, s store.Store) (map[string]unread, error) {
	known, err := recordOf(ctx, s)
	if err != nil {
		return nil, err
	}
	view, err := s.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	missing := map[string]unread{}
	for prefix, v := range known {
		name, own := made[prefix]
		if k[prefix] != nil || own && name == "" {
			continue
		}
		n, err := view.Count(ctx, prefix, "")
		if err == nil && own {
			n, err = but(ctx, view, n, prefix, name)
		}
		if err != nil {
			return nil, err
		}
		if n > 0 {
			missing[prefix] = unread{v.Version, n}
		}
	}
	return missing, nil
}

// but takes an object that may be there from the n below a prefix.
func but(ctx context.Context, view store.Reader, n int64, prefix, name string) (int64, error) {
	from, err := view.Count(ctx, prefix, prefix+name)
	if err != nil {
		return 0, err
	}
	after, err := view.Count(ctx, prefix, prefix+name+"\x00")
	return n - from + after, err
}

// recordOf reads the store's record of kinds; an empty one if it has none.
func recordOf(ctx context.Context, s store.Store) (storedVersions, error) {
	record, err := s.Get(ctx, versionsKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return readVersions(record.Body)
}
