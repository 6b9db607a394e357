package admission

import (
	"context"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/quantity"
)

// IngressClass is the part of an ingress class by which plug-ins decide.
type IngressClass struct {
	Name, Created string
	Default       bool // for ingresses without a class
}

// ReadIngressClass reads a stored ingress class.
func ReadIngressClass(obj document.Value) *IngressClass {
	meta := obj.Get("metadata")
	return &IngressClass{Name: strings.Clone(meta.Get("name").Text()), Created: strings.Clone(meta.Get("creationTimestamp").Text()),
		Default: meta.Get("annotations").Get("ingressclass." + profile.LabelDomain + "/is-default-class").Equals("true")}
}

// defaultIngressClass gives a new ingress the default class, of several the newest.
func (c *Chain) defaultIngressClass(_ context.Context, r *Request) error {
	if r.Operation != Create || !r.is("networking."+profile.GroupSuffix, "ingresses") {
		return nil
	}
	if given(r.Object.At("spec", "ingressClassName")) || r.Object.At("metadata", "annotations").Get(profile.LabelDomain+"/ingress.class").Exists() {
		return nil
	}
	var found *IngressClass
	for class := range c.objects.IngressClasses() {
		if class.Default && (found == nil || class.Created > found.Created || class.Created == found.Created && class.Name < found.Name) {
			found = class
		}
	}
	if found != nil {
		r.Object.SetObject("spec").SetString("ingressClassName", found.Name)
	}
	return nil
}

// StorageClass is the part of a storage class by which plug-ins decide.
type StorageClass struct {
	Name       string
	Default    bool // for claims without a class
	Expandable bool
}

// ReadStorageClass reads a stored storage class.
func ReadStorageClass(obj document.Value) *StorageClass {
	annotations := obj.At("metadata", "annotations")
	return &StorageClass{Name: strings.Clone(obj.At("metadata", "name").Text()), Expandable: obj.Get("allowVolumeExpansion").Bool(),
		Default: annotations.Get("storageclass."+profile.LabelDomain+"/is-default-class").Equals("true") ||
			annotations.Get("storageclass.beta."+profile.LabelDomain+"/is-default-class").Equals("true")}
}

const oldStorageClass = "volume.beta." + profile.LabelDomain + "/storage-class" // an annotation

// defaultStorageClass gives a new claim the default class.
func (c *Chain) defaultStorageClass(_ context.Context, r *Request) error {
	if r.Operation != Create || !r.is("", "persistentvolumeclaims") {
		return nil
	}
	if given(r.Object.At("spec", "storageClassName")) || r.Object.At("metadata", "annotations").Get(oldStorageClass).Exists() {
		return nil
	}
	name, n := "", 0
	for class := range c.objects.StorageClasses() {
		if class.Default {
			name = class.Name
			n++
		}
	}
	switch {
	case n > 1:
		return r.forbidf("Internal error occurred: %d default StorageClasses were found", n)
	case n == 1:
		r.Object.SetObject("spec").SetString("storageClassName", name)
	}
	return nil
}

// resize refuses claims that grow while their class does not let them.
func (c *Chain) resize(_ context.Context, r *Request) error {
	if r.Operation != Update || !r.is("", "persistentvolumeclaims") {
		return nil
	}
	now, before := claimSize(r.Object), claimSize(r.Old)
	if now.Compare(before) <= 0 {
		return nil
	}
	if !r.Old.At("status", "phase").Equals("Bound") {
		return r.forbidf("Only bound persistent volume claims can be expanded")
	}
	name := claimClass(r.Object)
	for class := range c.objects.StorageClasses() {
		if class.Name == name && name != "" && claimClass(r.Old) == name && class.Expandable {
			return nil
		}
	}
	return r.forbidf("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
}

func claimSize(claim document.Value) quantity.Quantity {
	size, _ := quantity.Parse(claim.At("spec", "resources", "requests", "storage").Text()) // it is valid, or 0
	return size
}

func claimClass(claim document.Value) string {
	if old := claim.At("metadata", "annotations").Get(oldStorageClass); old.Exists() {
		return old.Text()
	}
	return claim.At("spec", "storageClassName").Text()
}

// cloudVolumes are the volumes of clouds, with the member that names one and the cloud.
var cloudVolumes = [...]struct{ source, id, words, cloud string }{
	{"awsElasticBlockStore", "volumeID", "AWS EBS volume", "AWS cloud provider for EBS"},
	{"gcePersistentDisk", "pdName", "GCE PD volume", "GCE cloud provider for PD"},
	{"azureDisk", "diskName", "AzureDisk volume", "Azure cloud provider for AzureDisk"},
	{"cinder", "volumeID", "Cinder volume", "OpenStack cloud provider for Cinder disk"},
	{"vsphereVolume", "volumePath", "vSphere Volume", "vSphere cloud provider"},
}

// labelVolume restricts a new volume to the zone and region in its labels, if it was made
// by a provisioner. The zones of other volumes would have to be asked of a cloud, which
// this server does not do.
func (c *Chain) labelVolume(_ context.Context, r *Request) error {
	if r.Operation != Create || !r.is("", "persistentvolumes") {
		return nil
	}
	labels, spec := r.Object.At("metadata", "labels"), r.Object.Get("spec")
	if r.Object.At("metadata", "annotations").Get("pv." + profile.LabelDomain + "/provisioned-by").Exists() {
		for _, prefix := range [...]string{"topology.", "failure-domain.beta."} {
			zone, region := prefix+profile.LabelDomain+"/zone", prefix+profile.LabelDomain+"/region"
			if labels.Get(zone).Exists() && labels.Get(region).Exists() {
				return restrictVolume(r, spec, [2][2]string{{zone, labels.Get(zone).Text()}, {region, labels.Get(region).Text()}})
			}
		}
	}
	for _, v := range cloudVolumes {
		if source := spec.Get(v.source); given(source) && source.Get(v.id).Text() != "placeholder-for-provisioning" {
			return r.forbidf("error querying %s %s: unable to build %s", v.words, source.Get(v.id).Text(), v.cloud)
		}
	}
	return nil
}

// restrictVolume makes a volume usable on nodes with the labels only, unless it names such
// labels itself. A zone may be several, with "__" between.
func restrictVolume(r *Request, spec document.Value, labels [2][2]string) error {
	terms := spec.At("nodeAffinity", "required", "nodeSelectorTerms")
	for _, term := range terms.Elements() {
		for _, e := range term.Get("matchExpressions").Elements() {
			if e.Get("key").Equals(labels[0][0]) || e.Get("key").Equals(labels[1][0]) {
				return nil
			}
		}
	}
	terms = spec.SetObject("nodeAffinity").SetObject("required").SetArray("nodeSelectorTerms")
	if terms.Len() == 0 {
		terms.AppendObject()
	}
	for _, label := range labels {
		values := []string{label[1]}
		if label == labels[0] {
			values = strings.Split(label[1], "__")
			slices.Sort(values)
		}
		for _, term := range terms.Elements() {
			e := term.SetArray("matchExpressions").AppendObject()
			e.SetString("key", label[0])
			e.SetString("operator", "In")
			list := e.SetArray("values")
			for _, v := range values {
				if v = strings.TrimSpace(v); v == "" {
					return r.forbidf("failed to convert label string for Zone: %s to a Set", label[1])
				}
				list.AppendString(v)
			}
		}
	}
	return nil
}
