package move

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/progress"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Export writes the objects of a stopped server's store into an empty etcd, in the form of
// kube-apiserver. Names, uids, creation times and owners stay. The resourceVersions are those of
// etcd, which are higher than those of the store unless Anew says otherwise: clients that have seen the store's
// go on.
type Export struct {
	Store *store.Engine
	To    etcd.Config
	Kinds stored.Kinds // all of the store
	Anew  bool         // the resourceVersions may be lower
	Meter *progress.Meter
}

// Exported is the outcome of an export.
type Exported struct {
	Revision uint64           // of etcd
	Objects  map[string]int64 // by resource: "core/pods"
	LeftOut  map[string]int64 // those of resources that the release does not have
}

type sum = [sha256.Size]byte

// filledBytes is the size of the values from which on a transaction of an export has enough.
const filledBytes = 1 << 20

// Run exports. An export that was cut off is run again, and goes on. Errors: those of both stores, objects that cannot
// be converted, and a prefix that has other keys than those of the export.
func (x *Export) Run(ctx context.Context) (done Exported, err error) {
	to, err := etcd.OpenCopy(ctx, x.To)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	there, err := x.there(ctx, to)
	if err != nil {
		return done, err
	}
	if !x.Anew {
		if err := to.Raise(ctx, x.Store.Current()+1, func(done, total int64) { x.Meter.At("raising the revision of etcd", "revisions", done, total) }); err != nil {
			return done, err
		}
	}
	done.Objects = map[string]int64{}
	sums := map[string]sum{}
	batch, size := []etcd.Item(nil), 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := to.Fill(ctx, batch)
		batch, size = batch[:0], 0
		return err
	}
	if err := x.each(ctx, func(item etcd.Item) error {
		done.Objects[resourceOf(item.Key)]++
		if written, ok := there[item.Key]; ok {
			sums[item.Key] = written
			return nil
		}
		if len(batch) == etcd.MostFilled || size+len(item.Data) > filledBytes {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, item), size+len(item.Data)
		sums[item.Key] = sha256.Sum256(item.Data)
		return nil
	}); err != nil {
		return done, err
	}
	if err := flush(); err != nil {
		return done, err
	}
	if done.LeftOut, err = x.leftOut(ctx); err != nil {
		return done, err
	}
	err = x.compare(ctx, to, sums)
	done.Revision = to.Revision()
	return done, err
}

// there are the hashes of the values that an export which was cut off has written, by key. Errors: those of both
// stores, and another key or value.
func (x *Export) there(ctx context.Context, to *etcd.Copy) (map[string]sum, error) {
	view, err := x.Store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	all := map[string]sum{}
	return all, to.Each(ctx, false, func(item etcd.Item) error {
		if to.Raises(item.Place) {
			return nil
		}
		same, err := x.same(ctx, view, item)
		if err == nil && !same {
			err = fmt.Errorf("%s is in etcd already; export to an empty prefix, or delete what is below this one", item.Place)
		}
		all[item.Key] = sha256.Sum256(item.Data)
		return err
	})
}

// same reports whether a value in etcd is what the export writes. Encryption makes other bytes of a value each time.
func (x *Export) same(ctx context.Context, view store.Reader, item etcd.Item) (bool, error) {
	k := x.Kinds[catalog.KeyPrefix(item.Key)]
	if k == nil {
		return false, nil
	}
	entry, err := view.Get(item.Key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data, err := x.encoded(ctx, k, &entry)
	if err != nil || bytes.Equal(data, item.Data) {
		return err == nil, err
	}
	written, err := x.To.Form.Decode(item.Key, data)
	if err != nil {
		return false, err
	}
	there, err := x.To.Form.Decode(item.Key, item.Data)
	return err == nil && x.To.Form.Equal(item.Key, there, written), nil
}

// each visits the objects of the store in the form of etcd.
func (x *Export) each(ctx context.Context, visit func(etcd.Item) error) error {
	view, err := x.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	done, total := int64(0), int64(0)
	for prefix := range x.Kinds {
		n, err := view.Count(ctx, prefix, "")
		if err != nil {
			return err
		}
		total += n
	}
	for _, prefix := range slices.Sorted(maps.Keys(x.Kinds)) {
		var failure error
		if err := view.Scan(ctx, prefix, "", func(e *store.Entry) bool {
			x.Meter.At("writing into etcd", "objects", done, total)
			done++
			var data []byte
			if data, failure = x.encoded(ctx, x.Kinds[prefix], e); failure == nil {
				failure = visit(etcd.Item{Key: string([]byte(e.Key)), Data: data})
			}
			return failure == nil
		}); err != nil || failure != nil {
			return errors.Join(err, failure)
		}
	}
	return nil
}

// leftOut counts the objects of resources that are not among the kinds, by resource.
func (x *Export) leftOut(ctx context.Context) (map[string]int64, error) {
	view, err := x.Store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	all := map[string]int64{}
	return all, view.ScanMeta(ctx, "", "", func(e *store.Entry) bool {
		if prefix := catalog.KeyPrefix(e.Key); x.Kinds[prefix] == nil && !strings.HasPrefix(e.Key, "capstan/") {
			all[string([]byte(resourceOf(e.Key)))]++
		}
		return true
	})
}

// encoded is the form of an object in etcd, as it would be stored today.
func (x *Export) encoded(ctx context.Context, k *stored.Kind, e *store.Entry) ([]byte, error) {
	v, same, err := k.Rewrite(ctx, e)
	if err == nil && same {
		v, err = x.To.Form.Last(store.Entry{Key: e.Key, Revision: e.Revision, Value: store.Value{Meta: bytes.Clone(e.Meta), Body: bytes.Clone(e.Body)}})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Key, err)
	}
	return x.To.Form.Encode(e.Key, v)
}

// compare reads the values back.
func (x *Export) compare(ctx context.Context, to *etcd.Copy, sums map[string]sum) error {
	if err := to.Advance(ctx); err != nil {
		return err
	}
	if err := to.Each(ctx, false, func(item etcd.Item) error {
		if to.Raises(item.Place) {
			return nil
		}
		if written, ours := sums[item.Key]; !ours || written != sha256.Sum256(item.Data) {
			return fmt.Errorf("%s in etcd is not what was exported: somebody else writes there", item.Place)
		}
		delete(sums, item.Key)
		return nil
	}); err != nil {
		return err
	}
	if len(sums) > 0 {
		return fmt.Errorf("%d objects are missing in etcd: somebody else deletes there", len(sums))
	}
	return nil
}
