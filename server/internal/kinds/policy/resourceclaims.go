package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Claims on devices, from 1.26 on: of a pod, of its containers, and in its status.

// claimed checks that the claims of a container are some of its pod, and named once each: as a whole, or by requests.
func (c *causes) claimed(claims, ofPod document.Value) {
	var taken document.Texts
	for i, claim := range claims.Elements() {
		name, request, path := claim.Get("name").Text(), claim.Get("request").Text(), element(claims.Path(), i)
		if name == "" {
			continue // required by the schema
		}
		entry := name
		if request != "" {
			entry += "/" + request
		}
		switch {
		case taken.Has(name):
			c.duplicateAt(path, name)
		case taken.Has(entry):
			c.duplicateAt(path, entry)
		case request == "":
			for range prefixed(taken, name+"/") {
				c.duplicateAt(path, name)
			}
		}
		taken.Add(entry)
		if !ofPod.ElementBy("name", name).Exists() {
			c.notAmong(path, name, ofPod)
		}
	}
}

// prefixed is the number of texts in a set that begin so.
func prefixed(texts document.Texts, prefix string) (n int) {
	for text := range texts {
		if strings.HasPrefix(text, prefix) {
			n++
		}
	}
	return n
}

// notAmong reports a name that no claim of the pod has.
func (c *causes) notAmong(path, name string, ofPod document.Value) {
	var names []string
	for _, claim := range ofPod.Elements() {
		names = append(names, claim.Get("name").Text())
	}
	why := "which is empty"
	if len(names) > 0 {
		slices.Sort(names)
		why = "which has " + strings.Join(names, ", ")
	}
	c.Add(schema.CauseNotFound, path, "Not found: "+strconv.Quote(name)+": must be one of the names in spec.resourceClaims, "+why)
}

func (c *causes) duplicateAt(path, text string) {
	c.Add(schema.CauseDuplicate, path, "Duplicate value: "+strconv.Quote(text))
}

// claimStatuses checks that each claim in the status belongs to one of the pod.
func (c *causes) claimStatuses(statuses, claims document.Value) {
	var taken document.Texts
	for i, status := range statuses.Elements() {
		name := status.Get("name")
		path := element("status.resourceClaimStatuses", i)
		if !claims.ElementBy("name", name.Text()).Exists() {
			c.InvalidAt(path+".name", name, "must match the name of an entry in `spec.resourceClaims`")
		}
		if !taken.Add(name.Text()) {
			c.duplicateAt(path+".name", name.Text())
		}
	}
}

// extendedClaim checks that the requests of the claim for extended resources are of containers that ask for those.
func (c *causes) extendedClaim(status, spec document.Value) {
	if !isSet(status) {
		return
	}
	const path = "status.extendedResourceClaimStatus"
	for i, mapping := range status.Get("requestMappings").Elements() {
		at := element(path+".requestMappings", i)
		name, resource := mapping.Get("containerName"), mapping.Get("resourceName")
		container := spec.Get("containers").ElementBy("name", name.Text())
		if !container.Exists() {
			container = spec.Get("initContainers").ElementBy("name", name.Text())
		}
		switch {
		case !container.Exists():
			c.InvalidAt(at+".containerName", name, "must be the name of a container of the pod")
		case !container.At("resources", "requests", resource.Text()).Exists():
			c.InvalidAt(at+".resourceName", resource, "must be an extended resource that the container requests")
		}
		c.FormatText(path+".requestName", mapping.Get("requestName").Text(), "dns1123-label")
	}
}
