package move

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/registry"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Import makes the store of a data directory of the objects that kube-apiserver keeps in etcd, as of
// one revision. Names, uids, times and revisions stay, and further revisions follow those of etcd.
type Import struct {
	DataDir string
	From    etcd.Config
	Kinds   stored.Kinds // the built-in ones
	// Definitions begins the keys of the custom resource definitions.
	Definitions string
	Cipher      *encryption.Cipher // of the new store; nil for none
	// LeaveOut lets an import go on without values that cannot be read.
	LeaveOut bool
	// Report receives the progress, at most once a second, and each value that cannot be read.
	Report func(Imported)
}

// Imported is the progress of an import.
type Imported struct {
	Revision uint64           // of etcd
	Objects  map[string]int64 // by resource: "core/pods"
	Others   int64            // keys that are not objects, like ranges and leases of servers
	LeftOut  int64            // values that cannot be read
	Problem  string           // names one of them, and the reason
}

// Run imports. The store gets its name last: an import that was cut off is run again. Errors:
// those of etcd and of the disk, a store that is there already, unreadable values unless they are
// left out, and differences between etcd and the new store.
func (i *Import) Run(ctx context.Context) (done Imported, err error) {
	dir := operate.StoreDir(i.DataDir)
	if _, err := os.Stat(dir); err == nil {
		return done, fmt.Errorf("%s is there already; move it away before", dir)
	}
	from, err := etcd.OpenCopy(ctx, i.From)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	config := store.Config{Dir: dir + ".importing", Replica: true, History: 1 << 62}
	if i.Cipher != nil {
		config.Cipher = i.Cipher
	}
	if err := config.Remove(); err != nil { // of one that was cut off
		return done, err
	}
	if done, err = i.load(ctx, config, from); err != nil {
		return done, err
	}
	config.Replica = false
	if err := i.finish(ctx, config); err != nil {
		return done, err
	}
	return done, config.Rename(dir)
}

// load copies the state, and compares the copy with etcd.
func (i *Import) load(ctx context.Context, config store.Config, from *etcd.Copy) (done Imported, err error) {
	engine, err := store.Open(config)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	done = Imported{Revision: from.Revision(), Objects: map[string]int64{}}
	left := map[string]bool{}
	reported := time.Now()
	err = engine.Load(from.Revision(), from.Source(), func(put func(string, uint64, store.Value) error) error {
		return from.Each(ctx, false, func(item etcd.Item) error {
			if item.Key == "" || registry.IsRange(item.Key) {
				done.Others++
				return nil
			}
			v, err := i.From.Form.Decode(item.Key, item.Data)
			if err != nil {
				done.LeftOut++
				left[item.Key] = true
				problem := done
				problem.Problem = fmt.Sprintf("%s: %v", item.Place, err)
				i.Report(problem)
				return nil
			}
			done.Objects[resourceOf(item.Key)]++
			if time.Since(reported) > time.Second {
				reported = time.Now()
				i.Report(done)
			}
			return put(item.Key, item.Revision, v)
		})
	})
	if err != nil {
		return done, err
	}
	if done.LeftOut > 0 && !i.LeaveOut {
		return done, fmt.Errorf("%d values cannot be read; nothing was imported", done.LeftOut)
	}
	return done, i.compare(ctx, engine, from, left)
}

// resourceOf is the group and the resource of a key.
func resourceOf(key string) string { return strings.TrimSuffix(catalog.KeyPrefix(key), "/") }

// digest is the number of the keys of a resource, and the sum of their hashes with revisions.
type digest struct{ count, sum uint64 }

func (d digest) with(key string, revision uint64) digest {
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte(key), revision)) // never fails
	return digest{d.count + 1, d.sum + h.Sum64()}
}

// compare compares the keys and revisions of the new store with those in etcd, by resource.
func (i *Import) compare(ctx context.Context, engine *store.Engine, from *etcd.Copy, left map[string]bool) error {
	there, here := map[string]digest{}, map[string]digest{}
	if err := from.Each(ctx, true, func(item etcd.Item) error {
		if item.Key != "" && !registry.IsRange(item.Key) && !left[item.Key] {
			there[resourceOf(item.Key)] = there[resourceOf(item.Key)].with(item.Key, item.Revision)
		}
		return nil
	}); err != nil {
		return err
	}
	view, err := engine.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	if err := view.ScanMeta(ctx, "", "", func(e *store.Entry) bool {
		here[resourceOf(e.Key)] = here[resourceOf(e.Key)].with(e.Key, e.Revision)
		return true
	}); err != nil {
		return err
	}
	for _, resource := range slices.Sorted(maps.Keys(there)) {
		if there[resource] != here[resource] {
			return fmt.Errorf("%s: etcd has %d objects, the new store %d, or others; import again", resource, there[resource].count, here[resource].count)
		}
	}
	return nil
}

// finish notes that the built-in objects are in the present form, and that custom ones may not be:
// their definitions are not known to an import.
func (i *Import) finish(ctx context.Context, config store.Config) (err error) {
	engine, err := store.Open(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	if _, _, err := stored.NoteVersions(ctx, engine, i.Kinds); err != nil {
		return err
	}
	if err := stored.NoteMigrated(ctx, engine, i.Kinds); err != nil {
		return err
	}
	definitions, err := i.definitions(ctx, engine)
	if err != nil || len(definitions) == 0 {
		return err
	}
	_, err = stored.NewCurrent(engine, nil).NoteForms(ctx, definitions)
	return err
}

// imported is the form of custom objects that were imported, of which no definition is.
const imported = "imported"

// definitions are the names of the custom resource definitions, with the form of their objects.
func (i *Import) definitions(ctx context.Context, engine *store.Engine) (map[string]string, error) {
	view, err := engine.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	all := map[string]string{}
	return all, view.ScanMeta(ctx, i.Definitions, "", func(e *store.Entry) bool {
		all[strings.Clone(strings.TrimPrefix(e.Key, i.Definitions))] = imported
		return true
	})
}
