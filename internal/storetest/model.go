package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/store"
)

// Model is a Store in a few maps: the state at the oldest revision kept and the list of
// all changes since. It answers every question by replaying the list. Keys have no locks:
// one write at a time runs in the whole model.
type Model struct {
	writes sync.Mutex // held during an update function

	mu      sync.Mutex
	base    map[string]store.Entry // state at oldest
	oldest  uint64
	changes []*store.Change                // with revisions oldest+1, oldest+2, …
	subs    [2]map[*func(store.Batch)]bool // by turn
	marks   map[string]uint64              // the last write with each
	moved   chan struct{}                  // closed and replaced when current moves
	closed  bool
}

var _ store.Store = (*Model)(nil)

// NewModel returns an empty store.
func NewModel() *Model {
	return &Model{base: map[string]store.Entry{}, subs: [2]map[*func(store.Batch)]bool{{}, {}}, moved: make(chan struct{})}
}

// Reopen returns a store with the same data, as after a restart, and closes m.
func (m *Model) Reopen() *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := NewModel()
	n.base, n.oldest, n.changes = m.base, m.oldest, m.changes
	m.shut()
	return n
}

func (m *Model) current() uint64 { return m.oldest + uint64(len(m.changes)) }

// state replays the changes up to a revision.
func (m *Model) state(at uint64) map[string]store.Entry {
	state := maps.Clone(m.base)
	for _, c := range m.changes {
		if c.Entry.Revision > at {
			break
		}
		if c.Op == store.OpDelete {
			delete(state, c.Entry.Key)
		} else {
			state[c.Entry.Key] = c.Entry
		}
	}
	return state
}

// At implements store.Store.
func (m *Model) At(ctx context.Context, at uint64) (store.Reader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, store.ErrClosed
	}
	if at == 0 {
		at = m.current()
	}
	if at > m.current() {
		return nil, &store.FutureError{Asked: at, Current: m.current()}
	}
	if at < m.oldest {
		return nil, &store.TrimmedError{Asked: at, Oldest: m.oldest}
	}
	return &modelReader{m: m, revision: at, state: m.state(at)}, ctx.Err()
}

// Get implements store.Store.
func (m *Model) Get(ctx context.Context, key string) (store.Entry, error) {
	r, err := m.At(ctx, 0)
	if err != nil {
		return store.Entry{}, err
	}
	return r.Get(key)
}

// Update implements store.Store.
func (m *Model) Update(ctx context.Context, key string, fn func(current *store.Entry) (store.Write, error)) (store.Entry, error) {
	all, err := m.UpdateAll(ctx, []string{key}, func(current []*store.Entry) ([]store.Write, error) {
		w, err := fn(current[0])
		return []store.Write{w}, err
	})
	if err != nil {
		return store.Entry{}, err
	}
	return all[0], nil
}

// UpdateAll implements store.Store.
func (m *Model) UpdateAll(ctx context.Context, keys []string, fn func(current []*store.Entry) ([]store.Write, error)) ([]store.Entry, error) {
	if slices.ContainsFunc(keys, func(key string) bool { return key == "" || strings.Contains(key, "\x00") }) {
		return nil, fmt.Errorf("storetest: one of the keys %q is refused", keys)
	}
	for {
		moved := m.wait() // before the attempt, so that no release is missed
		if m.writes.TryLock() {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-moved:
		}
	}
	defer m.broadcast()
	defer m.writes.Unlock()
	entries, current := make([]store.Entry, len(keys)), make([]*store.Entry, len(keys))
	for i, key := range keys {
		found, err := m.Get(ctx, key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if entries[i] = found; err == nil {
			current[i] = &found
		}
	}
	writes, err := again(fn, current)
	if err != nil {
		return nil, err
	}
	return entries, m.write(keys, writes, current, entries)
}

// write performs the writes of a transaction, and replaces the entries that they change.
func (m *Model) write(keys []string, writes []store.Write, current []*store.Entry, entries []store.Entry) error {
	for i, w := range writes {
		if w.Op > store.OpDelete || w.Op != 0 && ((w.Op == store.OpCreate) != (current[i] == nil) || w.Value.RevisionAt > len(w.Value.Body)) {
			return fmt.Errorf("storetest: operation %d on %q is refused", w.Op, keys[i])
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.unchanged(writes) {
		return store.ErrChanged
	}
	var batch []*store.Change
	for i, w := range writes {
		if w.Op == 0 {
			continue
		}
		if m.closed {
			return store.ErrClosed
		}
		c := &store.Change{Op: w.Op, Prev: entries[i], Entry: store.Entry{Key: keys[i], Revision: m.current() + 1}}
		c.Entry.Meta, c.Entry.Body, c.Entry.RevisionAt = slices.Clone(w.Value.Meta), slices.Clone(w.Value.Body), -1
		if at := w.Value.RevisionAt; at >= 0 {
			c.Entry.Body = slices.Insert(c.Entry.Body, at, []byte(strconv.FormatUint(c.Entry.Revision, 10))...)
		}
		m.changes = append(m.changes, c)
		for _, mark := range w.Marks {
			if m.marks == nil {
				m.marks = map[string]uint64{}
			}
			m.marks[mark] = c.Entry.Revision
		}
		batch, entries[i] = append(batch, c), c.Entry
	}
	if batch != nil {
		for _, turn := range m.subs {
			for fn := range turn {
				(*fn)(store.Batch{Changes: batch, Revision: m.current()})
			}
		}
	}
	return nil
}

// wait returns a channel that is closed at the next change or release.
func (m *Model) wait() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.moved
}

func (m *Model) broadcast() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.moved)
	m.moved = make(chan struct{})
}

