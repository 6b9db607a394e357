package stored

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Kind is a kind in the store.
type Kind struct {
	versions *catalog.Type // all readable versions
	res      *catalog.Row  // the storage version

	// Objects up to the revision since were written under other documents, or in another
	// version; later ones have the present form. A migration has processed all of them at
	// the revision migrated, 0 before: in views from there on no object is old.
	since    uint64
	migrated atomic.Uint64
}

// Newest is later than every revision.
const Newest = 1<<64 - 1

// old reports whether an object, as a view at a revision shows it, may have to be
// rewritten.
func (k *Kind) old(e *store.Entry, at uint64) bool {
	if e.Revision > k.since {
		return false
	}
	migrated := k.migrated.Load()
	return migrated == 0 || at < migrated
}

// current is an entry of a view at a revision as it would be stored today. None of a nil
// kind is old.
func (k *Kind) current(e *store.Entry, at uint64) (store.Entry, error) {
	if k == nil || e.Unreadable || !k.old(e, at) {
		return *e, nil
	}
	v, same, err := k.shown(e)
	if err != nil {
		return *e, fmt.Errorf("%s: %w", e.Key, err)
	}
	if same {
		return *e, nil
	}
	return entryOf(v, e), nil
}

// form is a fingerprint of how objects of the kind are stored, header included.
func (k *Kind) form() string {
	if len(k.res.Selectable) == 0 {
		return k.res.Form
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, k.res.Selectable) // never fails
	return fmt.Sprintf("%s-%08x", k.res.Form, h.Sum32())
}

// Kinds finds a kind by the beginning of its objects' keys: "core/pods/".
type Kinds map[string]*Kind

// NewKinds returns the stored kinds of a snapshot.
func NewKinds(snapshot *catalog.Snapshot) Kinds {
	return KindsOf(snapshot.Types())
}

// KindsOf returns the stored kinds of resource types.
func KindsOf(types iter.Seq[*catalog.Type]) Kinds {
	all := Kinds{}
	for t := range types {
		if t.Stored != nil {
			all[t.Prefix] = &Kind{versions: t, res: t.Stored}
		}
	}
	return all
}

// And is k with other kinds.
func (k Kinds) And(others Kinds) Kinds {
	all := maps.Clone(k)
	maps.Copy(all, others)
	return all
}

// Form is a fingerprint of how all kinds are stored: it changes when a version or a form
// does.
func (k Kinds) Form() string {
	h := sha256.New()
	for _, prefix := range slices.Sorted(maps.Keys(k)) {
		fmt.Fprintf(h, "%s %s %s\n", prefix, k[prefix].res.GV.APIVersion(), k[prefix].form())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Rewrite returns an object as it would be stored today, whatever version and documents
// it was stored under: with the defaults that it lacks, and without members that its type
// does not have any more. same reports that the store has exactly that, revision
// included; then there is no value. A converter may be asked, see Waits.
func (k *Kind) Rewrite(ctx context.Context, e *store.Entry) (v store.Value, same bool, err error) {
	return k.rewrite(ctx, e, k.res)
}

// Seen is the read set of a write of an object in the form of Rewrite: the record about the
// form of a custom kind's objects. A closed store needs none.
func (k *Kind) Seen() []store.Seen {
	d := k.res.Definition
	if d == nil || d.FormKey == "" {
		return nil
	}
	return []store.Seen{{Key: d.FormKey, Revision: d.Form}}
}

// Waits reports whether Rewrite asks a converter about an object, so that no lock may be
// held meanwhile.
func (k *Kind) Waits(e *store.Entry) bool {
	return k.remote() && !convert.HasHead(k.res.Resource, e.Body)
}

func (k *Kind) remote() bool { return k.versions.ConvertsRemotely() }

// shown is Rewrite for reads. An object that only a converter could turn into the storage
// version keeps its own.
func (k *Kind) shown(e *store.Entry) (v store.Value, same bool, err error) {
	to := k.res
	if k.remote() {
		if to = k.versions.Version(VersionOf(e.Body)); to == nil {
			return v, true, nil // nobody can read it, and its converter says so
		}
	}
	return k.rewrite(context.Background(), e, to)
}

// VersionOf is the apiVersion of a stored object.
func VersionOf(body []byte) string {
	version, _ := document.Find(body, "apiVersion")
	return string(bytes.Trim(version, `"`))
}

func (k *Kind) rewrite(ctx context.Context, e *store.Entry, to *catalog.Row) (v store.Value, same bool, err error) {
	version := VersionOf(e.Body)
	from := k.versions.Version(version)
	unknown := from == nil && to.Definition != nil && !k.remote() // a version that the definition does not have any more
	if unknown {
		from = to
	}
	if from == nil {
		return v, false, fmt.Errorf("the object is stored in version %q, which this server does not know: have a release that knows it migrate the store", version)
	}
	doc, err := readFitting(from, e.Body)
	if err != nil {
		return v, false, err
	}
	defer doc.Release()
	obj := doc.Root()
	if from != to {
		made, err := Convert(ctx, from, obj, document.Value{})
		if tooLarge(err) {
			made, err = convert.ToStorage(ctx, from.Resource, obj)
		}
		if err != nil {
			return v, false, err
		}
		defer made.Release()
		obj = made.Root()
	}
	if unknown {
		obj.SetString("apiVersion", to.GV.APIVersion())
	}
	if from == to && !e.Rewritten && obj.AsRead() && bytes.Equal(selector.AppendMeta(nil, obj, to.Selectable), e.Meta) {
		return v, true, nil
	}
	if v, err = Seal(to, obj, new(Space)); err != nil {
		return v, false, err
	}
	return v, Unchanged(v, e) && bytes.Equal(v.Meta, e.Meta), nil
}

// entryOf is a value that was not written, with the revision of the entry that it
// replaces.
func entryOf(v store.Value, e *store.Entry) store.Entry {
	at := v.RevisionAt
	body := make([]byte, 0, len(v.Body)+20)
	body = strconv.AppendUint(append(body, v.Body[:at]...), e.Revision, 10)
	v.Body, v.RevisionAt = append(body, v.Body[at:]...), -1
	return store.Entry{Key: e.Key, Revision: e.Revision, Value: v, Rewritten: true}
}
