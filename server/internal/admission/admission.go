package admission

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
)

// Operation is the kind of a write.
type Operation uint8

// The operations that plug-ins handle.
const (
	Create Operation = iota + 1
	Update
	Delete
	Connect // to a process or server in the cluster; the object has the options of the connection
)

// Request is one object on its way.
//
// Invariant: Old is the object as it is stored, whatever the client sent; it is
// absent on create. Object is absent on delete. Plug-ins change Object in place and
// never Old.
type Request struct {
	Operation   Operation
	Resource    *api.Resource
	Subresource string // "" for the object itself
	Namespace   string
	User        *authn.User // nil for the server itself
	Object, Old document.Value
	Charge      Charge   // set by the check of quotas; nil for what they do not count
	Ranges      Ranges   // set by FillLimits, for CheckLimits; nil before
	Kept        []string // uids of owners that the server keeps in step with references; nil before validation

	// For webhooks.
	Asked     *api.Resource // Resource in the version of the request
	Name      string        // "" for one that the server makes up
	DryRun    bool
	Patched   bool // the write is a patch
	OtherKind bool // the objects are bodies of requests, or options of connections, rather than stored objects of the resource
	By        Author

	changed bool // by a mutator
	again   []round
}

// round is the second round of a plug-in.
type round struct {
	plugin string
	run    func(context.Context) error
}

// Author is the author of a write.
type Author interface {
	// Options are the options of the write, as an object in JSON.
	Options(r *Request) []byte
	// Warn sends a warning.
	Warn(text string)
	// Audited reports whether events about the write are recorded; with bodies: whether
	// they show its object.
	Audited(bodies bool) bool
	// Annotate adds an annotation to them. The first value of a key stays.
	Annotate(key, value string)
	// Undo names what gives back that which a plug-in has taken, should the attempt of the
	// write be abandoned. A refused write is not: it keeps what it has taken.
	Undo(giveBack func())
}

// Audited reports whether annotations of the write are recorded; with bodies: those that
// show its object.
func (r *Request) Audited(bodies bool) bool { return r.By != nil && r.By.Audited(bodies) }

// Annotate adds an annotation to the audit events about the write. One that costs
// something is made only if Audited.
func (r *Request) Annotate(key, value string) {
	if r.By != nil {
		r.By.Annotate(key, value)
	}
}

// undo has giveBack called if the attempt of the write is abandoned.
func (r *Request) undo(giveBack func()) {
	if r.By != nil {
		r.By.Undo(giveBack)
	}
}

// warn sends a warning to the author.
func (r *Request) warn(text string) {
	if r.By != nil {
		r.By.Warn(text)
	}
}

// Mutator changes the objects of writes.
type Mutator interface {
	// Admit changes the object, and reports whether it did. again, if it is not nil, is to
	// be called if something did, when the other plug-ins have seen the object again.
	Admit(ctx context.Context, r *Request) (changed bool, again func(context.Context) error, err error)
}

// Reviewer is the webhooks of the cluster, or its admission policies.
type Reviewer interface {
	// Waits reports whether one of them may be for such a write: no lock must be held.
	Waits(o Operation, resource *api.Resource, subresource string) bool
	Mutator
	// Check asks the validating ones.
	Check(ctx context.Context, r *Request) error
}

// is reports whether the write is to an object itself, of that type.
func (r *Request) is(group, plural string) bool {
	return r.Subresource == "" && r.Resource.Plural == plural && r.Resource.GV.Group == group
}

// OnlyCollected reports whether an update changes nothing but what the garbage collector
// does: owners and finalizers.
func (r *Request) OnlyCollected() bool {
	return r.Old.Exists() && sameBut(r.Object, r.Old, "metadata") &&
		sameBut(r.Object.Get("metadata"), r.Old.Get("metadata"), "ownerReferences", "finalizers", "managedFields", "selfLink", "resourceVersion")
}

// sameBut reports whether two objects have equal members, except for some.
func sameBut(a, b document.Value, except ...string) bool {
	within := func(a, b document.Value) bool {
		for name, v := range a.Members() {
			if slices.Contains(except, name) {
				continue
			}
			if other := b.Get(name); !other.Exists() || !document.Equal(v, other) {
				return false
			}
		}
		return true
	}
	return within(a, b) && within(b, a)
}

// none stands for missing webhooks, policies or quotas.
type none struct{}

func (none) Waits(Operation, *api.Resource, string) bool { return false }
func (none) Admit(context.Context, *Request) (bool, func(context.Context) error, error) {
	return false, nil, nil
}
func (none) Check(context.Context, *Request) error       { return nil }
func (none) FillLimits(context.Context, *Request) error  { return nil }
func (none) CheckLimits(context.Context, *Request) error { return nil }
func (none) Charge(context.Context, *Request) error      { return nil }

