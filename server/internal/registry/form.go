package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Form translates between the store and etcd. It is safe for concurrent use, also while
// custom kinds come and go.
type Form struct {
	rows   *catalog.Catalog
	cipher *encryption.Cipher // nil for none
	prefix string             // of all keys in etcd, with which values are encrypted
	format codec.Format       // of objects that have a binary form
	kinds  map[string]*kind   // the built-in ones, by the beginning of their keys in the store
	places map[string]*kind   // the same, by the beginning of their keys in etcd
	// unknown is the table of custom objects whose definition is not known.
	unknown func() *schema.Table
}

// Reading is a fingerprint of how values are read. It changes with a release that reads values in another
// way, which makes replicas of before anew.
const Reading = "-3"

// New makes the form of the objects of a catalog, which has the built-in kinds already.
func New(rows *catalog.Catalog) *Form {
	f := &Form{rows: rows, format: codec.Binary, kinds: map[string]*kind{}, places: map[string]*kind{}}
	f.unknown = sync.OnceValue(func() *schema.Table { return newUnknown(rows.Meta.Table()) })
	olders := olderKinds()
	for t := range rows.Snapshot().Types() {
		if k := newKind(t, olders); k != nil {
			f.kinds[k.prefix], f.places[k.place] = k, k
		}
	}
	return f
}

// Encrypted is the form whose values are encrypted as kube-apiserver does, in an etcd where all keys
// have a prefix.
func (f *Form) Encrypted(prefix string, c *encryption.Cipher) *Form {
	f.prefix, f.cipher = prefix, c
	return f
}

// Written is the form in which objects that have a binary form are written in a format.
func (f *Form) Written(format codec.Format) *Form {
	f.format = format
	return f
}

// Varies implements etcd.Form.
func (f *Form) Varies(key string) bool {
	k := f.kinds[catalog.KeyPrefix(key)]
	return k != nil && !k.text || f.cipher.Encrypts(key)
}

// Stale implements etcd.Form. Bytes with fields that only a later release knows are stale, too.
func (f *Form) Stale(key string, data []byte) bool {
	data, stale, err := f.cipher.OpenValue(key, f.bound(key), data)
	k := f.kinds[catalog.KeyPrefix(key)]
	if err != nil || stale || k == nil || k.text {
		return err == nil && stale
	}
	v, err := f.Read(key, data)
	if err != nil {
		return false
	}
	today, err := f.encode(key, v)
	return err == nil && !bytes.Equal(today, data)
}

// bound is the key in etcd, with which values are encrypted; "" without a cipher.
func (f *Form) bound(key string) string {
	if f.cipher == nil {
		return ""
	}
	return f.prefix + f.Place(key)
}

// maxValue bounds the bytes of a value in etcd, which itself accepts 1.5 MiB unless it is
// configured otherwise.
const maxValue = 16 << 20

// Encode makes what etcd keeps under a key. The body of an object has a place for its
// revision, which is not written; other records may have one. Errors name the
// key: values that no write of this server makes.
func (f *Form) Encode(key string, v store.Value) ([]byte, error) {
	data, err := f.encode(key, v)
	if err == nil {
		data, err = f.cipher.SealValue(key, f.bound(key), data)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written to etcd: %w", key, err)
	}
	return data, nil
}

func (f *Form) encode(key string, v store.Value) ([]byte, error) {
	prefix := catalog.KeyPrefix(key)
	switch {
	case ranges[key]:
		return encodeRange(v, f.format)
	case prefix == "":
		return encodeRecord(v)
	}
	if !hasPlace(v) {
		return nil, errNoPlace
	}
	k := f.kinds[prefix]
	if k == nil {
		return encodeCustom(v.Body)
	}
	t := f.rows.Snapshot().Type(prefix)
	if t == nil || t.Stored == nil {
		return nil, errNoKind
	}
	return k.encode(t, v, f.format)
}

// encode makes what etcd keeps of a value of the kind.
func (k *kind) encode(t *catalog.Type, v store.Value, format codec.Format) (data []byte, err error) {
	row, body := t.Stored, v.Body
	if k.text || format != codec.Binary {
		body = withoutRevision(v)
	}
	if k.older != nil {
		body, err = k.older.encode(row, body)
	} else if row = t.Version(k.apiVersion); row == nil {
		return nil, errNoKind
	} else if row != t.Stored {
		body, err = stored.Served(context.Background(), row.Resource, body)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case k.text:
		return escaped(body), nil
	case format != codec.Binary:
		return k.written(row.Kind, body, format)
	}
	data, _, err = codec.Sealed(make([]byte, 0, len(body)+envelope), k.apiVersion, row.Kind, func(dst []byte) ([]byte, error) {
		return k.binary(row, k.older != nil).Append(dst, row.Type, body)
	})
	return data, err
}

