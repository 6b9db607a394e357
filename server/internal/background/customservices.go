package background

import (
	"context"
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// The API services of custom resources follow the catalog at once, while those of built-in
// kinds are kept at the start and periodically.

// registeredVersion is the needed part of an API service.
type registeredVersion struct{ managed bool }

// followCustomVersions keeps the API services of custom resources until ctx ends: they
// come and go with the versions that are served, and are made anew when somebody deletes
// or changes them. The start takes care of the versions in the first snapshot.
func (c *Controllers) followCustomVersions(ctx context.Context, first *catalog.Snapshot) {
	res := first.Kind(registrationGroup+"/v1", "APIService")
	if res == nil {
		return
	}
	all, err := live.Open(ctx, live.Config[*registeredVersion]{Store: c.store, Prefixes: []string{res.Prefix("")}, Logger: c.log,
		Decode: live.Read(res, func(obj document.Value) *registeredVersion {
			return &registeredVersion{obj.At("metadata", "labels", automanaged).Equals("true")}
		})})
	if err != nil {
		if ctx.Err() == nil {
			c.log.Error("the API services of custom resources are kept only periodically", "error", err)
		}
		return
	}
	c.background.Go(func() { c.followVersions(ctx, res, first) })
	c.background.Go(func() {
		defer all.Close()
		for seen := all.View(); ; {
			view, err := all.Next(ctx, seen)
			if err != nil {
				return
			}
			for change := range view.Since(seen) {
				if change.After == nil || change.After.managed {
					_, name := res.SplitKey(change.Key)
					c.keepCustomVersion(ctx, res, name)
				}
			}
			seen = view
		}
	})
}

// followVersions compares each snapshot of the catalog with the one before.
func (c *Controllers) followVersions(ctx context.Context, res *catalog.Row, snapshot *catalog.Snapshot) {
	known := customVersions(snapshot)
	for {
		next, err := c.catalog.Next(ctx, snapshot)
		if err != nil {
			return
		}
		snapshot = next
		now := customVersions(snapshot)
		for name := range now {
			if !known[name] {
				c.keepCustomVersion(ctx, res, name)
			}
		}
		for name := range known {
			if !now[name] {
				c.keepCustomVersion(ctx, res, name)
			}
		}
		known = now
	}
}

// customVersions are the names of the API services of all versions of custom resources.
func customVersions(snapshot *catalog.Snapshot) map[string]bool {
	names := map[string]bool{}
	for _, v := range snapshot.Served() {
		if v.Custom() {
			names[v.GroupVersion.Version+"."+v.Group] = true
		}
	}
	return names
}

// keepCustomVersion makes the API service of a version of custom resources as it should
// be, or deletes it when the version is not served. A failure is made up for by the
// periodic pass.
func (c *Controllers) keepCustomVersion(ctx context.Context, res *catalog.Row, name string) {
	version, group, _ := strings.Cut(name, ".")
	var err error
	switch gv := c.catalog.Snapshot().ServedVersion(group + "/" + version); {
	case gv == nil:
		err = c.dropAPIService(ctx, res, name, ofCustoms)
	case gv.Custom():
		err = c.keepAPIService(ctx, res, gv)
	}
	if api.IsReason(err, api.ReasonNotFound) { // another server knows already that the version is not served
		return
	}
	if err != nil && ctx.Err() == nil {
		c.log.Error("the API service of custom resources is kept later", "apiservice", name, "error", err)
	}
}

// dropAPIService deletes the API service of a version that is not served any more, unless
// its label, as JSON, has another value by now.
func (c *Controllers) dropAPIService(ctx context.Context, res *catalog.Row, name, managed string) error {
	entry, err := c.store.Get(ctx, res.Key("", name))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if label, _ := document.Find(entry.Body, "metadata", "labels", automanaged); string(label) != managed {
		return nil
	}
	uid := objects.UIDOf(entry.Body)
	_, _, err = c.objects.DeleteObject(ctx, objects.Ref{Row: res, Name: name}, objects.DeleteOptions{UID: &uid})
	if api.IsReason(err, api.ReasonNotFound) || api.IsReason(err, api.ReasonConflict) {
		return nil
	}
	return err
}
