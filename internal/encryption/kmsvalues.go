package encryption

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/grpc"
	"github.com/capstan-dev/capstan/internal/store"
)

// Values in etcd whose keys a service guards have the form of kube-apiserver: in front of a value
// encrypted by AES-GCM (KMS v1 before 1.25: AES-CBC) is the value's key, encrypted by the service.
// kube-apiserver 1.25 makes a key for each value, and asks the service for each. Here a key of the
// process encrypts many values, as it does for records.

// mostValues bounds the values that one key encrypts with random nonces, far below the 2^32 of NIST SP
// 800-38D, section 8.3.
const mostValues = 1 << 30

// Fields of the message EncryptedObject of KMS v2.
const (
	objectData        = 1
	objectKeyID       = 2
	objectKey         = 3
	objectAnnotations = 4
	objectKeyKind     = 5 // 1 for a seed; releases from 1.29 on write it
)

const seedKind = 1

// sealValue implements provider.
func (s *service) sealValue(dst []byte, place string, plain []byte) ([]byte, error) {
	key, err := s.current()
	if err == nil && key.values.Add(1) > mostValues {
		key, err = s.after(key)
	}
	if err != nil {
		return nil, err
	}
	aead, err := newGCM(key.key)
	if err != nil {
		return nil, err
	}
	if s.version == 2 {
		dst = grpc.AppendBytes(dst, objectData, aead.sealValue(nil, place, plain))
		dst = grpc.AppendBytes(grpc.AppendBytes(dst, objectKeyID, []byte(key.wrapped.keyID)), objectKey, key.wrapped.key)
		return appendAnnotations(dst, objectAnnotations, key.wrapped.annotations), nil
	}
	if len(key.wrapped.key) > 1<<16-1 {
		return nil, fmt.Errorf("the key management service has encrypted a key as %d bytes; KMS v1 has room for 65535", len(key.wrapped.key))
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(key.wrapped.key)))
	return aead.sealValue(append(dst, key.wrapped.key...), place, plain), nil
}

// openValue implements provider.
func (s *service) openValue(place string, sealed []byte) (plain []byte, stale bool, err error) {
	if s.version == 2 {
		return s.openObject(place, sealed)
	}
	if len(sealed) < 2 || len(sealed)-2 < int(binary.BigEndian.Uint16(sealed)) {
		return nil, false, errDamaged
	}
	end := 2 + int(binary.BigEndian.Uint16(sealed))
	key, err := s.valueKey(&wrapped{key: sealed[2:end]})
	if err != nil {
		return nil, false, err
	}
	if plain, err = openWith(newGCM, key, place, sealed[end:]); err == nil {
		return plain, false, nil
	}
	if plain, earlier := openWith(newCBC, key, place, sealed[end:]); earlier == nil {
		return plain, true, nil
	}
	return nil, false, err
}

// openObject decrypts a value of KMS v2.
func (s *service) openObject(place string, sealed []byte) (plain []byte, stale bool, err error) {
	var (
		w    wrapped
		data []byte
	)
	whole := grpc.Fields(sealed, func(field protowire.Number, value []byte) {
		switch field {
		case objectData:
			data = value
		case objectKeyID:
			w.keyID = string(value)
		case objectKey:
			w.key = value
		case objectAnnotations:
			w.annotations = append(w.annotations, readAnnotation(value))
		}
	})
	if !whole || len(w.key) == 0 || w.keyID == "" {
		return nil, false, errDamaged
	}
	key, err := s.valueKey(&w)
	if err != nil {
		return nil, false, err
	}
	switch kind := grpc.Number(sealed, objectKeyKind); {
	case kind == seedKind && len(data) < saltBytes:
		return nil, false, errDamaged
	case kind == seedKind:
		// RFC 5869, section 2.3, for a key of one block.
		key, data = derive(key, append(slices.Clone(data[:saltBytes]), 1)), data[saltBytes:]
	case kind != 0:
		return nil, false, fmt.Errorf("its key is of the kind %d, which this release does not know", kind)
	}
	plain, err = openWith(newGCM, key, place, data)
	if err != nil {
		return nil, false, err
	}
	now, unknown := s.current()
	return plain, unknown == nil && now.wrapped.keyID != w.keyID, nil // not for an unknown present key
}

func openWith(algorithm func(key []byte) (algorithm, error), key []byte, place string, sealed []byte) ([]byte, error) {
	a, err := algorithm(key)
	if err != nil {
		return nil, err
	}
	return a.openValue(place, sealed)
}

// valueKey is the key of a value in etcd. A service that gave no answer is not asked about keys of
// values for a while: those who read many values would wait for each.
func (s *service) valueKey(w *wrapped) ([]byte, error) {
	text := w.appendTo(nil)
	if key := s.known(text); key != nil {
		return key, nil
	}
	s.mu.Lock()
	silent := s.silent
	s.mu.Unlock()
	if time.Since(silent) < failingFor {
		return nil, &store.KeyError{Err: errSilent}
	}
	key, err := s.key(text)
	if err == nil {
		return key, nil
	}
	failed := &store.KeyError{Refused: refused(err), Err: err}
	if !failed.Refused {
		s.mu.Lock()
		s.silent = time.Now()
		s.mu.Unlock()
	}
	return nil, failed
}

var errSilent = errors.New("the key management service gave no answer a moment ago")

// refused reports whether a service has answered, with an error that is of the question.
func refused(err error) bool {
	answer := new(grpc.StatusError)
	switch {
	case errors.Is(err, errUnanswered):
		return false
	case !errors.As(err, &answer):
		return errors.Is(err, errNoKey)
	}
	return !slices.Contains([]int{grpc.Canceled, grpc.DeadlineExceeded, grpc.ResourceExhausted, grpc.Aborted, grpc.Unavailable}, answer.Code)
}
