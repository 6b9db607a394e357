package externaljwt

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/grpc"
	"github.com/capstan-dev/capstan/internal/signertest"
)

// TestRefresh: keys are fetched when the signer wants it, and earlier ones count on while that fails.
func TestRefresh(t *testing.T) {
	signer := signertest.Start(t)
	signer.Change(func(s *signertest.Says) { s.Hint = 1 })
	s := start(t, signer)
	first := <-s.changes
	if len(first) != 1 || first[0].ID != "one" || s.Age() > 1 {
		t.Fatalf("%v, age %d", first, s.Age())
	}
	before := s.Generation()
	two := signertest.NewKey(t, "two")
	signer.Change(func(s *signertest.Says) { s.Keys = append(s.Keys, two); s.Hint = 3600 })
	if next := <-s.changes; len(next) != 2 || s.Generation() == before {
		t.Errorf("%v, generation %d after %d", next, s.Generation(), before)
	}
	if s.Age() < 3500 || s.Age() > 3600 {
		t.Errorf("age %d", s.Age())
	}

	failing := signertest.Start(t)
	failing.Change(func(s *signertest.Says) { s.Hint = 1 })
	f := start(t, failing)
	<-f.changes
	failing.Change(func(s *signertest.Says) { s.Fails, s.Code = "FetchKeys", 2 })
	for failing.Asked("FetchKeys") < 3 { // twice in vain
		<-failing.Calls()
	}
	if keys := f.Keys(t.Context(), "one"); len(keys) != 1 {
		t.Errorf("%v", keys)
	}
	failing.Change(func(s *signertest.Says) { s.Fails, s.Keys, s.Hint = "", []signertest.Key{two}, 3600 })
	if next := <-f.changes; len(next) != 1 || next[0].ID != "two" {
		t.Errorf("%v", next)
	}
}

// TestUnknownKeys: the keys are fetched for a key that is not known, by one question however many wait for it.
func TestUnknownKeys(t *testing.T) {
	signer := signertest.Start(t)
	s := start(t, signer)
	if keys := s.Keys(t.Context(), ""); len(keys) != 1 || signer.Asked("FetchKeys") != 1 {
		t.Errorf("all keys: %v", keys)
	}
	generation := s.Generation()
	if keys := s.Keys(t.Context(), "two"); len(keys) != 0 || signer.Asked("FetchKeys") != 2 || s.Generation() != generation {
		t.Errorf("a key that nobody has: %v, asked %d times", keys, signer.Asked("FetchKeys"))
	}
	two := signertest.NewKey(t, "two")
	signer.Change(func(s *signertest.Says) { s.Keys = append(s.Keys, two) })
	if keys := s.Keys(t.Context(), "two"); len(keys) != 1 || !two.Private.PublicKey.Equal(keys[0].Key) || s.Generation() == generation {
		t.Errorf("a new key: %v", keys)
	}

	signer.Change(func(s *signertest.Says) { s.Hangs = "FetchKeys" })
	asked := signer.Asked("FetchKeys")
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if keys := s.Keys(ctx, "three"); keys != nil {
				t.Errorf("%v", keys)
			}
		})
	}
	for signer.Asked("FetchKeys") == asked {
		<-signer.Calls()
	}
	cancel()
	all.Wait() // none of them waits for the signer
	if n := signer.Asked("FetchKeys") - asked; n != 1 {
		t.Errorf("asked %d times", n)
	}
	s.Close() // does not wait for the signer either
	if keys := s.Keys(t.Context(), "three"); keys != nil {
		t.Errorf("after the end: %v", keys)
	}
}

