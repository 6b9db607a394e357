package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Indexed reports whether the header index has the resource with a prefix.
func (s *Server) Indexed(prefix string) bool {
	_, ok := s.headers.View(context.Background(), prefix)
	return ok
}

// LookAfter runs the server's periodic work.
func (s *Server) LookAfter(ctx context.Context) error {
	return errors.Join(s.controllers.CreateNamespaces(ctx), s.controllers.KeepOwnService(ctx), s.controllers.ReconcileFlowControl(ctx), s.controllers.KeepExtensionConfig(ctx), s.controllers.RepairServices(ctx), s.controllers.KeepAPIServices(ctx))
}

// Forge changes a stored service as no request could.
func (s *Server) Forge(ctx context.Context, namespace, name string, change func(spec document.Value)) error {
	_, err := s.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: s.services.Row, Namespace: namespace, Name: name}, Steps: objects.DirectSteps, Change: objects.Editing(func(obj document.Value) error {
		change(obj.Get("spec"))
		return nil
	})})
	return err
}

// Serve makes the server serve other groups than those of the documents.
func (c *Config) Serve(groups func(policy.Policy) []*api.GroupVersion) {
	c.groups = groups
}

// Migrate runs a migration while requests are served; nil when nothing is old.
func (s *Server) Migrate(ctx context.Context, report func(operate.Step)) error {
	kinds := stored.Kinds{}
	s.shown.Kinds().Scan(func(prefix string, kind *stored.Kind) bool {
		kinds[prefix] = kind
		return true
	})
	if len(kinds) == 0 {
		return errors.New("no object is old")
	}
	return operate.Migrate(ctx, s.shown.Store, "", func() stored.Kinds { return kinds }, report)
}

// StoredBody is the stored form of an object.
func (s *Server) StoredBody(ctx context.Context, key string) ([]byte, error) {
	below := s.store
	if c, ok := below.(*stored.CurrentStore); ok {
		below = c.Store
	}
	e, err := below.Get(ctx, key)
	return e.Body, err
}

// ShowsOld reports whether reads of the newest state go through CurrentStore.
func (s *Server) ShowsOld() bool {
	return s.shown.Kinds().Old(stored.Newest)
}

// Migrate is MigrateStore on an open store.
func Migrate(ctx context.Context, s store.Store, report func(operate.Step)) error {
	kinds := stored.NewKinds(catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta()).Snapshot())
	if _, _, err := stored.NoteVersions(ctx, s, kinds); err != nil {
		return err
	}
	return operate.Migrate(ctx, s, "", func() stored.Kinds { return kinds }, report)
}

// Durations are the times without a flag.
type Durations = durations

// Shorten changes some of them.
func (c *Config) Shorten(change func(*Durations)) {
	setDefault(&c.durations, productionDurations)
	change(&c.durations)
}

// NewPool makes a pool and returns a function that takes from it; admin is an
// administrator.
func NewPool(most int64) func(user string, size int64) (leave func(), ok bool) {
	p := &request.Pool{}
	p.Set(most)
	return func(user string, size int64) (func(), bool) {
		u := &authn.User{Name: user}
		if user == "admin" {
			u.Groups = []string{authn.GroupMasters}
		}
		var at request.Slot
		err := p.Take(&at, u, size)
		return at.Leave, err == nil
	}
}

// Ask sends a request to the server without a connection.
func (s *Server) Ask(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	return w
}

// Put adds resources, all versions of a type, to the catalog.
func (s *Server) Put(versions ...*api.Resource) { s.catalog.Put(versions...) }

// Remove removes a resource type from the catalog.
func (s *Server) Remove(group, plural string) { s.catalog.Remove(group, plural) }

// Row finds a resource of the catalog.
func (s *Server) Row(apiVersion, kind string) *api.Resource {
	return s.catalog.Snapshot().Kind(apiVersion, kind).Resource
}

// WrapStore puts a store between the server and its engine.
func (c *Config) WrapStore(wrap func(store.Store) store.Store) { c.wrapStore = wrap }

// Onlooker observes the calls of admission; an error of a function refuses the write. Its
// Waits counts like a plug-in's.
type Onlooker struct {
	Admitting, Checking func(r *admission.Request) error
	Waiting             func(o admission.Operation, resource *api.Resource, subresource string) bool
}

type lookedOn struct {
	objects.Admitter
	by Onlooker
}

func (l lookedOn) Admit(ctx context.Context, r *admission.Request) error {
	if l.by.Admitting != nil {
		if err := l.by.Admitting(r); err != nil {
			return err
		}
	}
	return l.Admitter.Admit(ctx, r)
}

func (l lookedOn) Check(ctx context.Context, r *admission.Request) error {
	if l.by.Checking != nil {
		if err := l.by.Checking(r); err != nil {
			return err
		}
	}
	return l.Admitter.Check(ctx, r)
}

func (l lookedOn) Waits(o admission.Operation, resource *api.Resource, subresource string) bool {
	return l.by.Waiting != nil && l.by.Waiting(o, resource, subresource) || l.Admitter.Waits(o, resource, subresource)
}

// LookOn adds an observer of admission.
func (c *Config) LookOn(by Onlooker) {
	c.wrapAdmission = func(a objects.Admitter) objects.Admitter { return lookedOn{a, by} }
}

// Computed is the processor time of this process.
func Computed() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Excuses reports whether an endpoint of health excuses steps of the start that are not done.
func (s *Server) Excuses(endpoint string) bool { return s.health.Excuses(endpoint) }

// RaceEnabled reports whether the race detector is on.
const RaceEnabled = raceEnabled

// ProvidedWithin writes a configmap into a missing namespace, and counts the evaluations
// that found no namespace when they began and had made one when they ended.
func (s *Server) ProvidedWithin(ctx context.Context, namespace string) (n int, err error) {
	row := s.catalog.Snapshot().Core("configmaps")
	create := objects.NewObject(nil, func() (*document.Document, error) {
		return s.objects.DecodeOwn(row, []byte(`{"metadata":{"name":"a"}}`))
	})
	_, err = s.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: row, Namespace: namespace}, Creates: true, Change: func(e *objects.Evaluation) (document.Value, error) {
		before := s.objects.NamespaceAccepts(ctx, row, namespace, "a")
		obj, err := create(e)
		if after := s.objects.NamespaceAccepts(ctx, row, namespace, "a"); before != nil && after == nil {
			n++
		}
		return obj, err
	}})
	return n, err
}

// MigrateCustom migrates the custom objects while requests are served, and calls meanwhile
// in the instant before the object at a key is rewritten.
func (s *Server) MigrateCustom(ctx context.Context, key string, meanwhile func(), report func(operate.Step)) error {
	return operate.Migrate(ctx, &interrupted{Store: s.shown.Store, key: key, meanwhile: meanwhile}, "", s.shown.Custom, report)
}

// interrupted is a store in which something happens once, before a transaction on a key.
type interrupted struct {
	store.Store
	key       string
	once      sync.Once
	meanwhile func()
}

// Update implements store.Store.
func (s *interrupted) Update(ctx context.Context, key string, fn func(current *store.Entry) (store.Write, error)) (store.Entry, error) {
	if key == s.key {
		s.once.Do(s.meanwhile)
	}
	return s.Store.Update(ctx, key, fn)
}

// Expire removes the object at a key, unless it was written after a revision.
func (s *Server) Expire(ctx context.Context, key string, since uint64) error {
	of := objects.Ref{Row: s.catalog.Snapshot().Type(key).Stored}
	of.Namespace, of.Name = of.Row.SplitKey(key)
	return s.objects.Expire(ctx, of, since)
}
