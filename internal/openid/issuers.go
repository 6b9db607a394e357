package openid

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capstan-dev/capstan/internal/authn"
)

// FileConfig describes a file of issuers.
type FileConfig struct {
	Path string
	// Since reports whether the release of the built-in kinds is a named one or a later one.
	Since func(release string) bool
	// AnonymousPaths says that the file may name paths for requests without credentials.
	AnonymousPaths bool
	// Own are the issuers of service accounts, which the file cannot name.
	Own    []string
	Logger *slog.Logger
	Clock  func() time.Time
	Retry  time.Duration // between attempts of discovery
	Wait   time.Duration // for which a changed file waits for the discovery of its issuers
}

// Issuers authenticates users by the ID tokens of the issuers that a file names at the time.
//
// Invariant: current is replaced as a whole, by issuers of a file without a mistake that have been discovered. An issuer that a changed
// file has as before goes on.
type Issuers struct {
	cfg       FileConfig
	compile   *compiler
	anonymous *Anonymous // of the start
	current   atomic.Pointer[[]*Authenticator]
}

// OpenFile begins to look for the issuers of a text of the file. Errors have the path.
func OpenFile(cfg FileConfig, text []byte) (*Issuers, error) {
	compile, err := newCompiler()
	if err != nil {
		return nil, err
	}
	i := &Issuers{cfg: cfg, compile: compile}
	mappers, anonymous, err := i.parse(text)
	if err != nil {
		return nil, err
	}
	i.anonymous = anonymous
	all := make([]*Authenticator, len(mappers))
	for n, m := range mappers {
		all[n] = i.open(m)
	}
	i.current.Store(&all)
	return i, nil
}

// parse reads a text, and returns what makes the users of each issuer.
func (i *Issuers) parse(text []byte) ([]*mapper, *Anonymous, error) {
	c, err := read(i.cfg.Path, text, i.cfg.Since)
	if err != nil {
		return nil, nil, err
	}
	k := &checker{compile: i.compile, own: slices.Sorted(slices.Values(i.cfg.Own)), credentials: i.cfg.Since("1.32")}
	mappers := k.all(&c, i.cfg.AnonymousPaths)
	if i.current.Load() != nil && !reflect.DeepEqual(i.anonymous, c.Anonymous) {
		k.add(field.Forbidden(field.NewPath("anonymous"), "changed from initial configuration file"))
	}
	if len(k.wrong) > 0 {
		return nil, nil, fmt.Errorf("%s: %w", i.cfg.Path, k.wrong.ToAggregate())
	}
	return mappers, c.Anonymous, nil
}

func (i *Issuers) open(m *mapper) *Authenticator {
	return open(Config{Logger: i.cfg.Logger, Clock: i.cfg.Clock, Retry: i.cfg.Retry}, m)
}

// Reload puts another text of the file to use, unless there is a mistake in it, or one of its issuers is not found in time.
func (i *Issuers) Reload(text []byte) error {
	mappers, _, err := i.parse(text)
	if err != nil {
		return err
	}
	before := *i.current.Load()
	all := make([]*Authenticator, len(mappers))
	var made []*Authenticator
	for n, m := range mappers {
		same := slices.IndexFunc(before, func(a *Authenticator) bool { return reflect.DeepEqual(a.of.entry, m.entry) })
		if same >= 0 {
			all[n] = before[same]
			continue
		}
		all[n] = i.open(m)
		made = append(made, all[n])
	}
	late := time.After(i.cfg.Wait)
	for _, a := range made {
		select {
		case <-a.ready:
		case <-late:
			for _, a := range made {
				a.Close()
			}
			return fmt.Errorf("%s: the issuer %s is not discovered within %v", i.cfg.Path, a.of.entry.Issuer.URL, i.cfg.Wait)
		}
	}
	i.current.Store(&all)
	for _, a := range before {
		if !slices.Contains(all, a) {
			a.Close()
		}
	}
	return nil
}

// Anonymous is the part of the file about requests without credentials; nil for none.
func (i *Issuers) Anonymous() *Anonymous { return i.anonymous }

// Close ends the search for issuers.
func (i *Issuers) Close() {
	for _, a := range *i.current.Load() {
		a.Close()
	}
}

// AuthenticateToken implements authn.TokenAuthenticator. Tokens of other issuers are not known.
func (i *Issuers) AuthenticateToken(ctx context.Context, token string) (*authn.Identity, error) {
	issuer := issuerOf(token)
	for _, a := range *i.current.Load() {
		if a.of.entry.Issuer.URL == issuer {
			return a.AuthenticateToken(ctx, token)
		}
	}
	return nil, nil
}
