package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// migration rewrites objects that are stored in another version, or in another form of
// the same version, than they would be stored in now. It reads the store without
// CurrentStore, and writes each object in a transaction of its own, so requests can go
// on: an object that was changed meanwhile has been rewritten already.
//
// Rewriting is a write: the object gets a new revision, and watchers see it modified
// once. Objects in the present form are not touched.
//
// Its progress is kept in the store. An interrupted migration continues from there,
// unless another release has to begin anew.
type migration struct {
	store  store.Store // not a stored.CurrentStore
	kinds  stored.Kinds
	now    func() stored.Kinds // the kinds of the moment: definitions may change meanwhile
	report func(Step)
	step   Step
	form   string // fingerprint of how all kinds are stored, see stored.Kinds.form, and encrypted
}

// Migrate runs a migration on an open store, not a stored.CurrentStore, whose values are
// encrypted in a way that encrypted names. Its record has
// the versions of the kinds, see stored.NoteVersions. kinds are those of the moment, and
// asked for again when a definition has changed meanwhile. Steps are reported at most once a
// second, problems all.
func Migrate(ctx context.Context, s store.Store, encrypted string, kinds func() stored.Kinds, report func(Step)) error {
	first := kinds()
	m := &migration{store: s, kinds: first, now: kinds, report: report, form: first.Form() + encrypted}
	return m.run(ctx)
}

// Step is the progress of a migration.
type Step struct {
	// After is the last processed key; "" at the beginning and the end.
	After string `json:"after,omitempty"`
	// Looked is the number of processed objects, Rewritten of those that were not in the
	// present form, and Failed of those that could not be rewritten. They include the
	// work before an interruption.
	Looked    int64 `json:"looked"`
	Total     int64 `json:"total,omitempty"` // objects at the beginning
	Rewritten int64 `json:"rewritten"`
	Failed    int64 `json:"failed"`
	// Resumed is set in the first step of a continued migration.
	Resumed bool `json:"resumed,omitempty"`
	// Problem names an object that could not be rewritten, and the reason.
	Problem string `json:"problem,omitempty"`
	// Done is set in the last step.
	Done bool `json:"done,omitempty"`
}

const (
	migrationKey     = "capstan/migration"
	migrationPage    = 512     // objects read before the stale ones are rewritten
	migrationBytes   = 8 << 20 // the same in bytes
	migrationWriters = 8       // rewritten at once: their commits share syncs of the disk
	migrationPause   = time.Second
)

// migrationState is a Step in the store, with the form that it migrates to.
type migrationState struct {
	Step
	Form string `json:"form"`
}

