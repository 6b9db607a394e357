package background

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// registrationGroup is the group of API services, of which itself has none.
const registrationGroup = "apiregistration." + profile.GroupSuffix

// automanaged is the label of API services that the server keeps by itself.
const automanaged = "kube-aggregator." + profile.LabelDomain + "/automanaged"

// The values of the label, as JSON: of the versions of custom resources, and of a server's own.
const ofCustoms, ofServers = `"true"`, `"onstart"`

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
	return errors.Join(append(all, c.dropAPIServices(ctx, res))...)
}

// dropAPIServices deletes the API services of versions that are not served any more: those of custom
// resources, and once after the start those that a server of another release has made. A server of a
// later release that starts afterwards keeps its own.
func (c *Controllers) dropAPIServices(ctx context.Context, res *catalog.Row) error {
	served := map[string]bool{}
	for _, gv := range c.catalog.Snapshot().Served() {
		served[gv.GroupVersion.Version+"."+gv.Group] = true
	}
	view, err := c.store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	gone := map[string]string{} // their labels
	err = store.ScanReadable(ctx, view, res.Prefix(""), func(e *store.Entry) bool {
		_, name := res.SplitKey(e.Key)
		label, _ := document.Find(e.Body, "metadata", "labels", automanaged)
		if managed := string(label); (managed == ofCustoms || managed == ofServers && !c.othersDropped.Load()) && !served[name] {
			gone[strings.Clone(name)] = managed
		}
		return true
	}, func(*store.UnreadableError) {})
	if err != nil {
		return err
	}
	var all []error
	for name, managed := range gone {
		all = append(all, c.dropAPIService(ctx, res, name, managed))
	}
	if err = errors.Join(all...); err == nil {
		c.othersDropped.Store(true)
	}
	return err
}

func (c *Controllers) keepAPIService(ctx context.Context, res *catalog.Row, gv *catalog.Version) error {
	name := gv.Version + "." + gv.Group
	managed := "onstart"
	spec := map[string]any{"version": gv.Version, "groupPriorityMinimum": gv.GroupPriority, "versionPriority": gv.VersionPriority}
	if gv.Custom() {
		managed, spec["versionPriority"] = "true", catalog.CustomPriority
	}
	if gv.Group != "" {
		spec["group"] = gv.Group
	}
	text, err := json.Marshal(map[string]any{"spec": spec,
		"metadata": map[string]any{"name": name, "labels": map[string]any{automanaged: managed}}})
	if err != nil {
		return err
	}
	err = c.keep(ctx, res, "", name, string(text), func(have, want document.Value) {
		if gv.Custom() && !have.At("metadata", "labels", automanaged).Exists() {
			return // somebody else's, who may have another server for the group version
		}
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
		if service := obj.At("spec", "service"); service.Exists() && !service.IsNull() {
			return objects.ErrNothing // an extension server's
		}
		conditions := obj.SetObject("status").SetArray("conditions")
		if conditions.ElementBy("type", kinds.LocalService.Type).Get("status").Equals("True") {
			return objects.ErrNothing
		}
		kinds.LocalService.Set(conditions, c.objects.Now())
		return nil
	})})
	return err
}
