package addresses

import (
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// The labels of the objects of addresses.
const (
	familyLabel  = "ipaddress." + profile.LabelDomain + "/ip-family"
	managerLabel = "ipaddress." + profile.LabelDomain + "/managed-by"
	manager      = "ipallocator." + profile.GroupSuffix
)

// Moves are the addresses that a service gets and loses by a write, where addresses have objects.
type Moves struct{ Taken, Freed []netip.Addr }

// None reports whether the objects of addresses stay as they are.
func (m Moves) None() bool { return len(m.Taken) == 0 && len(m.Freed) == 0 }

// Moves compares the specs of a service before and after a write. One that is not there has no addresses.
func (v *Services) Moves(of *catalog.Row, before, after document.Value) (m Moves) {
	if v == nil || v.named == nil || of != v.Row {
		return m
	}
	had, has := addressesOf(before), addressesOf(after)
	for _, a := range has {
		if !slices.Contains(had, a) {
			m.Taken = append(m.Taken, a)
		}
	}
	for _, a := range had {
		if !slices.Contains(has, a) {
			m.Freed = append(m.Freed, a)
		}
	}
	return m
}

// AddressRow is the kind of the objects of addresses; nil where they have none.
func (v *Services) AddressRow() *catalog.Row {
	if v == nil || v.named == nil {
		return nil
	}
	return v.named.kinds.Address
}

// RangeRow is the kind of the objects of ranges; nil where they have none.
func (v *Services) RangeRow() *catalog.Row {
	if v == nil || v.named == nil {
		return nil
	}
	return v.named.kinds.Range
}

// parent is the object that an address belongs to, in the form of its object.
type parent struct {
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// AddressObject is the object of an address of a service, as JSON.
func AddressObject(a netip.Addr, namespace, service string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"name": a.String(), "labels": map[string]string{familyLabel: allocate.Family(a), managerLabel: manager}},
		"spec":     map[string]any{"parentRef": parent{Resource: "services", Namespace: namespace, Name: service}},
	})
}

// ParentIs reports whether the stored object of an address says that it belongs to a service.
func ParentIs(body []byte, namespace, service string) bool {
	return parentOf(body) == parent{Resource: "services", Namespace: namespace, Name: service}
}

// parentOf is the object that the stored object of an address belongs to.
func parentOf(body []byte) (p parent) {
	text, _ := document.Find(body, "spec", "parentRef")
	_ = json.Unmarshal(text, &p) // stored objects are JSON, and one without is of nobody
	return p
}
