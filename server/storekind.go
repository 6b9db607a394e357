package server

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
)

// storeKind is a kind as the store has it.
type storeKind struct {
	res  *api.Resource            // its row in the version that is stored
	head []byte                   // how every object begins that is in that version
	rows map[string]*api.Resource // by apiVersion: all versions that can be read
}

// storeKinds finds a kind by how the keys of its objects begin: "core/pods/".
type storeKinds map[string]*storeKind

func newStoreKinds(groups []*api.GroupVersion) storeKinds {
	all := storeKinds{}
	for _, gv := range groups {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			if !res.Stored {
				continue
			}
			prefix := prefixOf(res, "")
			k := all[prefix]
			if k == nil {
				to := res.Storage()
				k = &storeKind{res: to, head: convert.Head(to), rows: map[string]*api.Resource{}}
				all[prefix] = k
			}
			k.rows[gv.APIVersion()] = res
		}
	}
	return all
}

// of is the kind that the objects at a key are of; nil when it is not among k.
// The beginning of keys of one kind does for a key.
func (k storeKinds) of(key string) *storeKind {
	group := strings.IndexByte(key, '/')
	resource := strings.IndexByte(key[group+1:], '/')
	if group < 0 || resource < 0 {
		return nil
	}
	return k[key[:group+1+resource+1]]
}

// current reports whether the text of an object is in the version that is stored.
func (k *storeKind) current(body []byte) bool { return bytes.HasPrefix(body, k.head) }

// rewrite gives an object as it would be stored now, whatever version it was
// stored in, without its revision.
func (k *storeKind) rewrite(body []byte) (store.Value, error) {
	version, _ := document.Find(body, "apiVersion")
	from := k.rows[string(bytes.Trim(version, `"`))]
	if from == nil {
		return store.Value{}, fmt.Errorf("the object is stored in version %s, which this server does not know: have a release that knows it migrate the store", version)
	}
	doc, err := document.ReadTyped(from.GV.Table, from.Type, body)
	if err != nil {
		return store.Value{}, err
	}
	defer doc.Release()
	if from != k.res {
		made, err := convert.ToStorage(from, doc.Root())
		if err != nil {
			return store.Value{}, err
		}
		defer made.Release()
		return sealed(k.res, made.Root())
	}
	return sealed(k.res, doc.Root())
}

// sealed is an object as the store keeps it: its canonical JSON with a place for
// the revision, and the header that selectors read.
func sealed(res *api.Resource, obj document.Value) (store.Value, error) {
	obj.Get("metadata").SetString("resourceVersion", "")
	space := sealSpace.Get().(*[]byte)
	*space = obj.AppendJSON((*space)[:0])
	body := bytes.Clone(*space)
	if cap(*space) <= maxSealed {
		sealSpace.Put(space)
	}
	place, ok := document.Find(body, "metadata", "resourceVersion")
	if !ok {
		return store.Value{}, errNoPlace
	}
	// place is a part of body, so the difference of what is left behind their
	// beginnings is the offset.
	at := cap(body) - cap(place) + 1
	return store.Value{Meta: selector.AppendMeta(nil, obj, res.Selectable), Body: body, RevisionAt: at}, nil
}

var errNoPlace = errors.New("the object has no place for its resourceVersion")

// entryOf is a value that was not written, at the revision of what it stands for.
func entryOf(v store.Value, e *store.Entry) store.Entry {
	at := v.RevisionAt
	body := make([]byte, 0, len(v.Body)+20)
	body = strconv.AppendUint(append(body, v.Body[:at]...), e.Revision, 10)
	v.Body, v.RevisionAt = append(body, v.Body[at:]...), -1
	return store.Entry{Key: e.Key, Revision: e.Revision, Value: v}
}