// Changes implements store.Store.
func (m *Model) Changes(ctx context.Context, prefix string, after uint64, visit func(c *store.Change) bool) (uint64, error) {
	m.mu.Lock()
	changes, oldest, current, closed := m.changes, m.oldest, m.current(), m.closed
	m.mu.Unlock()
	switch {
	case closed:
		return 0, store.ErrClosed
	case after < oldest:
		return 0, &store.TrimmedError{Asked: after, Oldest: oldest}
	case after >= current:
		return after, ctx.Err()
	}
	for _, c := range changes[after-oldest:] {
		if strings.HasPrefix(c.Entry.Key, prefix) && !visit(c) {
			return c.Entry.Revision, nil
		}
	}
	return current, ctx.Err()
}

// Subscribe implements store.Store.
func (m *Model) Subscribe(turn store.Turn, fn func(store.Batch)) (uint64, func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.subs[turn][&fn] = true
	return m.current(), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.subs[turn], &fn)
	}
}

// Trim removes the history before a revision.
func (m *Model) Trim(upTo uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return store.ErrClosed
	case upTo > m.current():
		return &store.FutureError{Asked: upTo, Current: m.current()}
	case upTo > m.oldest:
		m.base = m.state(upTo)
		m.changes = m.changes[upTo-m.oldest:]
		m.oldest = upTo
	}
	return nil
}

// Newest implements store.Store.
func (m *Model) Newest(ctx context.Context) (uint64, error) { return m.Current(), ctx.Err() }

// Current implements store.Store.
func (m *Model) Current() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current()
}

// Oldest implements store.Store.
func (m *Model) Oldest() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.oldest
}

// WaitFor implements store.Store.
func (m *Model) WaitFor(ctx context.Context, revision uint64) error {
	for {
		m.mu.Lock()
		reached, closed, moved := m.current() >= revision, m.closed, m.moved
		m.mu.Unlock()
		if reached {
			return nil
		}
		if closed {
			return store.ErrClosed
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Healthy implements store.Store.
func (m *Model) Healthy() error { return nil }

// Close implements store.Store.
func (m *Model) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.shut()
	return nil
}

func (m *Model) shut() {
	if !m.closed {
		m.closed = true
		close(m.moved)
		m.moved = make(chan struct{})
	}
}

type modelReader struct {
	m        *Model
	revision uint64
	state    map[string]store.Entry
	closed   bool
}

func (r *modelReader) Revision() uint64 { return r.revision }

func (r *modelReader) open() error {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	if r.closed || r.m.closed {
		return store.ErrClosed
	}
	return nil
}

func (r *modelReader) Get(key string) (store.Entry, error) {
	if err := r.open(); err != nil {
		return store.Entry{}, err
	}
	e, ok := r.state[key]
	if !ok {
		return store.Entry{}, store.ErrNotFound
	}
	return e, nil
}

func (r *modelReader) GetEach(ctx context.Context, keys []string, visit func(e *store.Entry) bool) error {
	if err := r.open(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, key := range keys {
		if e, ok := r.state[key]; ok && !visit(&e) {
			return nil
		}
	}
	return nil
}

func (r *modelReader) Scan(ctx context.Context, prefix, from string, visit func(e *store.Entry) bool) error {
	for _, key := range slices.Sorted(maps.Keys(r.state)) {
		if err := errors.Join(ctx.Err(), r.open()); err != nil {
			return err
		}
		if e := r.state[key]; strings.HasPrefix(key, prefix) && key >= from && !visit(&e) {
			return nil
		}
	}
	return errors.Join(ctx.Err(), r.open())
}

func (r *modelReader) ScanMeta(ctx context.Context, prefix, from string, visit func(e *store.Entry) bool) error {
	return r.Scan(ctx, prefix, from, func(e *store.Entry) bool {
		e.Body = nil
		return visit(e)
	})
}

func (r *modelReader) Count(ctx context.Context, prefix, from string) (n int64, err error) {
	err = r.Scan(ctx, prefix, from, func(*store.Entry) bool { n++; return true })
	return n, err
}

func (r *modelReader) Close() error {
	r.m.mu.Lock()
	defer r.m.mu.Unlock()
	r.closed = true
	return nil
}