// envelope bounds the bytes of the usual envelopes.
const envelope = 128

var (
	errNoPlace = errors.New("the object has no place for its resourceVersion; seal it first")
	errNoKind  = errors.New("the catalog does not have its kind any more; use a release that has it")
)

// Decode makes the value that etcd keeps under a key, in the storage version of its kind and
// with all defaults. Errors name the key: values that are not what a kube-apiserver or this
// server writes.
func (f *Form) Decode(key string, data []byte) (store.Value, error) {
	data, _, err := f.cipher.OpenValue(key, f.bound(key), data)
	if err != nil {
		return store.Value{}, fmt.Errorf("what etcd keeps under %s cannot be read: %w", f.Place(key), err)
	}
	v, err := f.Read(key, data)
	if err != nil {
		return store.Value{}, fmt.Errorf("what etcd keeps under %s cannot be read: %w", f.Place(key), err)
	}
	return v, nil
}

// Read is Decode of a value that is not encrypted, as another server shows it in JSON. Errors do not
// name the key.
func (f *Form) Read(key string, data []byte) (store.Value, error) {
	if len(data) > maxValue {
		return store.Value{}, fmt.Errorf("it has %d bytes, more than %d; make it smaller", len(data), maxValue)
	}
	prefix := catalog.KeyPrefix(key)
	switch {
	case ranges[key]:
		return decodeRange(data)
	case prefix == "":
		return decodeRecord(data)
	}
	t := f.rows.Snapshot().Type(prefix)
	at := names(key[len(prefix):])
	k := f.kinds[prefix]
	if k == nil {
		return f.decodeCustom(t, at, data)
	}
	if t == nil || t.Stored == nil {
		return store.Value{}, errNoKind
	}
	return k.decode(t, at, data)
}

// decode makes a value of the kind of what etcd keeps.
func (k *kind) decode(t *catalog.Type, at named, data []byte) (store.Value, error) {
	o, err := open(data)
	if err != nil {
		return store.Value{}, err
	}
	row := t.Version(o.apiVersion)
	older := row == nil && k.older != nil && o.apiVersion == k.apiVersion
	if older {
		row = t.Stored
	}
	switch {
	case row == nil:
		return store.Value{}, fmt.Errorf("it is in version %q, which this server does not know; use a release that knows it", o.apiVersion)
	case o.kind != row.Kind:
		return store.Value{}, fmt.Errorf("it is a %q, not a %s; remove it", o.kind, row.Kind)
	}
	text, less := o.content, false
	if o.binary {
		if text, less, err = k.binary(row, older).DecodeKnown(row.Type, text); err != nil {
			return store.Value{}, err
		}
	}
	if older {
		if text, err = k.older.decode(text); err != nil {
			return store.Value{}, err
		}
	}
	v, err := seal(t.Stored, row, at, text)
	if less && err == nil {
		v.Meta = selector.Incomplete(v.Meta)
	}
	return v, err
}

// Last makes the final value of a key that is deleted, of its last entry.
func (f *Form) Last(e store.Entry) (store.Value, error) {
	if catalog.KeyPrefix(e.Key) == "" {
		return e.Value, nil
	}
	v, err := stored.Last(&e, new(stored.Space))
	if err != nil {
		return v, fmt.Errorf("the last state of %s cannot be read: %w", e.Key, err)
	}
	return v, nil
}

// named are the names in a key.
type named struct{ namespace, name string }

func names(rest string) named {
	if namespace, name, ok := strings.Cut(rest, "/"); ok {
		return named{namespace, name}
	}
	return named{"", rest}
}

// check refuses an object with other names than those of its key.
func (n named) check(root document.Value) error {
	meta := root.Get("metadata")
	namespace, name := meta.Get("namespace").Text(), meta.Get("name").Text()
	if namespace != n.namespace || name != n.name {
		return fmt.Errorf("its name is %q in the namespace %q, which is not that of the key; remove it", name, namespace)
	}
	return nil
}

// seal makes the value of an object, given as JSON text in the version of the row from.
func seal(to, from *catalog.Row, at named, text []byte) (store.Value, error) {
	doc, err := stored.Read(from, text, document.Value{})
	if err != nil {
		return store.Value{}, err
	}
	defer doc.Release()
	root := doc.Root()
	if err := at.check(root); err != nil {
		return store.Value{}, err
	}
	root.SetString("kind", from.Kind)
	root.SetString("apiVersion", from.GV.APIVersion())
	if from != to {
		made, err := stored.Convert(context.Background(), from, root, document.Value{})
		if err != nil {
			return store.Value{}, err
		}
		defer made.Release()
		root = made.Root()
	}
	return stored.Seal(to, root, new(stored.Space))
}
