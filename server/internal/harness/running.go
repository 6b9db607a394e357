// Package harness starts servers for the tests of this module, sends requests to them, and has the
// kinds, clients and other servers that tests of several rooms need.
package harness

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/operate"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/seams"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// Running is a server, and the rooms in it.
type Running struct {
	*server.Server
	seams.Rooms
}

// Launch starts a server as server.Start does.
func Launch(ctx context.Context, cfg server.Config) (*Running, error) {
	var r Running
	cfg.Seams.Opened = func(rooms seams.Rooms) { r.Rooms = rooms }
	s, err := server.Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	r.Server = s
	return &r, nil
}

// Indexed reports whether the header index has the resource with a prefix.
func (s *Running) Indexed(prefix string) bool {
	_, ok := s.Headers.View(context.Background(), prefix)
	return ok
}

// LookAfter runs the server's periodic work.
func (s *Running) LookAfter(ctx context.Context) error {
	return errors.Join(s.Controllers.CreateNamespaces(ctx), s.Controllers.KeepServiceRanges(ctx), s.Controllers.KeepOwnService(ctx),
		s.Controllers.ReconcileFlowControl(ctx), s.Controllers.KeepExtensionConfig(ctx), s.Controllers.RepairServices(ctx), s.Controllers.KeepAPIServices(ctx))
}

// Forge changes a stored service as no request could.
func (s *Running) Forge(ctx context.Context, namespace, name string, change func(spec document.Value)) error {
	_, err := s.Objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: s.Services.Row, Namespace: namespace, Name: name}, Steps: objects.DirectSteps,
		Change: objects.Editing(func(obj document.Value) error {
			change(obj.Get("spec"))
			return nil
		})})
	return err
}

// Serve makes a server serve other groups than those of the documents.
func Serve(c *server.Config, groups func(policy.Policy) []*api.GroupVersion) {
	c.Seams.Groups = groups
}

// Migrate runs a migration while requests are served; nil when nothing is old.
func (s *Running) Migrate(ctx context.Context, report func(operate.Step)) error {
	kinds := stored.Kinds{}
	s.Shown.Kinds().Scan(func(prefix string, kind *stored.Kind) bool {
		kinds[prefix] = kind
		return true
	})
	if len(kinds) == 0 {
		return errors.New("no object is old")
	}
	return operate.Migrate(ctx, s.Shown.Store, "", func() stored.Kinds { return kinds }, report)
}

// StoredBody is the stored form of an object.
func (s *Running) StoredBody(ctx context.Context, key string) ([]byte, error) {
	below := s.Rooms.Store
	if c, ok := below.(*stored.CurrentStore); ok {
		below = c.Store
	}
	e, err := below.Get(ctx, key)
	return e.Body, err
}

// ShowsOld reports whether reads of the newest state go through CurrentStore.
func (s *Running) ShowsOld() bool {
	return s.Shown.Kinds().Old(stored.Newest)
}

// Migrate is MigrateStore on an open store.
func Migrate(ctx context.Context, s store.Store, report func(operate.Step)) error {
	kinds := stored.NewKinds(catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta()).Snapshot())
	if _, _, err := stored.NoteVersions(ctx, s, kinds); err != nil {
		return err
	}
	return operate.Migrate(ctx, s, "", func() stored.Kinds { return kinds }, report)
}

// Shorten changes the times without a flag.
func Shorten(c *server.Config, change func(*seams.Durations)) {
	if c.Seams.Durations == (seams.Durations{}) {
		c.Seams.Durations = seams.Production
	}
	change(&c.Seams.Durations)
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
func (s *Running) Ask(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler.ServeHTTP(w, r)
	return w
}

// Put adds resources, all versions of a type, to the catalog.
func (s *Running) Put(versions ...*api.Resource) { s.Catalog.Put(versions...) }

// Remove removes a resource type from the catalog.
func (s *Running) Remove(group, plural string) { s.Catalog.Remove(group, plural) }

// Row finds a resource of the catalog.
func (s *Running) Row(apiVersion, kind string) *api.Resource {
	return s.Catalog.Snapshot().Kind(apiVersion, kind).Resource
}

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

// Admit implements objects.Admitter.
func (l lookedOn) Admit(ctx context.Context, r *admission.Request) error {
	if l.by.Admitting != nil {
		if err := l.by.Admitting(r); err != nil {
			return err
		}
	}
	return l.Admitter.Admit(ctx, r)
}

// Check implements objects.Admitter.
func (l lookedOn) Check(ctx context.Context, r *admission.Request) error {
	if l.by.Checking != nil {
		if err := l.by.Checking(r); err != nil {
			return err
		}
	}
	return l.Admitter.Check(ctx, r)
}

// Waits implements objects.Admitter.
func (l lookedOn) Waits(o admission.Operation, resource *api.Resource, subresource string) bool {
	return l.by.Waiting != nil && l.by.Waiting(o, resource, subresource) || l.Admitter.Waits(o, resource, subresource)
}

// LookOn adds an observer of admission.
func LookOn(c *server.Config, by Onlooker) {
	c.Seams.WrapAdmission = func(a objects.Admitter) objects.Admitter { return lookedOn{a, by} }
}

// Excuses reports whether an endpoint of health excuses steps of the start that are not done.
func (s *Running) Excuses(endpoint string) bool { return s.Health.Excuses(endpoint) }

// ProvidedWithin writes a configmap into a missing namespace, and counts the evaluations
// that found no namespace when they began and had made one when they ended.
func (s *Running) ProvidedWithin(ctx context.Context, namespace string) (n int, err error) {
	row := s.Catalog.Snapshot().Core("configmaps")
	create := objects.NewObject(nil, func() (*document.Document, error) {
		return s.Objects.DecodeOwn(row, []byte(`{"metadata":{"name":"a"}}`))
	})
	to := objects.Ref{Row: row, Namespace: namespace}
	_, err = s.Objects.Write(ctx, &objects.Write{Ref: to, Creates: true, Change: func(e *objects.Evaluation) (document.Value, error) {
		before := s.Objects.NamespaceAccepts(ctx, row, namespace, "a")
		obj, err := create(e)
		if after := s.Objects.NamespaceAccepts(ctx, row, namespace, "a"); before != nil && after == nil {
			n++
		}
		return obj, err
	}})
	return n, err
}

// MigrateCustom migrates the custom objects while requests are served, and calls meanwhile
// in the instant before the object at a key is rewritten.
func (s *Running) MigrateCustom(ctx context.Context, key string, meanwhile func(), report func(operate.Step)) error {
	return operate.Migrate(ctx, &interrupted{Store: s.Shown.Store, key: key, meanwhile: meanwhile}, "", s.Shown.Custom, report)
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
func (s *Running) Expire(ctx context.Context, key string, since uint64) error {
	of := objects.Ref{Row: s.Catalog.Snapshot().Type(key).Stored}
	of.Namespace, of.Name = of.Row.SplitKey(key)
	return s.Objects.Expire(ctx, of, since)
}
