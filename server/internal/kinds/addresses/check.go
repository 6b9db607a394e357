package addresses

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// Finding is a disagreement between services and the objects of addresses.
type Finding struct {
	Remedy  Remedy
	Address netip.Addr
	Service string // the key of the service, which may have gone

	About           string // the key of the object that the event is about
	Reason, Message string // of the event; "" for none
}

// Remedy is the end of a disagreement.
type Remedy uint8

// The remedies.
const (
	Report  Remedy = iota // there is none: the operator has to choose
	Make                  // the object of the address
	Replace               // the object by one that belongs to the service
	Remove                // the object
)

// The times in which the object of an address may be there without its service, since a kube-apiserver writes
// it first, and takes it back when the service is refused.
const (
	serviceComes = 60 * time.Second
	addressGoes  = 5 * time.Second
)

// check is one comparison of all services with all objects of addresses.
type check struct {
	v        *Services
	reader   store.Reader
	now      time.Time
	services map[string][]allocate.Item
	ranges   []netip.Prefix
	objects  map[netip.Addr]object
	found    []Finding
}

// object is the object of an address.
type object struct {
	parent
	manager, family string // by its labels
	created         time.Time
}

// Check compares the services with the objects of addresses and their ranges. The services are those of the collection, which
// is a little older than the reader: remedies look again.
func (v *Services) Check(ctx context.Context, s store.Snapshots, now time.Time) ([]Finding, error) {
	c := &check{v: v, now: now, services: map[string][]allocate.Item{}, objects: map[netip.Addr]object{}}
	for key, items := range v.View().Under("") {
		c.services[key] = *items
	}
	var err error
	if c.reader, err = s.At(ctx, 0); err != nil {
		return nil, err
	}
	defer func() { _ = c.reader.Close() }()
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	for _, key := range slices.Sorted(maps.Keys(c.services)) {
		for _, item := range c.services[key] {
			if item.Port == 0 {
				c.service(key, item.Address)
			}
		}
	}
	for a, o := range c.objects {
		if o.manager == manager {
			if err := c.object(a, o); err != nil {
				return nil, err
			}
		}
	}
	return c.found, nil
}

// read reads the ranges and the objects of addresses.
func (c *check) read(ctx context.Context) error {
	unreadable := func(*store.UnreadableError) {}
	err := store.ScanReadable(ctx, c.reader, c.v.RangeRow().Prefix(""), func(e *store.Entry) bool {
		c.ranges = append(c.ranges, RangesOf(e.Body)...)
		return true
	}, unreadable)
	if err != nil {
		return err
	}
	prefix := c.v.AddressRow().Prefix("")
	return store.ScanReadable(ctx, c.reader, prefix, func(e *store.Entry) bool {
		a, err := netip.ParseAddr(e.Key[len(prefix):])
		if err != nil {
			return true
		}
		text := func(path ...string) string {
			value, _ := document.Find(e.Body, path...)
			return document.Unquote(value)
		}
		o := object{parent: parentOf(e.Body), manager: text("metadata", "labels", managerLabel), family: text("metadata", "labels", familyLabel)}
		o.created, _ = time.Parse(time.RFC3339, text("metadata", "creationTimestamp")) // of a stored object
		c.objects[a] = o
		return true
	}, unreadable)
}

func (c *check) find(r Remedy, a netip.Addr, service, about, reason, message string) {
	c.found = append(c.found, Finding{Remedy: r, Address: a, Service: service, About: about, Reason: reason, Message: message})
}

// service compares an address of a service with its object.
func (c *check) service(key string, a netip.Addr) {
	family := allocate.Family(a)
	namespace, name := c.v.Row.SplitKey(key)
	wrong := fmt.Sprintf("the ClusterIP [%s]: %s for Service %s/%s has a wrong reference; repairing", family, a, namespace, name)
	o, exists := c.objects[a]
	other := c.v.Row.Key(o.Namespace, o.Name)
	switch {
	case !slices.ContainsFunc(c.ranges, func(p netip.Prefix) bool { return allocate.Has(p, a) }):
		c.find(Report, a, key, key, "ClusterIPOutOfRange",
			fmt.Sprintf("Cluster IP [%s]: %s is not within any configured Service CIDR; please recreate service", family, a))
		return
	case !exists:
		c.find(Make, a, key, key, "ClusterIPNotAllocated", fmt.Sprintf("Cluster IP [%s]: %s is not allocated; repairing", family, a))
		return
	case !o.ofService():
		c.find(Replace, a, key, key, "ClusterIPNotAllocated", wrong)
		return
	case other != key && c.services[other] == nil:
		c.find(Replace, a, key, key, "ClusterIPNotAllocated", wrong)
		return
	case other != key && slices.Contains(c.services[other], allocate.Item{Address: a}):
		c.find(Report, a, key, key, "ClusterIPAlreadyAllocated",
			fmt.Sprintf("Cluster IP [%s]:%s was assigned to multiple services; please recreate service", family, a))
		return
	}
	if o.manager != manager || o.family != family {
		c.find(Replace, a, key, key, "", "")
	}
}

// ofService reports whether the object says that the address is that of a service.
func (p parent) ofService() bool { return p.Group == "" && p.Resource == "services" }

// object compares the object of an address with its service.
func (c *check) object(a netip.Addr, o object) error {
	about, service := c.v.AddressRow().Key("", a.String()), c.v.Row.Key(o.Namespace, o.Name)
	age := c.now.Sub(o.created)
	if !o.ofService() {
		c.find(Remove, a, "", about, "IPAddressNotAllocated", fmt.Sprintf(
			"IPAddress %s appears to have been modified, not referencing a Service &ParentReference{Group:%s,Resource:%s,Namespace:%s,Name:%s,}: cleaning up",
			a, o.Group, o.Resource, o.parent.Namespace, o.Name))
		return nil
	}
	items, exists := c.services[service]
	if slices.Contains(items, allocate.Item{Address: a}) {
		return nil
	}
	if !exists {
		if age > serviceComes {
			c.find(Remove, a, service, about, "IPAddressNotAllocated", fmt.Sprintf(
				"IPAddress: %s for Service %s/%s appears to have leaked: cleaning up", a, o.Namespace, o.Name))
		}
		return nil
	}
	e, err := c.reader.Get(service)
	if err != nil {
		return ignoreMissing(err)
	}
	kind, _ := document.Find(e.Body, "spec", "type")
	text, _ := document.Find(e.Body, "metadata", "creationTimestamp")
	created, _ := time.Parse(time.RFC3339, document.Unquote(text)) // of a stored object
	if document.Unquote(kind) == "ExternalName" && age < serviceComes || o.created.After(created) && age < addressGoes {
		return nil
	}
	c.find(Remove, a, service, about, "IPAddressWrongReference", fmt.Sprintf(
		"IPAddress: %s for Service %s/%s has a wrong reference; cleaning up", a, o.Name, o.Namespace))
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Needs reports whether the finding about an address still holds for its service, as it is stored now: to make or to replace
// an object the service has the address, and to remove one it has not. service is nil for one that is not there.
func (f *Finding) Needs(service *store.Entry) (bool, error) {
	has := false
	if service != nil {
		items, err := serviceItems(service)
		if err != nil {
			return false, err
		}
		has = slices.Contains(*items, allocate.Item{Address: f.Address})
	}
	return has == (f.Remedy != Remove), nil
}

// Compare orders findings by address, those of services first.
func Compare(a, b Finding) int {
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Remedy, b.Remedy))
}
