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

	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Import makes the store of a data directory of the objects of a source. Names, uids, times and
// revisions stay, and further revisions follow those of the source.
type Import struct {
	DataDir string
	From    Source
	Kinds   stored.Kinds // the built-in ones
	// Definitions begins the keys of the custom resource definitions.
	Definitions string
	Cipher      *encryption.Cipher // of the new store; nil for none
	// LeaveOut lets an import go on without values that cannot be read.
	LeaveOut bool
	// Strict makes an error of a source that differs from the new store at the end.
	Strict bool
	// Report receives a line about each value that cannot be read.
	Report func(problem string)
}

// Source has the objects of an import.
type Source interface {
	// Name names the source in the store.
	Name() string
	// Copy puts all objects, and returns the newest revision that the source has shown. Errors are
	// those of the source and of the disk.
	Copy(ctx context.Context, into *Copying) (revision uint64, err error)
	// Keys adds the keys of what Copy has put, as they are now.
	Keys(ctx context.Context, into *Digests) error
	// Close ends the connection.
	Close() error
}

// Imported is the outcome of an import.
type Imported struct {
	Revision uint64           // of the source
	Objects  map[string]int64 // by resource: "core/pods"
	Others   int64            // keys that are not objects, like ranges and leases of servers
	LeftOut  int64            // values and resources that cannot be read
	Notes    []string         // resources that the server does not have, and changes during the import
}

// Run imports. The store gets its name last: an import that was cut off is run again. Errors:
// those of the source and of the disk, a store that is there already, unreadable values unless they
// are left out, and differences between a strict source and the new store.
func (i *Import) Run(ctx context.Context) (done Imported, err error) {
	dir := operate.StoreDir(i.DataDir)
	if _, err := os.Stat(dir); err == nil {
		return done, fmt.Errorf("%s is there already; move it away before", dir)
	}
	config := store.Config{Dir: dir + ".importing", Replica: true, History: 1 << 62}
	if i.Cipher != nil {
		config.Cipher = i.Cipher
	}
	if err := config.Remove(); err != nil { // of one that was cut off
		return done, err
	}
	if done, err = i.load(ctx, config); err != nil {
		return done, err
	}
	config.Replica = false
	if err := i.finish(ctx, config); err != nil {
		return done, err
	}
	return done, config.Rename(dir)
}

// load copies the state, and compares the copy with the source.
func (i *Import) load(ctx context.Context, config store.Config) (done Imported, err error) {
	engine, err := store.Open(config)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	into := &Copying{done: Imported{Objects: map[string]int64{}}, left: map[string]bool{}, report: i.Report}
	if err := engine.Load(i.From.Name(), func(l *store.Loading) (uint64, error) {
		into.loading = l
		into.done.Revision, err = i.From.Copy(ctx, into)
		return into.done.Revision, err
	}); err != nil {
		return into.done, err
	}
	if into.done.LeftOut > 0 && !i.LeaveOut {
		return into.done, fmt.Errorf("%d values cannot be read; nothing was imported", into.done.LeftOut)
	}
	changed, err := i.compare(ctx, engine, into.left)
	if err == nil && i.Strict && len(changed) > 0 {
		err = fmt.Errorf("%s; import again", strings.Join(changed, "; "))
	}
	into.done.Notes = append(into.done.Notes, changed...)
	return into.done, err
}

// Copying takes the objects of a source into the new store, and counts them.
type Copying struct {
	loading *store.Loading
	done    Imported
	left    map[string]bool // keys, or beginnings of them
	report  func(problem string)
}

// Put adds an object. Errors are those of the store.
func (c *Copying) Put(key string, revision uint64, v store.Value) error {
	c.done.Objects[resourceOf(key)]++
	return c.loading.Put(key, revision, v)
}

// LeaveOut reports a value that cannot be read, or all with a beginning of keys.
func (c *Copying) LeaveOut(key, problem string) {
	c.done.LeftOut++
	c.left[key] = true
	c.report(problem)
}

// Again takes back the values that were put or left out under the keys of a resource.
func (c *Copying) Again(prefix string) error {
	for key := range c.left {
		if strings.HasPrefix(key, prefix) {
			delete(c.left, key)
			c.done.LeftOut--
		}
	}
	if _, some := c.done.Objects[resourceOf(prefix)]; !some {
		return nil
	}
	delete(c.done.Objects, resourceOf(prefix))
	return c.loading.Drop(prefix)
}

// Note adds a line to the report.
func (c *Copying) Note(line string) { c.done.Notes = append(c.done.Notes, line) }

// resourceOf is the group and the resource of a key.
func resourceOf(key string) string { return strings.TrimSuffix(catalog.KeyPrefix(key), "/") }

// digest is the number of the keys of a resource, and the sum of their hashes with revisions.
type digest struct{ count, sum uint64 }

// Digests are those of all resources, without the keys that were left out.
type Digests struct {
	by   map[string]digest
	left map[string]bool
}

// Add adds a key with the revision of its value.
func (d *Digests) Add(key string, revision uint64) {
	if d.left[key] {
		return
	}
	h := fnv.New64a()
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte(key), revision)) // never fails
	before := d.by[resourceOf(key)]
	d.by[resourceOf(key)] = digest{before.count + 1, before.sum + h.Sum64()}
}

// Again takes the keys of a resource back.
func (d *Digests) Again(prefix string) { delete(d.by, resourceOf(prefix)) }

// compare compares the keys and revisions of the new store with those of the source, and names the
// resources that differ.
func (i *Import) compare(ctx context.Context, engine *store.Engine, left map[string]bool) (changed []string, err error) {
	there, here := &Digests{map[string]digest{}, left}, &Digests{map[string]digest{}, nil}
	if err := i.From.Keys(ctx, there); err != nil {
		return nil, err
	}
	view, err := engine.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	if err := view.ScanMeta(ctx, "", "", func(e *store.Entry) bool {
		here.Add(e.Key, e.Revision)
		return true
	}); err != nil {
		return nil, err
	}
	all := maps.Clone(there.by)
	maps.Copy(all, here.by)
	for _, resource := range slices.Sorted(maps.Keys(all)) {
		if now, copied := there.by[resource], here.by[resource]; now != copied {
			changed = append(changed, fmt.Sprintf("%s changed during the import: the source has %d objects now, the new store %d, or others",
				resource, now.count, copied.count))
		}
	}
	return changed, nil
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