// TestAnswersWithKeys: an answer counts as a whole or not at all.
func TestAnswersWithKeys(t *testing.T) {
	signer := signertest.Start(t)
	s := start(t, signer)
	var says signertest.Says
	signer.Change(func(s *signertest.Says) { says = *s })
	const outer = "while performing initial cache fill: while fetching token verification keys: "
	dated := func(seconds, nanos uint64) []byte {
		return grpc.AppendBytes(nil, 2, append(append([]byte{8}, varint(seconds)...), append([]byte{16}, varint(nanos)...)...))
	}
	hint, at := []byte{24, 1}, dated(1, 1)
	key := func(id, der string) []byte {
		return grpc.AppendBytes(nil, 1, grpc.AppendBytes(grpc.AppendBytes(nil, 1, []byte(id)), 2, []byte(der)))
	}
	for name, c := range map[string]struct {
		answer []byte
		want   string
	}{
		"nothing":       {[]byte{}, "found invalid refresh hint (0s)"},
		"negative hint": {append([]byte{24}, varint(1<<64-5)...), "found invalid refresh hint (-5s)"},
		"no keys":       {hint, "found no keys"},
		"no time":       {join(hint, key("a", "x")), "invalid data timestamp: proto: invalid nil Timestamp"},
		"early":         {join(hint, key("a", "x"), dated(1<<64-62135596801, 0)), "invalid data timestamp: timestamp (-62135596801 s) before 0001-01-01"},
		"late":          {join(hint, key("a", "x"), dated(253402300800, 0)), "invalid data timestamp: timestamp (253402300800 s) after 9999-12-31"},
		"nanoseconds":   {join(hint, key("a", "x"), dated(1, 1e9)), "invalid data timestamp: timestamp (1 s, 1000000000 ns) has out-of-range nanos"},
		"no name":       {join(hint, at, key("", "x")), `found invalid public key id ""`},
		"long name":     {join(hint, at, key(strings.Repeat("x", 1025), "x")), `found invalid public key id "xxx`},
		"empty key":     {join(hint, at, key("a", "")), "found empty public key"},
		"nonsense key":  {join(hint, at, key("a", "x")), "while parsing external public keys: asn1: "},
		"cut":           {[]byte{10, 99}, "while getting externally supported jwt signing keys: rpc error: code = Internal desc = grpc: failed to unmarshal"},
		"cut key":       {grpc.AppendBytes(nil, 1, []byte{10, 99}), "while getting externally supported jwt signing keys: rpc error: code = Internal"},
		"cut time":      {grpc.AppendBytes(nil, 2, []byte{8}), "while getting externally supported jwt signing keys: rpc error: code = Internal"},
		"name in bytes": {key("\xff", "x"), "while getting externally supported jwt signing keys: rpc error: code = Internal"},
	} {
		signer.Change(func(s *signertest.Says) { s.Raw = map[string][]byte{"FetchKeys": c.answer} })
		if _, err := begin(t, signer, nil); err == nil || !strings.Contains(err.Error(), outer+c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if keys := s.Keys(t.Context(), "two"); keys != nil {
			t.Errorf("%s: %v", name, keys)
		}
	}
	if keys := s.Keys(t.Context(), "one"); len(keys) != 1 {
		t.Errorf("the keys of before: %v", keys)
	}
	says.Hint = 1 << 62
	signer.Change(func(s *signertest.Says) { *s = says })
	if far := start(t, signer); far.Age() < 1<<31 {
		t.Errorf("age %d", far.Age())
	}
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func varint(n uint64) (text []byte) {
	for ; n >= 128; n >>= 7 {
		text = append(text, byte(n)|128)
	}
	return append(text, byte(n))
}

// FuzzAnswers: no answer of a signer panics, and keys that are accepted have names.
func FuzzAnswers(f *testing.F) {
	signer := signertest.New(f, "v1")
	var says signertest.Says
	signer.Change(func(s *signertest.Says) { says = *s })
	f.Add(says.FetchKeys())
	f.Add(says.Sign(nil))
	f.Add([]byte("\x08\x80\x05"))
	f.Add([]byte("\x12\x02\x08\x01\x18\x01\x0a\x06\x0a\x01a\x12\x01x"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		if texts, err := readKeys(answer); err == nil {
			if set, err := texts.check(); err == nil {
				for _, k := range set.keys {
					if k.ID == "" || len(k.ID) > mostKeyID || k.Key == nil || set.next <= 0 || set.next > mostSeconds*time.Second {
						t.Errorf("%+v", set)
					}
				}
			}
		}
		if seconds, err := readMetadata(answer); err != nil && seconds != 0 {
			t.Errorf("%d, %v", seconds, err)
		}
		if header, _, err := readSignature(answer); err == nil {
			if key, err := checkHeader(header); err == nil && (key == "" || len(key) > mostKeyID) {
				t.Errorf("the key %q of %q", key, header)
			}
		}
	})
}
