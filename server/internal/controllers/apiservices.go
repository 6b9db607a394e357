package controllers

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/policy"
)

// registrationGroup is the group of API services, of which itself has none.
const registrationGroup = "apiregistration." + profile.GroupSuffix

// KeepAPIServices keeps an API service for every group version that the server serves: it
// has their order in discovery, and the condition that they are available.
func (c *Controllers) KeepAPIServices(ctx context.Context) error {
	res := c.catalog.Snapshot().Kind(registrationGroup+"/v1", "APIService")
	if res == nil {
		return nil
	}
	var all []error
	for _, gv := range c.catalog.Snapshot().Served() {
		if gv.Group != registrationGroup {
			all = append(all, c.keepAPIService(ctx, res, gv))
		}
	}
	return errors.Join(all...)
}

func (c *Controllers) keepAPIService(ctx context.Context, res *catalog.Row, gv *catalog.Version) error {
	name := gv.Version + "." + gv.Group
	spec := map[string]any{"version": gv.Version, "groupPriorityMinimum": gv.GroupPriority, "versionPriority": gv.VersionPriority}
	if gv.Group != "" {
		spec["group"] = gv.Group
	}
	text, err := json.Marshal(map[string]any{"spec": spec,
		"metadata": map[string]any{"name": name, "labels": map[string]any{"kube-aggregator." + profile.LabelDomain + "/automanaged": "onstart"}}})
	if err != nil {
		return err
	}
	err = c.keep(ctx, res, "", name, string(text), func(have, want document.Value) {
		for key, v := range want.At("metadata", "labels").Members() {
			have.Get("metadata").SetObject("labels").Put(key, v)
		}
		have.Put("spec", want.Get("spec"))
	})
	if err != nil {
		return err
	}
	return c.writeAvailable(ctx, res, name)
}

// writeAvailable writes the condition of an API service into its status.
func (c *Controllers) writeAvailable(ctx context.Context, res *catalog.Row, name string) error {
	of := objects.Ref{Row: res, Name: name, Sub: res.Subresource("status")}
	_, err := c.objects.Write(ctx, &objects.Write{Ref: of, Change: objects.Editing(func(obj document.Value) error {
		conditions := obj.SetObject("status").SetArray("conditions")
		if conditions.ElementBy("type", policy.LocalService.Type).Get("status").Equals("True") {
			return objects.ErrNothing
		}
		policy.LocalService.Set(conditions, c.objects.Now())
		return nil
	})})
	return err
}
