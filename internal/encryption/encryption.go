package encryption

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/store"
)

// provider encrypts with one key, or with keys that a service guards.
type provider interface {
	// id names the provider in records: "aesgcm:v1:key1".
	id() string
	// sealer may wait, the function may not.
	sealer() (store.Seal, error)
	open(bound, sealed []byte) ([]byte, error)
	// fresh reports whether a record of the provider would be encrypted the same today.
	fresh(sealed []byte) bool
	// sealValue and openValue are for values in etcd, which lie at a place. They may wait.
	sealValue(dst []byte, place string, plain []byte) ([]byte, error)
	openValue(place string, sealed []byte) (plain []byte, stale bool, err error)
}

// set is the providers of some resources. The first encrypts, all decrypt; nil is
// identity, for plain values.
type set struct {
	resources []string // "secrets", "deployments.apps", "*.apps", "*." and "*.*"
	providers []provider
}

// configuration is the content of a file. It never changes.
type configuration struct {
	sets     []set
	services []*service
}

// Cipher encrypts by the configuration in a file, as it was when it was last read. It
// implements store.Cipher.
type Cipher struct {
	path string
	// resource splits a key of the store; ok is false for keys that are not of objects.
	resource   func(key string) (group, plural string, ok bool)
	now        atomic.Pointer[configuration]
	generation atomic.Uint64
}

// Reload reads the file again and puts its content to use. With a mistake in it, or a new
// key management service that does not work, nothing changes.
func (c *Cipher) Reload() error {
	next, err := c.read()
	if err != nil {
		return err
	}
	before := c.now.Load()
	for _, s := range next.services {
		if slices.Contains(before.services, s) {
			continue
		}
		if err := s.healthy(); err != nil {
			next.close(before.services)
			return fmt.Errorf("%s: %w", s.id(), err)
		}
	}
	c.now.Store(next)
	c.generation.Add(1)
	before.close(next.services)
	return nil
}

// close closes the connections to services, without those that others use.
func (c *configuration) close(others []*service) {
	for _, s := range c.services {
		if !slices.Contains(others, s) {
			s.calls.Close()
		}
	}
}

// Generation implements store.Cipher.
func (c *Cipher) Generation() uint64 { return c.generation.Load() }

// of is the first set with the resource of a key, nil for none.
func (c *Cipher) of(key string) (in *set, resource string) {
	group, plural, ok := c.resource(key)
	if !ok {
		return nil, key
	}
	resource = strings.TrimSuffix(plural+"."+group, ".")
	sets := c.now.Load().sets
	for i := range sets {
		if slices.ContainsFunc(sets[i].resources, func(name string) bool {
			return name == resource || name == "*.*" || name == "*."+group
		}) {
			return &sets[i], resource
		}
	}
	return nil, resource
}

// Sealer implements store.Cipher.
func (c *Cipher) Sealer(key string) (store.Seal, error) {
	in, resource := c.of(key)
	if in == nil || in.providers[0] == nil {
		return nil, nil
	}
	p := in.providers[0]
	seal, err := p.sealer()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", resource, p.id(), err)
	}
	id := p.id()
	return func(dst, bound, plain []byte) []byte {
		dst = binary.AppendUvarint(dst, uint64(len(id)))
		return seal(append(dst, id...), bound, plain)
	}, nil
}

// split reads the provider of a record.
func split(sealed []byte) (id string, rest []byte, err error) {
	n, size := binary.Uvarint(sealed)
	if size <= 0 || n > uint64(len(sealed)-size) {
		return "", nil, errDamaged
	}
	end := size + int(n)
	return string(sealed[size:end]), sealed[end:], nil
}

var (
	errDamaged = errors.New("the record is damaged")
	// errWrongKey is also the error of a record that is not at the place where it was
	// written.
	errWrongKey = errors.New("it cannot be decrypted: it has another key of that name, or was changed or moved")
)

// find is the provider of a record under a key.
func (c *Cipher) find(key string, sealed []byte) (p provider, rest []byte, err error) {
	in, resource := c.of(key)
	id, rest, err := split(sealed)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", resource, err)
	}
	if in != nil {
		for _, p := range in.providers {
			if p != nil && p.id() == id {
				return p, rest, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("%s: it was encrypted with %q, which the encryption configuration does not have for %s", resource, id, resource)
}

// Open implements store.Cipher.
func (c *Cipher) Open(key string, bound, sealed []byte) ([]byte, error) {
	p, rest, err := c.find(key, sealed)
	if err != nil {
		return nil, err
	}
	plain, err := p.open(bound, rest)
	if err != nil {
		_, resource := c.of(key)
		return nil, fmt.Errorf("%s: %s: %w", resource, p.id(), err)
	}
	return plain, nil
}

// Fresh implements store.Cipher.
func (c *Cipher) Fresh(key string, sealed []byte) (bool, error) {
	in, resource := c.of(key)
	if in == nil {
		return sealed == nil, nil
	}
	if sealed == nil {
		if !slices.Contains(in.providers, nil) {
			return false, fmt.Errorf("%s: it is not encrypted, and the encryption configuration does not have the provider identity for %s", resource, resource)
		}
		return in.providers[0] == nil, nil
	}
	if in.providers[0] == nil {
		return false, nil
	}
	id, rest, err := split(sealed)
	return err == nil && id == in.providers[0].id() && in.providers[0].fresh(rest), err
}

// Form is a text that differs when values would be encrypted in another way.
func (c *Cipher) Form() string {
	if c == nil {
		return ""
	}
	var all []string
	for _, in := range c.now.Load().sets {
		id := "identity"
		if p := in.providers[0]; p != nil {
			id = p.id()
		}
		all = append(all, strings.Join(in.resources, ",")+" "+id)
	}
	return strings.Join(all, ";")
}

// Checks are the health checks of the key management services, in the order of the
// configuration.
func (c *Cipher) Checks() []func() error {
	var all []func() error
	if c != nil {
		for _, s := range c.now.Load().services {
			all = append(all, s.healthy)
		}
	}
	return all
}

// Close closes the connections to services.
func (c *Cipher) Close() {
	if c != nil {
		c.now.Load().close(nil)
	}
}
