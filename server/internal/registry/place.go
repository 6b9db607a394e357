package registry

import (
	"strings"

	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Place is the key in etcd of a key of the store, below the prefix of all keys. A beginning
// of keys that names a kind has one too, with which the keys in etcd begin.
func (f *Form) Place(key string) string {
	prefix := catalog.KeyPrefix(key)
	if k := f.kinds[prefix]; k != nil {
		return k.place + key[len(prefix):]
	}
	return "/" + key
}

// Key is the key in the store of a key in etcd; ok is false for keys of which the store has
// none: leases of servers, and kinds that nobody knows. The kind
// of a custom object need not be known yet: its definition may arrive later.
func (f *Form) Key(place string) (key string, ok bool) {
	first, rest, ok := cutName(strings.TrimPrefix(place, "/"))
	if !ok || place[0] != '/' {
		return "", false
	}
	second, names, two := cutName(rest)
	if two {
		if k := f.places["/"+first+"/"+second+"/"]; k != nil {
			return k.prefix + names, isName(names, k.namespaced)
		}
	}
	if k := f.places["/"+first+"/"]; k != nil {
		return k.prefix + rest, isName(rest, k.namespaced)
	}
	switch {
	case first == rangesGroup:
		return place[1:], ranges[place[1:]]
	case first == ownGroup:
		return place[1:], isName(rest, false)
	case !two || !strings.Contains(first, "."):
		return "", false
	}
	key = place[1:]
	if t := f.rows.Snapshot().Type(key); t != nil {
		return key, isName(names, t.Rows[0].Namespaced)
	}
	return key, isName(names, false) || isName(names, true)
}

// cutName cuts the first name, which is not empty, from names with slashes between them.
func cutName(names string) (first, rest string, ok bool) {
	first, rest, ok = strings.Cut(names, "/")
	return first, rest, ok && first != ""
}

// isName reports whether a text is the name of an object, after its namespace if it has one.
func isName(text string, namespaced bool) bool {
	if namespaced {
		var ok bool
		if _, text, ok = cutName(text); !ok {
			return false
		}
	}
	return text != "" && !strings.Contains(text, "/")
}
