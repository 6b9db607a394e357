package background

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
)

// RepairServices frees addresses that no service has, and records an event for each
// service with one that it should not have.
func (c *Controllers) RepairServices(ctx context.Context) error {
	var all []error
	if c.cfg.Sharing != nil {
		all = append(all, c.cfg.Sharing.Allocations.Repair(ctx))
	}
	for _, w := range c.services.Repair() {
		all = append(all, c.recordConflict(ctx, w))
	}
	return errors.Join(all...)
}

// recordConflict records the event about a service's conflict.
func (c *Controllers) recordConflict(ctx context.Context, w allocate.Conflict) error {
	events := c.catalog.Snapshot().Kind("v1", "Event")
	entry, err := c.store.Get(ctx, w.Owner)
	if errors.Is(err, store.ErrNotFound) || events == nil {
		return nil
	}
	if err != nil {
		return err
	}
	doc, err := document.ReadStored(c.services.Row.GV.Types(), c.services.Row.Type, entry.Body)
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
	what := conflictWords(w)
	text, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"namespace": namespace, "name": name + "." + strconv.FormatInt(now.UnixNano(), 16)},
		"involvedObject": map[string]any{"apiVersion": "v1", "kind": "Service", "namespace": namespace, "name": name,
			"uid": meta.Get("uid").Text(), "resourceVersion": meta.Get("resourceVersion").Text()},
		"type": "Warning", "reason": what.reason, "message": what.message, "action": what.action,
		"eventTime":          now.UTC().Format("2006-01-02T15:04:05.000000Z"),
		"reportingComponent": what.controller, "reportingInstance": what.controller + "-" + host,
	})
	if err != nil {
		return err
	}
	return c.provide(ctx, events, bootstrap.Object{Namespace: namespace, Name: name + "." + strconv.FormatInt(now.UnixNano(), 16), JSON: text})
}

// words are the texts of an event.
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
