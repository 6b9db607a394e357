package background

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// rangesManager is the manager of the condition of the configured ranges, and the source of events about them.
const rangesManager = addresses.OwnService + "-service-cidr-controller"

// KeepServiceRanges creates the object of the configured ranges, and says that they are ready. An object with other
// ranges stays as it is, but for the second range of a cluster that gets one; an event tells of it.
func (c *Controllers) KeepServiceRanges(ctx context.Context) error {
	row := c.services.RangeRow()
	if row == nil {
		return nil
	}
	ranges, err := addresses.Ranges(c.cfg.ServiceClusterIPRange)
	if err != nil {
		return err
	}
	var cidrs []string
	for _, r := range ranges {
		cidrs = append(cidrs, r.String())
	}
	key := row.Key("", addresses.OwnService)
	entry, err := c.store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": addresses.OwnService}, "spec": map[string]any{"cidrs": cidrs}})
		if err != nil {
			return err
		}
		if err := c.provide(ctx, row, bootstrap.Object{Name: addresses.OwnService, JSON: text}); err != nil {
			return err
		}
		entry, err = c.store.Get(ctx, key)
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	has := document.FindTexts(entry.Body, "spec", "cidrs")
	if len(cidrs) == 2 && slices.Equal(has, cidrs[:1]) && c.cfg.Release.Since("1.33") {
		return c.addSecondRange(ctx, row, key, cidrs)
	}
	return c.showReady(ctx, row, &entry, has, cidrs)
}

// addSecondRange makes the object of one range that of both.
func (c *Controllers) addSecondRange(ctx context.Context, row *catalog.Row, key string, cidrs []string) error {
	_, err := c.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: row, Name: addresses.OwnService}, Change: objects.Editing(func(obj document.Value) error {
		list := obj.SetObject("spec").SetArray("cidrs")
		if list.Len() != 1 {
			return objects.ErrNothing
		}
		list.AppendString(cidrs[1])
		return nil
	})})
	if err != nil {
		what := fmt.Sprintf("The default ServiceCIDR can not be upgraded from %s to dual stack %v : %v", cidrs[0], cidrs, err)
		return errors.Join(err, c.recordEvent(ctx, row, key, words{reason: "KubernetesDefaultServiceCIDRError", message: what, controller: rangesManager}))
	}
	return nil
}

// showReady applies the condition of ranges that are those of the object. Another condition, and other ranges, are
// the operator's to mend: an event tells of them, once.
func (c *Controllers) showReady(ctx context.Context, row *catalog.Row, entry *store.Entry, has, cidrs []string) error {
	if _, ends := document.Find(entry.Body, "metadata", "deletionTimestamp"); ends {
		return nil
	}
	if !slices.Equal(has, cidrs) {
		of := "controller flag"
		if !c.cfg.Release.Since("1.34") {
			of = "flag"
		}
		return c.reportOnce(ctx, row, entry.Key, words{reason: "KubernetesDefaultServiceCIDRInconsistent", controller: rangesManager,
			message: fmt.Sprintf("The default ServiceCIDR %v does not match the %s configurations %s", has, of, cidrs)})
	}
	status, reason, message := addresses.Readiness(entry.Body)
	switch status {
	case "True":
		return nil
	case "False":
		if c.cfg.Release.Since("1.34") {
			message = "Configuration matches, but " + message
		}
		return c.reportOnce(ctx, row, entry.Key, words{reason: reason, message: message, controller: rangesManager})
	}
	config, err := json.Marshal(map[string]any{"apiVersion": row.GV.APIVersion(), "kind": row.Kind, "metadata": map[string]any{"name": addresses.OwnService},
		"status": map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True", "message": "Kubernetes default Service CIDR is ready",
			"lastTransitionTime": c.cfg.Clock().UTC().Format(time.RFC3339)}}}})
	if err != nil {
		return err
	}
	of := objects.Ref{Row: row, Sub: row.Subresource("status"), Name: addresses.OwnService}
	return c.objects.ApplyOwn(ctx, of, objects.Options{Manager: rangesManager}, config)
}
