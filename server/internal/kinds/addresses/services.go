package addresses

import (
	"context"
	"log/slog"
	"net/netip"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// Services assigns services their addresses and node ports.
//
// Invariant: an item is claimed before the transaction that writes it, and the claim ends
// after the transaction (settle); the collection shows its service before the write is
// acknowledged. See allocate.Allocator for the consequences. Claims hold in one process,
// the only one that writes the store.
type Services struct {
	*live.Collection[*[]allocate.Item] // the items of each service
	Row                                *catalog.Row
	named                              *named // nil where addresses have no objects
	all                                *allocate.Allocator
	log                                *slog.Logger

	seen map[allocate.Conflict]int // number of repairs that found it; used by them only
}

// Open reads the items of the stored services, and follows them. With kinds, the objects of addresses and their ranges
// too; nil for none. figures count allocations, nil for none.
func Open(ctx context.Context, cfg *Config, res *catalog.Row, kinds *Kinds, figures allocate.Figures, s store.Store, log *slog.Logger) (*Services, error) {
	v := &Services{Row: res, log: log}
	var err error
	if v.all, err = newAllocator(cfg, res.Prefix(""), figures); err != nil {
		return nil, err
	}
	if kinds != nil {
		if v.named, err = openNamed(ctx, kinds, cfg, v.all, s, log); err != nil {
			return nil, err
		}
	}
	v.Collection, err = live.Open(ctx, live.Config[*[]allocate.Item]{Store: s, Prefixes: []string{res.Prefix("")}, Decode: serviceItems, Logger: v.log})
	if err != nil {
		v.named.close()
		return nil, err
	}
	live.Derive(v.Collection, v.follow)
	return v, nil
}

// Uses are those of the ranges.
func (v *Services) Uses() []allocate.Use { return v.all.Uses() }

// Close ends following.
func (v *Services) Close() {
	v.Collection.Close()
	v.named.close()
}

// newAllocator makes the allocator of the configured ranges. The keys of services begin with a
// prefix.
func newAllocator(cfg *Config, services string, figures allocate.Figures) (*allocate.Allocator, error) {
	ranges, err := Ranges(cfg.ServiceClusterIPRange)
	if err != nil {
		return nil, err
	}
	first, last, err := PortRange(cfg.ServiceNodePortRange)
	if err != nil {
		return nil, err
	}
	return allocate.New(allocate.Config{Addresses: ranges, FirstPort: first, LastPort: last, Figures: figures,
		Reserved: map[allocate.Item]string{{Address: allocate.First(ranges[0])}: services + "default/" + OwnService}}), nil
}

// follow passes changes of services to the allocator, which guards itself.
func (v *Services) follow(_ *allocate.Allocator, changes []live.Change[*[]allocate.Item]) *allocate.Allocator {
	items := func(of *[]allocate.Item) []allocate.Item {
		if of == nil {
			return nil
		}
		return *of
	}
	for _, c := range changes {
		v.complain(v.all.Changed(c.Key, items(c.Before), items(c.After)))
	}
	return v.all
}

func (v *Services) complain(conflicts []allocate.Conflict) {
	for _, c := range conflicts {
		v.log.Error("a service has what it should not have; recreate it", "what", c.String())
	}
}

// serviceItems are the items of a stored service.
func serviceItems(e *store.Entry) (*[]allocate.Item, error) {
	text, ok := document.Find(e.Body, "spec")
	if !ok {
		return &[]allocate.Item{}, nil
	}
	doc, err := document.DecodeAny(text, document.Limits{})
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	spec := doc.Root()
	var items []allocate.Item
	for _, a := range addressesOf(spec) {
		items = append(items, allocate.Item{Address: a})
	}
	if !ownsPorts(spec) {
		return &items, nil
	}
	for _, port := range spec.Get("ports").Elements() {
		if n, _ := port.Get("nodePort").Int(); n > 0 {
			items = append(items, allocate.Item{Port: int(n)})
		}
	}
	if n, _ := spec.Get("healthCheckNodePort").Int(); n > 0 {
		items = append(items, allocate.Item{Port: int(n)})
	}
	return &items, nil
}

// addressesOf are the addresses of a service with a spec.
func addressesOf(spec document.Value) (all []netip.Addr) {
	if spec.Get("type").Equals("ExternalName") {
		return nil
	}
	for _, ip := range spec.Get("clusterIPs").Elements() {
		if a, err := netip.ParseAddr(ip.Text()); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// Claim allocates the addresses and ports of a service before it is written, and fills
// them in. old is the service that it replaces, absent on create. settle ends the claim;
// it is nil for other objects. Errors: 422, or 500 when a range is exhausted.
func (v *Services) Claim(of *catalog.Row, obj, old document.Value, dryRun bool) (*allocate.Claim, error) {
	if v == nil || of != v.Row {
		return nil, nil
	}
	meta := obj.Get("metadata")
	name := meta.Get("name").Text()
	a := assignment{claim: v.all.Begin(dryRun), owner: of.Key(meta.Get("namespace").Text(), name), families: v.all.Families(), rules: &of.GV.Validation,
		spec: obj.Get("spec"), before: old.Get("spec"), named: v.named, dryRun: dryRun}
	err := a.run()
	if len(a.causes) > 0 {
		err = api.Invalid("", "Service", name, a.causes)
	}
	if err != nil {
		a.claim.Release()
		return nil, err
	}
	return a.claim, nil
}
