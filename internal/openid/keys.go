package openid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/ranks"
)

// keys are the public keys of an issuer. They are read again for a token that none of them
// has signed, since the issuer may have changed them. Anybody can write such tokens, so:
//
//	a key that the issuer did not have when its keys were read is not looked for until
//	absentLife has passed (the ids of such keys are forgotten when they are many), and
//	reads come at most readsAtOnce at once, and then one each readPause.
//
// keys implement oidc.KeySet.
type keys struct {
	url        string
	client     *http.Client
	clock      func() time.Time
	algorithms []jose.SignatureAlgorithm
	absent     *authn.Cache[time.Time] // until when a key counts as absent, by its id

	mu    ranks.Mutex[ranks.Leaf]
	have  []jose.JSONWebKey // of the last successful read
	spent time.Time         // readsAtOnce are left when this time has passed
	read  *reading          // under way; nil for none
}

// reading is a read of the keys, for all that wait for it.
type reading struct {
	done chan struct{} // closed at the end, when err is there
	err  error
}

const (
	absentLife  = 10 * time.Second
	readsAtOnce = 4
	readPause   = 5 * time.Second
)

func newKeys(url string, client *http.Client, clock func() time.Time, algorithms []string) *keys {
	k := &keys{url: url, client: client, clock: clock, absent: authn.NewCache[time.Time]()}
	for _, name := range algorithms {
		k.algorithms = append(k.algorithms, jose.SignatureAlgorithm(name))
	}
	return k
}

// VerifySignature implements oidc.KeySet.
func (k *keys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, k.algorithms)
	if err != nil {
		return nil, fmt.Errorf("its signature cannot be read: %w", err)
	}
	id := signed.Signatures[0].Header.KeyID
	payload, known := k.verify(signed, id)
	if payload != nil {
		return payload, nil
	}
	if until, ok := k.absent.Get(id); !known && ok && k.clock().Before(until) {
		return nil, errNoKey
	}
	if err := k.renew(ctx); err != nil {
		return nil, err
	}
	if payload, known = k.verify(signed, id); payload != nil {
		return payload, nil
	}
	if known {
		return nil, errors.New("its signature is not that of the issuer's key")
	}
	k.absent.Put(id, k.clock().Add(absentLife))
	return nil, errNoKey
}

var (
	errNoKey    = errors.New("the issuer has no key that signed it")
	errTooOften = errors.New("no known key of the issuer signed it, and the keys were read too often to read them again now")
)

// verify returns the payload of a token that one of the known keys has signed, else nil, and
// whether there is a key of this id. A token without an id may have any key.
func (k *keys) verify(signed *jose.JSONWebSignature, id string) (payload []byte, known bool) {
	k.mu.Lock()
	have := k.have
	k.mu.Unlock()
	for i := range have {
		if id != "" && have[i].KeyID != id {
			continue
		}
		known = true
		if payload, err := signed.Verify(&have[i]); err == nil {
			return payload, true
		}
	}
	return nil, known
}

// renew reads the keys again. The read goes on when ctx ends, for others that wait for it.
func (k *keys) renew(ctx context.Context) error {
	k.mu.Lock()
	r := k.read
	if r == nil {
		if !k.mayRead() {
			k.mu.Unlock()
			return errTooOften
		}
		r = &reading{done: make(chan struct{})}
		k.read = r
		go k.finish(r)
	}
	k.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// mayRead takes one of the reads that are left. It is called with the lock.
func (k *keys) mayRead() bool {
	now := k.clock()
	if k.spent.Before(now) {
		k.spent = now
	}
	if k.spent.Sub(now) > (readsAtOnce-1)*readPause {
		return false
	}
	k.spent = k.spent.Add(readPause)
	return true
}

func (k *keys) finish(r *reading) {
	defer close(r.done)
	have, err := k.fetch()
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.err, k.read = err, nil; err == nil {
		k.have = have
	}
}

// fetch reads the keys. Those of kinds that are not known are left out.
func (k *keys) fetch() (all []jose.JSONWebKey, err error) {
	asked, err := http.NewRequest(http.MethodGet, k.url, nil)
	if err != nil {
		return nil, err
	}
	asked.Header.Set("Cache-Control", "no-cache")
	answer, err := k.client.Do(asked)
	if err != nil {
		return nil, fmt.Errorf("the issuer's keys cannot be read: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the issuer's keys cannot be read: %s answers %s", k.url, answer.Status)
	}
	var set struct{ Keys []json.RawMessage }
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, &set)
	}
	if err != nil {
		return nil, fmt.Errorf("the issuer's keys cannot be read: %s: %w", k.url, err)
	}
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if err := json.Unmarshal(text, &key); err == nil {
			all = append(all, key)
		}
	}
	return all, nil
}
