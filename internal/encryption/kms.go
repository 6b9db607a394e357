package encryption

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/grpc"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
)

// service is a key management service, KMS v1 or v2, as a provider. Values are encrypted
// here, with a key that is made when it is first needed and that only the service can
// decrypt; the key as the service has encrypted it is in every record. So the service is
// asked once for each key, not for each value.
//
// A record has a key of its own, derived from that key by a random salt, so that the
// number of records is not limited.
type service struct {
	name    string
	version int
	path    string
	calls   *grpc.Caller
	timeout time.Duration
	changed func() // after a key of the service took the place of another

	group atomic.Pointer[string] // the version of the API that the service speaks: "v2"

	first  questions[*dataKey] // for the first key for writes
	opens  questions[[]byte]   // for keys, by their encrypted form
	checks questions[health]

	mu     ranks.Mutex[ranks.Leaf] // never held while the service is asked
	now    *dataKey                // for writes; nil before the first
	asked  time.Time               // when the service was last asked for its present key
	silent time.Time               // when the service last gave no answer about the key of a value in etcd
	opened map[string][]byte       // keys by their encrypted form
	health health                  // as it was when it was last asked
}

// health is the state of a service.
type health struct {
	until time.Time // for which it counts
	err   error
}

// dataKey is a key that encrypts values.
type dataKey struct {
	key     []byte
	wrapped wrapped
	record  []byte       // wrapped as records have it
	values  atomic.Int64 // in etcd that the key has encrypted
}

const (
	keyBytes    = 32
	saltBytes   = 32
	mostOpened  = 1000
	statusEvery = time.Minute      // v2: a service whose key has changed gets a new key to encrypt
	healthyFor  = 20 * time.Second // for which a good answer about its health counts
	failingFor  = 3 * time.Second
)

func newService(name string, version int, path string, timeout time.Duration) *service {
	s := &service{name: name, version: version, path: path, calls: grpc.New("unix", path), timeout: timeout, opened: map[string][]byte{}}
	group := "v2"
	if version == 1 {
		group = "v1beta1"
	}
	s.group.Store(&group)
	return s
}

func (s *service) id() string { return fmt.Sprintf("kms:v%d:%s", s.version, s.name) }

