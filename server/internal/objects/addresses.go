package objects

import (
	"errors"
	"net/netip"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
)

// part is the write of an object that is made in the transaction of another one: that of an address
// with its service. It is evaluated as a write of its own, by all plug-ins.
type part struct {
	*Evaluation
	key string
}

// moves are the addresses whose objects the write has to make or to remove.
func (e *Evaluation) moves() (none addresses.Moves) {
	if e.s.services.AddressRow() == nil || e.Opts.DryRun || e.made.Op == 0 {
		return none
	}
	after := e.obj
	if e.made.Op == store.OpDelete {
		after = document.Value{}
	}
	return e.s.services.Moves(e.stored.Row, e.old.Get("spec"), after.Get("spec"))
}

// evaluateParts evaluates the parts of a write whose evaluation has ended. It may be called again, and keeps them.
func (e *Evaluation) evaluateParts() error {
	if e.parts != nil {
		return nil
	}
	moves := e.moves()
	for _, a := range moves.Taken {
		if err := e.takeAddress(a); err != nil {
			return err
		}
	}
	for _, a := range moves.Freed {
		if err := e.freeAddress(a); err != nil {
			return err
		}
	}
	return nil
}

// addPart evaluates a part.
func (e *Evaluation) addPart(w *Write, current *store.Entry) error {
	p := newEvaluation(e.ctx, e.s, w, current)
	e.parts = append(e.parts, part{p, w.Row.Key("", w.Name)})
	return p.run()
}

// takeAddress adds the part that makes the object of an address. A refusal is one of the service.
func (e *Evaluation) takeAddress(a netip.Addr) error {
	row, service := e.s.services.AddressRow(), e.obj.Get("metadata").Get("name").Text()
	text, err := addresses.AddressObject(a, e.Namespace, service)
	if err != nil {
		return err
	}
	err = e.addPart(&Write{Ref: Ref{Row: row, Name: a.String()}, Creates: true,
		Change: NewObject(nil, func() (*document.Document, error) { return e.s.DecodeOwn(row, text) })}, nil)
	var refused *api.Error
	if !errors.As(err, &refused) {
		return err
	}
	ips := e.obj.Get("spec").Get("clusterIPs")
	return e.stored.Row.Invalid(service, []schema.Cause{{Reason: schema.CauseInvalid, Field: "spec.clusterIPs",
		Message: "Invalid value: " + string(ips.AppendJSON(nil)) + ": failed to allocate IP " + a.String() + ": " + refused.Error()}})
}

// freeAddress adds the part that removes the object of an address. One that belongs to another object stays.
func (e *Evaluation) freeAddress(a netip.Addr) error {
	of := Ref{Row: e.s.services.AddressRow(), Name: a.String()}
	entry, err := e.s.store.Get(e.ctx, of.Row.Key("", of.Name))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !addresses.ParentIs(entry.Body, e.Namespace, e.Name):
		return nil
	}
	return e.addPart(&Write{Ref: of, Steps: deleteSteps, deletes: &DeleteOptions{},
		Change: func(e *Evaluation) (document.Value, error) { return e.old, nil }}, &entry)
}

// commitPart is commitTo for a part. An address that has an object by now is another server's, or that of another
// object: allocate.ErrElsewhere.
func (p part) commitPart(current *store.Entry) (store.Write, error) {
	if p.Creates && current != nil {
		return store.Write{}, allocate.ErrElsewhere
	}
	return p.commitTo(current)
}
