package background

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// RepairServices frees addresses that no service has, and records an event for each
// service with one that it should not have. Objects of addresses are made and removed where they disagree with the services.
func (c *Controllers) RepairServices(ctx context.Context) error {
	var all []error
	if c.cfg.Sharing != nil {
		all = append(all, c.cfg.Sharing.Allocations.Repair(ctx))
	}
	named := c.services.AddressRow() != nil
	for _, w := range c.services.Repair() {
		if w.Item.Port != 0 || !named {
			all = append(all, c.recordEvent(ctx, c.services.Row, w.Owner, conflictWords(w)))
		}
	}
	if named {
		all = append(all, c.repairAddresses(ctx))
	}
	return errors.Join(all...)
}

// recordEvent records a warning about a stored object. An object that has gone needs none.
func (c *Controllers) recordEvent(ctx context.Context, row *catalog.Row, key string, what words) error {
	events := c.catalog.Snapshot().Kind("v1", "Event")
	entry, err := c.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) || events == nil {
		return nil
	}
	if err != nil {
		return err
	}
	of := row.Versions.Stored
	doc, err := document.ReadStored(of.GV.Types(), of.Type, entry.Body)
	if err != nil {
		return err
	}
	defer doc.Release()
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	meta, now := doc.Root().Get("metadata"), c.cfg.Clock()
	namespace, name := meta.Get("namespace").Text(), meta.Get("name").Text()
	about := map[string]any{"apiVersion": row.GV.APIVersion(), "kind": row.Kind, "name": name,
		"uid": meta.Get("uid").Text(), "resourceVersion": meta.Get("resourceVersion").Text()}
	if namespace != "" {
		about["namespace"] = namespace
	}
	namespace = cmp.Or(namespace, "default") // of the event
	event := map[string]any{
		"metadata":       map[string]any{"namespace": namespace, "name": name + "." + strconv.FormatInt(now.UnixNano(), 16)},
		"involvedObject": about, "type": "Warning", "reason": what.reason, "message": what.message,
	}
	if what.action != "" {
		event["action"], event["eventTime"] = what.action, now.UTC().Format("2006-01-02T15:04:05.000000Z")
		event["reportingComponent"], event["reportingInstance"] = what.controller, what.controller+"-"+host
	} else { // in the older form
		at := now.UTC().Format(time.RFC3339)
		event["source"], event["reportingComponent"] = map[string]any{"component": what.controller}, what.controller
		event["firstTimestamp"], event["lastTimestamp"], event["count"] = at, at, 1
	}
	text, err := json.Marshal(event)
	if err != nil {
		return err
	}
	return c.provide(ctx, events, bootstrap.Object{Namespace: namespace, Name: name + "." + strconv.FormatInt(now.UnixNano(), 16), JSON: text})
}

// words are the texts of an event. One without an action has the older form of events.
type words struct{ reason, message, action, controller string }

func conflictWords(w allocate.Conflict) words {
	if w.Item.Port != 0 {
		e := words{action: "PortAllocation", controller: "portallocator-repair-controller"}
		if w.Holder == "" {
			e.reason, e.message = "PortOutOfRange", fmt.Sprintf("Port %d is not within the port range; please recreate service", w.Item.Port)
		} else {
			e.reason, e.message = "PortAlreadyAllocated", fmt.Sprintf("Port %d was assigned to multiple services; please recreate service", w.Item.Port)
		}
		return e
	}
	e := words{action: "ClusterIPAllocation", controller: "ipallocator-repair-controller"}
	family := allocate.Family(w.Item.Address)
	if w.Holder == "" {
		e.reason, e.message = "ClusterIPOutOfRange", fmt.Sprintf("Cluster IP [%s]:%s is not within the service CIDR; please recreate service", family, w.Item.Address)
	} else {
		e.reason, e.message = "ClusterIPAlreadyAllocated",
			fmt.Sprintf("Cluster IP [%s]:%s was assigned to multiple services; please recreate service", family, w.Item.Address)
	}
	return e
}