// MigrateStore runs a migration on the store of a data directory without a server. Steps
// are reported at most once a second, problems all. The next call continues a migration
// that the end of ctx interrupted. Errors: store.ErrLocked when a server uses the
// directory, and those of the store. kinds are those of the documents, custom finds the
// others in the store.
func MigrateStore(ctx context.Context, dataDir string, cipher *encryption.Cipher, kinds stored.Kinds,
	custom func(context.Context, store.Store) (stored.Kinds, error), report func(Step)) (err error) {
	dir := StoreDir(dataDir)
	// Opening for writing would make a missing store.
	look, err := store.OpenReadOnly(store.Config{Dir: dir})
	if err != nil {
		return err
	}
	if err := look.Close(); err != nil {
		return err
	}
	// The server decides which history to trim.
	config := store.Config{Dir: dir, History: 1 << 62}
	if cipher != nil {
		config.Cipher = cipher
	}
	engine, err := store.Open(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	if _, _, err := stored.NoteVersions(ctx, engine, kinds); err != nil {
		return err
	}
	more, err := custom(ctx, engine)
	if err != nil {
		return err
	}
	all := kinds.And(more)
	return Migrate(ctx, engine, cipher.Form(), func() stored.Kinds { return all }, report)
}

// run processes every object. The error about objects that could not be rewritten comes
// last: they do not stop the others.
func (m *migration) run(ctx context.Context) error {
	if err := m.resume(ctx); err != nil {
		return err
	}
	if err := m.count(ctx); err != nil {
		return err
	}
	for _, prefix := range slices.Sorted(maps.Keys(m.kinds)) {
		if prefix+"\xff" <= m.step.After {
			continue
		}
		if err := m.migrateKind(ctx, prefix); err != nil {
			err = errors.Join(err, m.saveAnyway(ctx))
			return fmt.Errorf("the migration stopped after %d objects, of which %d were rewritten; run it again to go on: %w", m.step.Looked, m.step.Rewritten, err)
		}
	}
	if m.step.Failed == 0 {
		if err := stored.NoteMigrated(ctx, m.store, m.kinds); err != nil {
			return err
		}
	}
	m.step.After, m.step.Done = "", true
	if err := m.save(ctx); err != nil {
		return err
	}
	m.report(m.step)
	return nil
}

// resume finds the key to begin at.
func (m *migration) resume(ctx context.Context) error {
	e, err := m.store.Get(ctx, migrationKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var state migrationState
	if json.Unmarshal(e.Body, &state) != nil || state.Form != m.form {
		return nil // of another release: its objects may have to be rewritten again
	}
	m.step = state.Step
	m.step.Resumed = true
	m.report(m.step)
	m.step.Resumed = false
	return nil
}

// count counts the objects, for an estimate of the time.
func (m *migration) count(ctx context.Context) (err error) {
	reader, err := m.store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	m.step.Total = 0
	for prefix := range m.kinds {
		n, err := reader.Count(ctx, prefix, "")
		if err != nil {
			return err
		}
		m.step.Total += n
	}
	return nil
}

// save keeps the progress; nothing when all is done.
func (m *migration) save(ctx context.Context) error {
	_, err := m.store.Update(ctx, migrationKey, func(current *store.Entry) (store.Write, error) {
		state, err := json.Marshal(migrationState{m.step, m.form})
		w := store.Write{Op: store.OpUpdate, Value: store.Value{Body: state, RevisionAt: -1}}
		switch {
		case current == nil && m.step.Done:
			w.Op = 0
		case current == nil:
			w.Op = store.OpCreate
		case m.step.Done:
			w.Op = store.OpDelete
		}
		return w, err
	})
	return err
}

// saveAnyway is save, also when ctx has ended.
func (m *migration) saveAnyway(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return m.save(ctx)
}

// migrateKind processes the objects of one kind, page by page.
func (m *migration) migrateKind(ctx context.Context, prefix string) error {
	kind := m.kinds[prefix]
	for saved := time.Now(); ; {
		page, err := m.read(ctx, kind, prefix)
		if err != nil {
			return err
		}
		if err := m.rewrite(ctx, prefix, page.stale); err != nil {
			return err
		}
		m.step.Looked += int64(page.looked)
		if page.last != "" {
			m.step.After = page.last
		}
		if page.end {
			return nil
		}
		if now := time.Now(); now.Sub(saved) >= migrationPause {
			saved = now
			if err := m.save(ctx); err != nil {
				return err
			}
			m.report(m.step)
		}
	}
}

// scanned is the result of reading one page.
type scanned struct {
	stale  []string // keys of objects to rewrite
	last   string   // the last key
	looked int
	end    bool // nothing follows
}

func (m *migration) read(ctx context.Context, kind *stored.Kind, prefix string) (page scanned, err error) {
	reader, err := m.store.At(ctx, 0)
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	after, size := "", 0
	if m.step.After > prefix {
		after = m.step.After
	}
	page.end = true
	err = reader.Scan(ctx, prefix, after, func(e *store.Entry) bool {
		if e.Key == after {
			return true
		}
		if page.looked == migrationPage || size >= migrationBytes {
			page.end = false
			return false
		}
		page.looked++
		page.last = strings.Clone(e.Key)
		size += len(e.Body)
		if !asStored(ctx, kind, e) {
			page.stale = append(page.stale, page.last)
		}
		return true
	})
	return page, err
}

// asStored reports whether an object is as it would be stored today. An unreadable one is
// not, nor is one that a converter would have to be asked about.
func asStored(ctx context.Context, kind *stored.Kind, e *store.Entry) bool {
	if kind.Waits(e) {
		return false
	}
	_, same, err := kind.Rewrite(ctx, e)
	return err == nil && same
}

// rewrite writes the objects of a page. An unreadable object is a problem of its own; a
// failed write ends the migration.
func (m *migration) rewrite(ctx context.Context, prefix string, keys []string) error {
	var mu ranks.Mutex[ranks.Leaf] // guards step, failure
	var failure error
	var writers sync.WaitGroup
	next := make(chan string)
	for range min(migrationWriters, len(keys)) {
		writers.Go(func() {
			for key := range next {
				written, problem, err := m.rewriteAnew(ctx, prefix, key)
				mu.Lock()
				switch {
				case err != nil:
					failure = errors.Join(failure, err)
				case problem != nil:
					m.step.Failed++
					step := m.step
					step.Problem = fmt.Sprintf("%s: %v", key, problem)
					m.report(step)
				case written:
					m.step.Rewritten++
				}
				mu.Unlock()
			}
		})
	}
	failed := func() bool { mu.Lock(); defer mu.Unlock(); return failure != nil }
	for _, key := range keys {
		if failed() {
			break
		}
		next <- key
	}
	close(next)
	writers.Wait()
	return failure
}

// The waits for the rows of a changed definition, which come after the record of its form.
const (
	formTries = 200
	formPause = 10 * time.Millisecond
)

var errFormChanges = errors.New("its definition has changed again and again while it was rewritten; run the migration again")

// rewriteAnew rewrites an object by the kind that it has now, again while the kind's
// definition changes meanwhile. An object without a kind goes with its definition.
func (m *migration) rewriteAnew(ctx context.Context, prefix, key string) (written bool, problem, err error) {
	kind := m.kinds[prefix]
	for range formTries {
		written, problem, err = m.rewriteOne(ctx, kind, key)
		if !errors.Is(err, store.ErrChanged) {
			return written, problem, err
		}
		select {
		case <-time.After(formPause):
		case <-ctx.Done():
			return false, nil, ctx.Err()
		}
		if kind = m.now()[prefix]; kind == nil {
			return false, nil, nil
		}
	}
	return false, errFormChanges, nil
}

func (m *migration) rewriteOne(ctx context.Context, kind *stored.Kind, key string) (written bool, problem, err error) {
	read, err := m.store.Get(ctx, key)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return false, nil, err
	}
	rewrite := kind.Rewrite
	if kind.Waits(&read) { // not under the key's lock
		v, same, wrong := kind.Rewrite(ctx, &read)
		rewrite = func(_ context.Context, e *store.Entry) (store.Value, bool, error) {
			return v, same || e.Revision != read.Revision, wrong
		}
	}
	_, err = m.store.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
		if current == nil {
			return store.Write{}, nil
		}
		v, same, err := rewrite(ctx, current)
		if problem = err; err != nil || same { // another write was faster
			return store.Write{}, nil
		}
		written = true
		return store.Write{Op: store.OpUpdate, Value: v, Seen: kind.Seen()}, nil
	})
	return written, problem, err
}