// call calls a method. A service that does not know v2 may know the alpha version of it.
func (s *service) call(method string, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	group := *s.group.Load()
	answer, err := s.calls.Call(ctx, "/"+group+".KeyManagementService/"+method, message)
	if known := new(grpc.StatusError); errors.As(err, &known) && known.Code == grpc.Unimplemented && group == "v2" {
		if answer, err = s.calls.Call(ctx, "/v2alpha1.KeyManagementService/"+method, message); err == nil {
			group = "v2alpha1"
			s.group.Store(&group)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the key management service failed: %w", err)
	}
	return answer, nil
}

// status returns the id of the service's present key, v2 only.
func (s *service) status() (keyID string, err error) {
	answer, err := s.call("Status", nil)
	if err != nil {
		return "", err
	}
	health := ""
	whole := grpc.Fields(answer, func(field protowire.Number, value []byte) {
		switch field {
		case 2:
			health = string(value)
		case 3:
			keyID = string(value)
		}
	})
	switch {
	case !whole || keyID == "":
		return "", errors.New("the key management service does not name its key")
	case health != "ok":
		return "", fmt.Errorf("the key management service is not well: %q", health)
	}
	return keyID, nil
}

// wrap has the service encrypt a key.
func (s *service) wrap(key []byte) (w wrapped, err error) {
	if s.version == 1 {
		answer, err := s.call("Encrypt", grpc.AppendBytes(grpc.AppendBytes(nil, 1, []byte("v1beta1")), 2, key))
		grpc.Fields(answer, func(_ protowire.Number, value []byte) { w.key = value })
		return w, err
	}
	answer, err := s.call("Encrypt", grpc.AppendBytes(grpc.AppendBytes(nil, 1, key), 2, []byte(uuid.NewString())))
	w, _ = readWrapped(answer) // the answer has the form that records have
	return w, err
}

// unwrap has the service decrypt a key.
func (s *service) unwrap(w *wrapped) (key []byte, err error) {
	message := grpc.AppendBytes(grpc.AppendBytes(nil, 1, []byte("v1beta1")), 2, w.key)
	if s.version == 2 {
		message = grpc.AppendBytes(grpc.AppendBytes(grpc.AppendBytes(nil, 1, w.key), 2, []byte(uuid.NewString())), 3, []byte(w.keyID))
		message = appendAnnotations(message, 4, w.annotations)
	}
	answer, err := s.call("Decrypt", message)
	grpc.Fields(answer, func(_ protowire.Number, value []byte) { key = value })
	if err == nil && len(key) != keyBytes {
		err = errNoKey
	}
	return key, err
}

var errNoKey = errors.New("the key management service has decrypted something other than a key")

// current is the key for writes. One whose service has changed its own is replaced; while
// the service is asked, and if it fails, the present one is used.
func (s *service) current() (*dataKey, error) {
	s.mu.Lock()
	now := s.now
	due := now != nil && s.version == 2 && time.Since(s.asked) >= statusEvery
	if due {
		s.asked = time.Now() // the others go on with the present key
	}
	s.mu.Unlock()
	switch {
	case now == nil:
		return s.first.ask("", func() (*dataKey, error) { return s.after(nil) })
	case !due:
		return now, nil
	}
	if id, err := s.status(); err != nil || id == now.wrapped.keyID {
		return now, nil
	}
	next, err := s.after(now)
	if err != nil {
		return now, nil
	}
	s.changed()
	return next, nil
}

// after makes the key for writes that takes the place of another, unless one has taken it.
func (s *service) after(before *dataKey) (*dataKey, error) {
	s.mu.Lock()
	now := s.now
	s.mu.Unlock()
	if now != before {
		return now, nil
	}
	key := appendRandom(nil, keyBytes)
	w, err := s.wrap(key)
	switch {
	case err != nil:
		return nil, err
	case len(w.key) == 0 || s.version == 2 && w.keyID == "":
		return nil, errors.New("the key management service has encrypted nothing")
	}
	next := &dataKey{key: key, wrapped: w, record: w.appendTo(nil)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.asked = next, time.Now()
	s.remember(next.record, key)
	return next, nil
}

// remember keeps a key. The lock is held.
func (s *service) remember(wrapped, key []byte) {
	if len(s.opened) >= mostOpened {
		clear(s.opened)
	}
	s.opened[string(wrapped)] = key
}

func (s *service) sealer() (store.Seal, error) {
	key, err := s.current()
	if err != nil {
		return nil, err
	}
	return func(dst, bound, plain []byte) []byte {
		dst = binary.AppendUvarint(dst, uint64(len(key.record)))
		start := len(dst)
		dst = appendRandom(append(dst, key.record...), saltBytes)
		own, _ := newGCM(derive(key.key, dst[start:])) // of the right length
		return own.seal(dst, bound, plain)
	}, nil
}

// parts splits a record: salted is wrapped with the salt after it.
func parts(sealed []byte) (wrapped, salted, text []byte, err error) {
	n, size := binary.Uvarint(sealed)
	if size <= 0 || n > uint64(len(sealed)-size) || uint64(len(sealed)-size)-n < saltBytes {
		return nil, nil, nil, errDamaged
	}
	end := size + int(n)
	return sealed[size:end], sealed[size : end+saltBytes], sealed[end+saltBytes:], nil
}

func (s *service) open(bound, sealed []byte) ([]byte, error) {
	text, salted, rest, err := parts(sealed)
	if err != nil {
		return nil, err
	}
	key, err := s.key(text)
	if err != nil {
		return nil, err
	}
	own, err := newGCM(derive(key, salted))
	if err != nil {
		return nil, err
	}
	return own.open(bound, rest)
}

// known is the key of a record, if it was decrypted before; else nil.
func (s *service) known(text []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened[string(text)]
}

// key decrypts the key of a record.
func (s *service) key(text []byte) ([]byte, error) {
	if key := s.known(text); key != nil {
		return key, nil
	}
	return s.opens.ask(string(text), func() ([]byte, error) {
		if key := s.known(text); key != nil {
			return key, nil
		}
		w, ok := readWrapped(bytes.Clone(text))
		if !ok {
			return nil, errDamaged
		}
		key, err := s.unwrap(&w)
		if err == nil {
			s.mu.Lock()
			s.remember(text, key)
			s.mu.Unlock()
		}
		return key, err
	})
}

func (s *service) fresh(sealed []byte) bool {
	text, _, _, err := parts(sealed)
	if err != nil || s.version == 1 {
		return err == nil
	}
	w, ok := readWrapped(text)
	now, err := s.current()
	return ok && (err != nil || w.keyID == now.wrapped.keyID) // an unknown present key is no reason to write
}

// healthy reports whether the service works: v2 by its status, v1 by an encryption.
func (s *service) healthy() error {
	known := func() health {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.health
	}
	if h := known(); time.Now().Before(h.until) {
		return h.err
	}
	h, _ := s.checks.ask("", func() (h health, _ error) {
		if h = known(); time.Now().Before(h.until) {
			return h, nil
		}
		if s.version == 2 {
			_, h.err = s.status()
		} else {
			_, h.err = s.wrap([]byte("ping"))
		}
		counts := healthyFor
		if h.err != nil {
			counts = failingFor
		}
		h.until = time.Now().Add(counts) // those who waited did so for this answer
		s.mu.Lock()
		defer s.mu.Unlock()
		s.health = h
		return h, nil
	})
	return h.err
}
