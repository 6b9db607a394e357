package externaljwt

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/grpc"
)

// keySet are the keys of one answer. It does not change.
type keySet struct {
	keys  []authn.PublicKey
	dated time.Time     // as of when the program knows them
	next  time.Duration // after which the program wants to be asked again
	due   time.Time     // when that is

	generation uint64 // one more than that of the other keys before
}

// fetch is a question for the keys. The error is there once it is done.
type fetch struct {
	done chan struct{}
	err  error
}

// refresh fetches the keys. A caller during a question waits for its answer, and the program is not asked again.
func (s *Signer) refresh(ctx context.Context) error {
	s.mu.Lock()
	now := s.now
	if now == nil && s.running.Err() == nil {
		now = &fetch{done: make(chan struct{})}
		s.now = now
		s.work.Go(func() {
			now.err = s.fetch()
			s.mu.Lock()
			s.now = nil
			s.mu.Unlock()
			close(now.done)
		})
	}
	s.mu.Unlock()
	if now == nil {
		return s.running.Err()
	}
	select {
	case <-now.done:
		return now.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetch puts the present keys of the program to use. There is one at a time.
func (s *Signer) fetch() error {
	ctx, cancel := context.WithTimeout(s.running, s.cfg.Pauses.Fetch)
	defer cancel()
	next, err := s.ask(ctx)
	if err != nil {
		s.cfg.Figures.Fetched(codeOf(err), s.cfg.Clock(), time.Time{})
		return fmt.Errorf("while fetching token verification keys: %w", err)
	}
	s.cfg.Figures.Fetched(codeOf(nil), s.cfg.Clock(), next.dated)
	before := s.keys.Load()
	changed := before == nil || !slices.EqualFunc(before.keys, next.keys, sameKey)
	if before != nil {
		next.generation = before.generation
	}
	if changed {
		next.generation++
	}
	s.keys.Store(next)
	if changed {
		s.cfg.Changed(next.keys)
	}
	return nil
}

func sameKey(x, y authn.PublicKey) bool {
	own, ok := x.Key.(interface{ Equal(crypto.PublicKey) bool })
	return x.ID == y.ID && x.Hidden == y.Hidden && ok && own.Equal(y.Key)
}

// ask asks the program for its keys.
func (s *Signer) ask(ctx context.Context) (*keySet, error) {
	var texts keyTexts
	err := s.call(ctx, "FetchKeys", nil, func(answer []byte) (err error) {
		texts, err = readKeys(answer)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("while getting externally supported jwt signing keys: %w", err)
	}
	next, err := texts.check()
	if err == nil {
		next.due = s.cfg.Clock().Add(next.next)
	}
	return next, err
}

// follow fetches the keys whenever the program wants it, until Close.
func (s *Signer) follow() {
	due := time.NewTimer(s.keys.Load().next)
	defer due.Stop()
	for {
		select {
		case <-s.running.Done():
			return
		case <-due.C:
		}
		err := s.refresh(s.running)
		s.note(err)
		if err != nil {
			due.Reset(s.cfg.Pauses.Again)
		} else {
			due.Reset(s.keys.Load().next)
		}
	}
}

// note logs that keys cannot be fetched, and that they can again.
func (s *Signer) note(err error) {
	switch {
	case s.running.Err() != nil:
	case err != nil && !s.failing.Swap(true):
		s.cfg.Log.Error("the keys of service accounts' tokens cannot be fetched; those fetched before count", "error", err)
	case err == nil && s.failing.Swap(false):
		s.cfg.Log.Info("the keys of service accounts' tokens can be fetched again")
	}
}

// Keys implements authn.ExternalSigner: an unknown name has the keys fetched.
func (s *Signer) Keys(ctx context.Context, id string) []authn.PublicKey {
	if keys := s.known(id); len(keys) > 0 {
		return keys
	}
	err := s.refresh(ctx)
	if ctx.Err() == nil {
		s.note(err)
	}
	if err != nil {
		return nil
	}
	return s.known(id)
}

// known are the keys of a name that were fetched before.
func (s *Signer) known(id string) (some []authn.PublicKey) {
	all := s.keys.Load().keys
	if id == "" {
		return all
	}
	for _, key := range all {
		if key.ID == id {
			some = append(some, key)
		}
	}
	return some
}

// Generation implements authn.ExternalSigner.
func (s *Signer) Generation() uint64 { return s.keys.Load().generation }

// Age is the number of seconds for which others may use the present keys without asking for them again.
func (s *Signer) Age() int {
	return max(0, int(s.keys.Load().due.Sub(s.cfg.Clock())/time.Second))
}

// keyTexts is the answer of FetchKeys, as the program has sent it.
type keyTexts struct {
	keys  []keyText
	dated []byte // a timestamp
	hint  int64  // seconds
}

type keyText struct {
	id     string
	key    []byte
	hidden bool
}

// readKeys reads the answer of FetchKeys.
func readKeys(answer []byte) (t keyTexts, err error) {
	valid := true
	whole := grpc.Fields(answer, func(field protowire.Number, value []byte) {
		switch field {
		case 1:
			key, ok := readKey(value)
			t.keys, valid = append(t.keys, key), valid && ok
		case 2:
			valid = valid && grpc.Fields(value, func(protowire.Number, []byte) {})
			t.dated = append(append([]byte{}, t.dated...), value...) // of two the members count together
		}
	})
	if !whole || !valid {
		return keyTexts{}, errMessage
	}
	t.hint = int64(grpc.Number(answer, 3))
	return t, nil
}

func readKey(text []byte) (k keyText, ok bool) {
	ok = grpc.Fields(text, func(field protowire.Number, value []byte) {
		switch field {
		case 1:
			k.id = string(value)
		case 2:
			k.key = value
		}
	})
	if !ok || !validTexts(k.id) {
		return k, false
	}
	k.hidden = grpc.Number(text, 3) != 0
	return k, true
}

func validTexts(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !utf8.ValidString(text) })
}

// check makes keys of an answer, or refuses it as a whole.
func (t keyTexts) check() (*keySet, error) {
	if t.hint <= 0 {
		return nil, fmt.Errorf("found invalid refresh hint (%ds)", t.hint)
	}
	if len(t.keys) == 0 {
		return nil, errors.New("found no keys")
	}
	dated, err := timeOf(t.dated)
	if err != nil {
		return nil, fmt.Errorf("invalid data timestamp: %w", err)
	}
	set := &keySet{dated: dated, next: time.Duration(min(t.hint, mostSeconds)) * time.Second}
	for _, k := range t.keys {
		switch {
		case k.id == "" || len(k.id) > mostKeyID:
			return nil, fmt.Errorf("found invalid public key id %q", k.id)
		case len(k.key) == 0:
			return nil, errors.New("found empty public key")
		}
		key, err := x509.ParsePKIXPublicKey(k.key)
		if err != nil {
			return nil, fmt.Errorf("while parsing external public keys: %w", err)
		}
		set.keys = append(set.keys, authn.PublicKey{ID: k.id, Key: key, Hidden: k.hidden})
	}
	return set, nil
}

// The bounds of a timestamp in seconds since 1970: the years 1 to 9999.
const (
	leastTimestamp = -62135596800
	mostTimestamp  = 253402300799
)

// timeOf reads a timestamp, nil for one that is missing.
func timeOf(text []byte) (time.Time, error) {
	if text == nil {
		return time.Time{}, errors.New("proto: invalid nil Timestamp")
	}
	seconds, nanos := int64(grpc.Number(text, 1)), int32(grpc.Number(text, 2))
	switch {
	case seconds < leastTimestamp:
		return time.Time{}, fmt.Errorf("timestamp (%d s) before 0001-01-01", seconds)
	case seconds > mostTimestamp:
		return time.Time{}, fmt.Errorf("timestamp (%d s) after 9999-12-31", seconds)
	case nanos < 0 || nanos >= 1e9:
		return time.Time{}, fmt.Errorf("timestamp (%d s, %d ns) has out-of-range nanos", seconds, nanos)
	}
	return time.Unix(seconds, int64(nanos)).UTC(), nil
}
