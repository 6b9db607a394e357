package admission

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// namedObjects are the objects that a new pod names, in the words of a refusal; "" for none. From 1.34 on each source of a volume
// counts that its node reads from the server.
func (w *nodeWrite) namedObjects() (string, error) {
	var names [kinds.ServiceAccount + 1]bool
	kinds.NamesOf(w.Object, func(kind kinds.NamedKind, _ string) { names[kind] = true })
	later := w.config.since("1.34")
	switch {
	case names[kinds.ServiceAccount] && later:
		return "serviceaccounts", nil
	case names[kinds.ServiceAccount]:
		return "a service account", nil
	case names[kinds.Secret]:
		return "secrets", nil
	case names[kinds.ConfigMap]:
		return "configmaps", nil
	case later && w.Object.At("spec", "resourceClaims").Len() > 0:
		return "resourceclaims", nil
	}
	bundle, claim := "", ""
	for _, volume := range w.Object.At("spec", "volumes").Elements() {
		if later {
			if named, err := namedByVolume(volume); named != "" || err != nil {
				return named, err
			}
			continue
		}
		for _, source := range volume.At("projected", "sources").Elements() {
			if source.Get("clusterTrustBundle").Exists() {
				bundle = "clustertrustbundles"
			}
		}
		if volume.Get("persistentVolumeClaim").Exists() {
			claim = "persistentvolumeclaims"
		}
	}
	if bundle != "" {
		return bundle, nil
	}
	return claim, nil
}

// needy are the sources of volumes, or of projected ones, that need the server, with the words of a refusal.
type needy []struct{ source, named string }

var (
	needyVolumes = needy{{"configMap", "configmaps (via configmap volumes)"}, {"secret", "secrets (via secret volumes)"},
		{"csi", "csidrivers (via CSI volumes)"}, {"glusterfs", "endpoints (via glusterFS volumes)"}, {"persistentVolumeClaim", "persistentvolumeclaims"},
		{"ephemeral", "persistentvolumeclaims (via ephemeral volumes)"}, {"azureFile", "secrets (via azureFile volumes)"}}
	needyProjections = needy{{"configMap", "configmaps (via projected volumes)"}, {"secret", "secrets (via projected volumes)"},
		{"serviceAccountToken", "serviceaccounts (via projected volumes)"}, {"clusterTrustBundle", "clustertrustbundles"}, {"podCertificate", "podcertificates"}}
)

func (n needy) of(v document.Value) string {
	for _, of := range n {
		if v.Get(of.source).Exists() {
			return of.named
		}
	}
	return ""
}

// namedByVolume is namedObjects of one volume.
func namedByVolume(volume document.Value) (string, error) {
	if named := needyVolumes.of(volume); named != "" {
		return named, nil
	}
	for _, source := range volume.At("projected", "sources").Elements() {
		if named := needyProjections.of(source); named != "" {
			return named, nil
		}
		if !source.Get("downwardAPI").Exists() {
			return "", fmt.Errorf("unknown source for projected volume %q", volume.Get("name").Text())
		}
	}
	return "", nil
}
