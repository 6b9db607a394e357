package admission

import (
	"context"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// audience permits a token for an audience that a volume of the pod names, or its driver. Any other needs the right to request
// it.
func (w *nodeWrite) audience(ctx context.Context, pod document.Value) error {
	var asked string
	switch all := w.Object.At("spec", "audiences"); all.Len() {
	case 0:
	case 1:
		asked = all.Index(0).Text()
	default:
		return w.forbidf("node may only request 0 or 1 audiences")
	}
	found, err := w.names(ctx, pod, asked)
	if found {
		return nil
	}
	if err != nil {
		return w.forbidf("error validating audience %q: %v", asked, err)
	}
	ok, _, err := w.objects.May(ctx, w.User, Right{Verb: "request-serviceaccounts-token-audience", Version: "v1", Resource: asked,
		Namespace: w.Namespace, Name: w.Name})
	switch {
	case ok:
		return nil
	case err != nil:
		return w.forbidf("audience %q not found in pod spec volume, error authorizing %s to request tokens for this audience: %v", asked, w.User.Name, err)
	}
	return w.forbidf("audience %q not found in pod spec volume, %s is not authorized to request tokens for this audience", asked, w.User.Name)
}

// names reports whether a volume of a pod names an audience. An error counts if none does.
func (w *nodeWrite) names(ctx context.Context, pod document.Value, audience string) (bool, error) {
	var failed []error
	for _, v := range pod.At("spec", "volumes").Elements() {
		for _, source := range v.At("projected", "sources").Elements() {
			if token := source.Get("serviceAccountToken"); token.Exists() && token.Get("audience").Text() == audience {
				return true, nil
			}
		}
		driver, err := w.driverOf(ctx, pod, v)
		if err == nil && driver != "" {
			var found bool
			if found, err = w.driverNames(ctx, driver, audience); found {
				return true, nil
			}
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	slices.SortFunc(failed, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return false, utilerrors.NewAggregate(failed)
}

// migrated are the drivers of volumes that once had none, by the members that name them.
var migrated = map[string]string{"awsElasticBlockStore": "ebs.csi.aws.com", "azureDisk": "disk.csi.azure.com", "azureFile": "file.csi.azure.com",
	"gcePersistentDisk": "pd.csi.storage.gke.io", "cinder": "cinder.csi.openstack.org", "portworxVolume": "pxd.portworx.com",
	"vsphereVolume": "csi.vsphere.vmware.com"}

// driverOf is the driver of a volume of a pod, "" for none.
func (w *nodeWrite) driverOf(ctx context.Context, pod, v document.Value) (string, error) {
	switch {
	case v.At("ephemeral", "volumeClaimTemplate").Exists():
		return w.claimDriver(ctx, pod.At("metadata", "name").Text()+"-"+v.Get("name").Text())
	case v.Get("persistentVolumeClaim").Exists():
		return w.claimDriver(ctx, v.At("persistentVolumeClaim", "claimName").Text())
	}
	return driverIn(v), nil
}

// driverIn is the driver that the source of a volume names.
func driverIn(source document.Value) string {
	if csi := source.Get("csi"); csi.Exists() {
		return csi.Get("driver").Text()
	}
	for member, driver := range migrated {
		if source.Get(member).Exists() {
			return driver
		}
	}
	return ""
}

// claimDriver is the driver of the volume that a claim is bound to.
func (w *nodeWrite) claimDriver(ctx context.Context, name string) (string, error) {
	claim, release, err := w.get(ctx, "persistentvolumeclaims", w.Namespace, name)
	defer release()
	if err != nil {
		return "", err
	}
	volume, done, err := w.get(ctx, "persistentvolumes", "", claim.At("spec", "volumeName").Text())
	defer done()
	if err != nil {
		return "", err
	}
	return strings.Clone(driverIn(volume.Get("spec"))), nil
}

// driverNames reports whether a driver asks for tokens for an audience.
func (w *nodeWrite) driverNames(ctx context.Context, name, audience string) (bool, error) {
	driver, release, err := w.objects.Get(ctx, storageGroup, "csidrivers", "", name)
	defer release()
	if api.IsReason(err, api.ReasonNotFound) {
		return false, api.NotFound(api.GroupResource{Group: storageGroup, Resource: "csidriver"}, name)
	}
	if err != nil {
		return false, err
	}
	for _, token := range driver.At("spec", "tokenRequests").Elements() {
		if token.Get("audience").Text() == audience {
			return true, nil
		}
	}
	return false, nil
}
