package background

import (
	"context"
	"errors"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// repairController is the source of events about addresses.
const repairController = "ipallocator-repair-controller"

// repairAddresses makes the objects of addresses that services lack, and removes those that no service has. What it cannot
// mend it reports once.
func (c *Controllers) repairAddresses(ctx context.Context) error {
	found, err := c.services.Check(ctx, c.store, c.cfg.Clock())
	if err != nil {
		return err
	}
	slices.SortFunc(found, addresses.Compare)
	var all []error
	for i := range found {
		all = append(all, c.repairAddress(ctx, &found[i]))
	}
	return errors.Join(all...)
}

func (c *Controllers) repairAddress(ctx context.Context, f *addresses.Finding) error {
	row, action := c.services.Row, "ClusterIPAllocation"
	if f.About != f.Service {
		row, action = c.services.AddressRow(), "IPAddressAllocation"
	}
	what := words{reason: f.Reason, message: f.Message, action: action, controller: repairController}
	if f.Remedy == addresses.Report {
		return c.reportOnce(ctx, row, f.About, what)
	}
	seen, needed, err := c.lookAgain(ctx, f)
	if err != nil || !needed {
		return err
	}
	c.log.Warn("the object of an address does not fit its service; it is mended", "address", f.Address.String(), "service", f.Service, "reason", f.Message)
	if f.Reason != "" { // first, since it is about an object that may be removed
		if err := c.recordEvent(ctx, row, f.About, what); err != nil {
			return err
		}
	}
	if f.Remedy != addresses.Make {
		of := objects.Ref{Row: c.services.AddressRow(), Name: f.Address.String()}
		if _, _, err := c.objects.DeleteObject(ctx, of, objects.DeleteOptions{}); err != nil && !api.IsReason(err, api.ReasonNotFound) {
			return err
		}
	}
	if f.Remedy == addresses.Remove {
		return nil
	}
	return c.makeAddress(ctx, f, seen)
}

// lookAgain reads the service of a finding, and reports whether the finding still holds.
func (c *Controllers) lookAgain(ctx context.Context, f *addresses.Finding) (seen store.Seen, needed bool, err error) {
	if f.Service == "" {
		return seen, true, nil
	}
	seen.Key = f.Service
	entry, err := c.store.Get(ctx, f.Service)
	service := &entry
	if errors.Is(err, store.ErrNotFound) {
		service, err = nil, nil
	}
	if err != nil {
		return seen, false, err
	}
	seen.Revision = entry.Revision
	needed, err = f.Needs(service)
	return seen, needed, err
}

// makeAddress makes the object of an address, while its service is as it was seen. Another server may be faster.
func (c *Controllers) makeAddress(ctx context.Context, f *addresses.Finding, seen store.Seen) error {
	row := c.services.AddressRow()
	namespace, name := c.services.Row.SplitKey(f.Service)
	text, err := addresses.AddressObject(f.Address, namespace, name)
	if err != nil {
		return err
	}
	_, err = c.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: row}, Creates: true, Seen: []store.Seen{seen},
		Change: objects.NewObject(nil, func() (*document.Document, error) { return c.objects.DecodeOwn(row, text) })})
	if api.IsReason(err, api.ReasonAlreadyExists) || errors.Is(err, store.ErrChanged) {
		return nil
	}
	return err
}

// reports are the events about lasting conditions that have been recorded, each once while the server runs.
type reports struct {
	mu   ranks.Mutex[ranks.Inner]
	made map[report]bool
}

type report struct{ key, reason, message string }

// maxReports bounds the memory of reports: then all of them may come again.
const maxReports = 10_000

// first reports whether a report is a new one, and keeps it.
func (r *reports) first(one report) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.made[one] {
		return false
	}
	if len(r.made) >= maxReports || r.made == nil {
		r.made = map[report]bool{}
	}
	r.made[one] = true
	return true
}

// reportOnce is recordEvent for a lasting condition.
func (c *Controllers) reportOnce(ctx context.Context, row *catalog.Row, key string, what words) error {
	if !c.reported.first(report{key, what.reason, what.message}) {
		return nil
	}
	return c.recordEvent(ctx, row, key, what)
}

// repairAtStart is the first repair of the objects of addresses, of which a store of another release has none.
func (c *Controllers) repairAtStart(ctx context.Context) error {
	if c.services.AddressRow() == nil {
		return nil
	}
	return c.repairAddresses(ctx)
}