// Objects reads other objects for plug-ins.
type Objects interface {
	Rights
	// Get reads an object; it is valid until release is called, which is never nil.
	// Errors: a 404 *api.Error when it does not exist, also when the server does not have
	// the resource; the store's.
	Get(ctx context.Context, group, plural, namespace, name string) (obj document.Value, release func(), err error)
	// GetSoon is Get, but waits a little for an object that does not exist yet.
	GetSoon(ctx context.Context, group, plural, namespace, name string) (obj document.Value, release func(), err error)
	// Class returns the priority class with a name; for "" the default one of pods, of
	// several that with the least value. It is nil when there is none.
	Class(name string) *Class
	// Kind returns the resource of a kind; nil when it is not served.
	Kind(apiVersion, kind string) *api.Resource
	// Namespace returns the namespace with a name, nil when there is none.
	Namespace(name string) *Namespace
	// IngressClasses and StorageClasses are all classes, in the order of their names.
	IngressClasses() iter.Seq[*IngressClass]
	StorageClasses() iter.Seq[*StorageClass]
	// Each visits the objects of a kind in a namespace, "" for all, in the order of their
	// names, until visit returns false. The objects are valid during visit.
	Each(ctx context.Context, group, plural, namespace string, visit func(obj document.Value) bool) error
}

// Chain runs the enabled plug-ins in their order.
type Chain struct {
	Guard
	objects          Objects
	config           Config
	admitters, after step     // the enabled ones
	waiting          []plugin // those of them that may block
	events           []*eventLimiter
	images           *imageReviewer
}

// New returns the chain of the plug-ins that are on.
func New(objects Objects, config Config) *Chain {
	config.Webhooks, config.Policies, config.Quotas = cmp.Or[Reviewer](config.Webhooks, none{}), cmp.Or[Reviewer](config.Policies,
		none{}), cmp.Or[Quotas](config.Quotas, none{})
	c := &Chain{Guard: Guard{objects, config.gate(claimGate), config.RemoteRights}, objects: objects, config: config,
		events: newEventLimiters(config.Settings.Events), images: &imageReviewer{config.Settings.ImagePolicy, config.ImageWebhook, authn.NewCache[imageAnswer]()}}
	c.admitters.timing, c.after.timing = config.Timings.Timing("", "admit"), config.Timings.Timing("", "validate")
	rules := rules()
	for _, p := range plugins {
		p.rule = rules[p.name]
		if !config.on(&p) {
			continue
		}
		if p.admit != nil {
			c.admitters.add(p, config.Timings.Timing(p.name, "admit"))
		}
		if p.check != nil {
			c.after.add(p, config.Timings.Timing(p.name, "validate"))
		}
		if p.waits != nil {
			c.waiting = append(c.waiting, p)
		}
	}
	return c
}

// Waits reports whether a plug-in may block on such a write: no lock must be held then.
// The subresource is "" for the object itself.
func (c *Chain) Waits(o Operation, resource *api.Resource, subresource string) bool {
	if c.Guard.Waits(o, resource, subresource) {
		return true
	}
	for _, p := range c.waiting {
		if p.waits(c, o, resource, subresource) {
			return true
		}
	}
	return false
}

// Check runs the validating plug-ins, after validation. The first refusal decides.
func (c *Chain) Check(ctx context.Context, r *Request) (err error) {
	defer c.after.timing.Since(time.Now(), int(r.Operation), &err)
	if err := c.claimAuthor(ctx, r); err != nil {
		return err
	}
	return c.after.run(r, func(p *plugin) error { return p.check(c, ctx, r) })
}

// Admit runs the mutating plug-ins, before validation, and then checks the rights that
// the object would give. The first refusal decides.
func (c *Chain) Admit(ctx context.Context, r *Request) (err error) {
	defer c.admitters.timing.Since(time.Now(), int(r.Operation), &err)
	r.changed, r.again = false, nil
	if err := c.admitters.run(r, func(p *plugin) error { return p.admit(c, ctx, r) }); err != nil {
		return err
	}
	if r.changed {
		if err := c.secondRound(ctx, r); err != nil {
			return err
		}
	}
	return c.Guard.Admit(ctx, r)
}

// askValidating asks the validating webhooks.
func (c *Chain) askValidating(ctx context.Context, r *Request) error {
	return c.config.Webhooks.Check(ctx, r)
}

// askMutating asks the mutating webhooks.
func (c *Chain) askMutating(ctx context.Context, r *Request) error {
	return r.mutate(ctx, mutatingWebhook, c.config.Webhooks)
}

// applyMutating applies the mutating policies.
func (c *Chain) applyMutating(ctx context.Context, r *Request) error {
	return r.mutate(ctx, mutatingPolicy, c.config.Policies)
}

func (r *Request) mutate(ctx context.Context, plugin string, m Mutator) error {
	changed, again, err := m.Admit(ctx, r)
	r.changed = r.changed || changed
	if again != nil {
		r.again = append(r.again, round{plugin, again})
	}
	return err
}

// secondRound shows the plug-ins an object once more that a mutator has changed.
func (c *Chain) secondRound(ctx context.Context, r *Request) error {
	return c.admitters.run(r, func(p *plugin) error {
		if p.name != mutatingWebhook && p.name != mutatingPolicy {
			return p.admit(c, ctx, r)
		}
		for _, again := range r.again {
			if again.plugin == p.name {
				return again.run(ctx)
			}
		}
		return nil
	})
}

// checkPolicies applies the validating policies.
func (c *Chain) checkPolicies(ctx context.Context, r *Request) error {
	return c.config.Policies.Check(ctx, r)
}

func (c *Chain) awaitsPolicies(o Operation, resource *api.Resource, subresource string) bool {
	return c.config.Policies.Waits(o, resource, subresource)
}

func (c *Chain) awaitsWebhooks(o Operation, resource *api.Resource, subresource string) bool {
	return c.config.Webhooks.Waits(o, resource, subresource)
}
