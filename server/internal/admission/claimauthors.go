package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// The status of a claim on devices has several authors. What a scheduler writes takes a right on resourceclaims/binding in all namespaces, what a
// driver writes one on resourceclaims/driver by the name of the driver, with a verb that says whether the driver runs on the node
// of the devices.

// claimAuthor refuses a write of a part of a claim's status without the right to it: 422, by the fields.
func (g *Guard) claimAuthor(ctx context.Context, r *Request) error {
	if !g.ClaimAuthors || r.User == nil || r.Operation != Update || r.Subresource != "status" ||
		r.Resource.GroupResource() != (api.GroupResource{Group: resourceGroup, Resource: "resourceclaims"}) {
		return nil
	}
	verb, status, old := "update", r.Object.Get("status"), r.Old.Get("status")
	if r.Patched {
		verb = "patch"
	}
	var causes []api.Cause
	refuse := func(field, why string) {
		causes = append(causes, api.Cause{Reason: schema.CauseForbidden, Field: field, Message: "Forbidden: " + why})
	}
	if !sameOrNone(status.Get("allocation"), old.Get("allocation")) || !sameOrNone(status.Get("reservedFor"), old.Get("reservedFor")) {
		if refused := g.refused(ctx, r, Right{Verb: verb, Subresource: "binding"}); refused != "" {
			refuse("status.allocation", fmt.Sprintf(`changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="%s" permission: %s`,
				verb, refused))
		}
	}
	if allocation := status.Get("allocation"); allocation.Exists() && !allocation.IsNull() {
		verbs := []string{"arbitrary-node:" + verb}
		if node := allocatedNode(allocation); node != "" && authn.NodeOfAccount(r.User) == node {
			verbs = []string{"associated-node:" + verb, "arbitrary-node:" + verb}
		}
		for _, driver := range changedDrivers(status.Get("devices"), old.Get("devices")) {
			if refused := g.refusedDriver(ctx, r, verbs, driver); refused != "" {
				refuse("status.devices", fmt.Sprintf(`changing status.devices requires resource="resourceclaims/driver", verb="%s" permission: %s`, verbs, refused))
			}
		}
	}
	if len(causes) > 0 {
		return r.Resource.Invalid(r.Name, causes)
	}
	return nil
}

// refusedDriver says why none of some verbs is allowed, by the first of them; "" if one is.
func (g *Guard) refusedDriver(ctx context.Context, r *Request, verbs []string, driver string) (first string) {
	for _, verb := range verbs {
		refused := g.refused(ctx, r, Right{Verb: verb, Subresource: "driver", Namespace: r.Namespace, Name: driver})
		if refused == "" {
			return ""
		}
		if first == "" {
			first = refused
		}
	}
	return first
}

// refused says why a right on claims is not given; "" if it is.
func (g *Guard) refused(ctx context.Context, r *Request, right Right) string {
	right.Group, right.Version, right.Resource = r.Resource.GV.Group, r.Asked.GV.Version, r.Resource.Plural
	allowed, reason, err := g.Rights.May(ctx, r.User, right)
	if allowed {
		return ""
	}
	if err != nil {
		reason = strings.TrimSuffix(err.Error()+": "+reason, ": ")
	}
	return authz.Forbidden(&authz.Attributes{User: r.User, Verb: right.Verb, Group: right.Group, Resource: right.Resource, Subresource: right.Subresource,
		Namespace: right.Namespace, Name: right.Name, ResourceRequest: true}, reason).Message
}

// changedDrivers are the drivers of the devices in which two lists differ, in the order of their names.
func changedDrivers(now, before document.Value) []string {
	gone, changed := map[kinds.Device]document.Value{}, map[string]bool{}
	for _, d := range before.Elements() {
		gone[kinds.DeviceOf(d)] = d
	}
	for _, d := range now.Elements() {
		device := kinds.DeviceOf(d)
		if was, known := gone[device]; !known || !document.Equal(was, d) {
			changed[device.Driver()] = true
		}
		delete(gone, device)
	}
	for device := range gone {
		changed[device.Driver()] = true
	}
	return slices.Sorted(maps.Keys(changed))
}

// allocatedNode is the node that has allocated devices; "" if others may have them too.
func allocatedNode(allocation document.Value) string {
	terms := allocation.At("nodeSelector", "nodeSelectorTerms")
	term := terms.Index(0)
	field := term.Get("matchFields").Index(0)
	if terms.Len() != 1 || term.Get("matchExpressions").Len() > 0 || term.Get("matchFields").Len() != 1 || !field.Get("key").Equals("metadata.name") ||
		!field.Get("operator").Equals("In") || field.Get("values").Len() != 1 {
		return ""
	}
	return field.Get("values").Index(0).Text()
}
