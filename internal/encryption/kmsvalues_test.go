package encryption

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/kmstest"
	"github.com/capstan-dev/capstan/internal/store"
)

// unknown is the code of gRPC for plain errors of a service in Go.
const unknown = 2

const valuePlace = "/registry/secrets/default/s"

// guardedBy is a provider of a key management service.
func guardedBy(kms *kmstest.Service, version int) string {
	return fmt.Sprintf("{kms: {apiVersion: v%d, name: k, endpoint: %q, timeout: 300ms}}", version, kms.Endpoint)
}

// opened is the result of OpenValue in words.
func opened(c *Cipher, place string, sealed []byte) string {
	plain, stale, err := c.OpenValue(secret, place, sealed)
	key := new(store.KeyError)
	switch {
	case errors.As(err, &key) && key.Refused:
		return "refused"
	case errors.As(err, &key):
		return "no answer"
	case err != nil:
		return err.Error()
	case stale:
		return string(plain) + ", stale"
	}
	return string(plain)
}

// TestGuardedValues: values in etcd that a key management service guards are opened by other processes,
// one question for all values of a process; a service that does not answer is asked once in a while.
func TestGuardedValues(t *testing.T) {
	for version := 1; version <= 2; version++ {
		kms := kmstest.Start(t)
		writer := cipherOf(t, guardedBy(kms, version))
		seal := func(plain string) []byte {
			t.Helper()
			sealed, err := writer.SealValue(secret, valuePlace, []byte(plain))
			if mark := fmt.Sprintf("k8s:enc:kms:v%d:k:", version); err != nil || !strings.HasPrefix(string(sealed), mark) || strings.Contains(string(sealed), "plain") {
				t.Fatalf("v%d: %q, %v", version, sealed, err)
			}
			return sealed
		}
		expect := func(when string, c *Cipher, place string, sealed []byte, want string) {
			t.Helper()
			if got := opened(c, place, sealed); got != want {
				t.Errorf("v%d, %s: %q, expected %q", version, when, got, want)
			}
		}
		first, second := seal("plain 1"), seal("plain 2")
		if n := kms.Asked.Load(); n != 1 {
			t.Errorf("v%d: two values took %d questions", version, n)
		}
		reader := cipherOf(t, guardedBy(kms, version))
		kms.Hangs.Store(true)
		expect("a service that hangs", reader, valuePlace, first, "no answer")
		expect("soon after", reader, valuePlace, second, "no answer")
		if n := kms.Hung.Load(); n != 1 {
			t.Errorf("v%d: a service that hangs was asked %d times within seconds", version, n)
		}
		expect("its writer needs no service", writer, valuePlace, first, "plain 1")
		kms.Hangs.Store(false)
		kms.Fails.Store(unknown)
		reader = cipherOf(t, guardedBy(kms, version))
		expect("a service that refuses", reader, valuePlace, first, "refused")
		kms.Fails.Store(0)
		expect("another process", reader, valuePlace, first, "plain 1")
		expect("the same key again", reader, valuePlace, second, "plain 2")
		expect("another place", reader, valuePlace+"x", second, "secrets: kms:v"+fmt.Sprint(version)+":k: "+errWrongKey.Error())
		kms.Key.Store(7)
		old := map[int]string{1: "plain 1", 2: "plain 1, stale"}[version]
		expect("the service has another key", cipherOf(t, guardedBy(kms, version)), valuePlace, first, old)
		expect("another first provider", cipherOf(t, "{identity: {}}, "+guardedBy(kms, version)), valuePlace, first, "plain 1, stale")
		for i := range first {
			_, _, _ = reader.OpenValue(secret, valuePlace, first[:i]) // no panic
		}
	}
}

// TestEarlierGuardedValues: KMS v1 of releases before 1.25 encrypts by AES-CBC.
func TestEarlierGuardedValues(t *testing.T) {
	kms := kmstest.Start(t)
	c, key := cipherOf(t, guardedBy(kms, 1)), []byte(strings.Repeat("k", keyBytes))
	algorithm, err := newCBC(key)
	if err != nil {
		t.Fatal(err)
	}
	wrapped := append([]byte("0:"), key...)
	value := append(binary.BigEndian.AppendUint16([]byte("k8s:enc:kms:v1:k:"), uint16(len(wrapped))), wrapped...)
	if got := opened(c, valuePlace, algorithm.sealValue(value, valuePlace, []byte("plain"))); got != "plain, stale" {
		t.Error(got)
	}
}

// TestUsedUpKey: a key that has encrypted as many values as one may is replaced.
func TestUsedUpKey(t *testing.T) {
	kms := kmstest.Start(t)
	c := cipherOf(t, guardedBy(kms, 1))
	seal := func() []byte { return must(c.SealValue(secret, valuePlace, []byte("plain"))) }
	first := seal()
	s := c.now.Load().services[0]
	before, err := s.current()
	if err != nil {
		t.Fatal(err)
	}
	before.values.Store(mostValues)
	second := seal()
	if after, err := s.current(); err != nil || after == before || after.values.Load() != 0 {
		t.Errorf("the key is the same, or was not counted anew: %v", err)
	}
	for _, sealed := range [][]byte{first, second} {
		if got := opened(c, valuePlace, sealed); got != "plain" {
			t.Error(got)
		}
	}
}
