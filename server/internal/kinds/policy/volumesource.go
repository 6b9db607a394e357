package policy

import (
	"net"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateFlexVolumeSource and ValidateFlexPersistentVolumeSource refuse options of
// flexible drivers that are reserved for the system.
func (Policy) ValidateFlexVolumeSource(v document.Value) []schema.Cause { return driverOptions(v) }
func (Policy) ValidateFlexPersistentVolumeSource(v document.Value) []schema.Cause {
	return driverOptions(v)
}

func driverOptions(v document.Value) []schema.Cause {
	var c causes
	options := v.Get("options")
	for name := range options.Members() {
		domain, _, _ := strings.Cut(name, "/")
		if domain = "." + strings.ToLower(domain); strings.HasSuffix(domain, "."+labelDomain) || strings.HasSuffix(domain, "."+profile.GroupSuffix) {
			c.InvalidText(key(options, name), name, "the namespaces of the system are reserved")
		}
	}
	return c.Causes
}

// maxTenant bounds a Quobyte registry's or tenant's name, in bytes.
const maxTenant = 64

// ValidateQuobyteVolumeSource checks the hosts of the registry, and the tenant.
func (Policy) ValidateQuobyteVolumeSource(v document.Value) []schema.Cause {
	var c causes
	registry, tenant := v.Get("registry"), v.Get("tenant")
	switch {
	case registry.Text() == "":
		return nil // required by the schema
	case len(tenant.Text()) > maxTenant:
		c.Required(tenant.Path(), "must be a UUID of at most "+strconv.Itoa(maxTenant)+" bytes")
		return c.Causes
	}
	for pair := range strings.SplitSeq(registry.Text(), ",") {
		if _, _, err := net.SplitHostPort(pair); err != nil {
			c.Invalid(registry, "must be a host:port pair or multiple pairs separated by commas")
		}
	}
	return c.Causes
}

// The forms of the addresses of disks, managed ones and blobs.
const (
	azureManaged = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	azureBlob    = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
)

// ValidateAzureDiskVolumeSource checks that the address fits the kind of the disk.
func (Policy) ValidateAzureDiskVolumeSource(v document.Value) []schema.Cause {
	var c causes
	uri := v.Get("diskURI")
	text := uri.Text()
	managed := v.Get("kind").Equals("Managed")
	switch {
	case managed && !strings.HasPrefix(text, "/subscriptions/"):
		c.NotSupportedAt(member(v, "diskURI"), uri, azureManaged)
	case !managed && !strings.HasPrefix(text, "https://"):
		c.NotSupportedAt(member(v, "diskURI"), uri, azureBlob)
	}
	return c.Causes
}
