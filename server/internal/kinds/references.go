package kinds

import "github.com/capstan-dev/capstan/internal/document"

// NamedKind is the kind of a named object, which is in the namespace of the pod.
type NamedKind uint8

// The kinds of objects that pods name.
const (
	Secret NamedKind = iota
	ConfigMap
	Claim
	ServiceAccount
)

// NamesOf visits the names in a pod; one may come several times. The claims of ephemeral
// volumes are among them, by the names that they get.
func NamesOf(pod document.Value, visit func(kind NamedKind, name string)) {
	v := named(visit)
	spec := pod.Get("spec")
	v(ServiceAccount, spec.Get("serviceAccountName"))
	for _, secret := range spec.Get("imagePullSecrets").Elements() {
		v(Secret, secret.Get("name"))
	}
	for _, list := range [...]string{"initContainers", "containers", "ephemeralContainers"} {
		for _, container := range spec.Get(list).Elements() {
			v.container(container)
		}
	}
	for _, volume := range spec.Get("volumes").Elements() {
		v.volume(volume)
		if volume.Get("ephemeral").Exists() {
			visit(Claim, pod.At("metadata", "name").Text()+"-"+volume.Get("name").Text())
		}
	}
}

// DeviceClaimsOf visits the names of the claims of a pod on devices: those that the pod names, and those that were made for it, as far as
// its status says.
func DeviceClaimsOf(pod document.Value, visit func(name string)) {
	made := pod.At("status", "resourceClaimStatuses")
	for _, claim := range pod.At("spec", "resourceClaims").Elements() {
		source := claim
		if old := claim.Get("source"); old.Exists() { // up to 1.30
			source = old
		}
		name := source.Get("resourceClaimName")
		if name.IsNothing() && !source.Get("resourceClaimTemplateName").IsNothing() {
			name = made.ElementBy("name", claim.Get("name").Text()).Get("resourceClaimName")
		}
		if text := name.Text(); text != "" {
			visit(text)
		}
	}
	if text := pod.At("status", "extendedResourceClaimStatus", "resourceClaimName").Text(); text != "" {
		visit(text)
	}
}

// Device identifies an allocated device by its driver, its pool and its name, and by the share of it that was allocated.
type Device [4]string

// DeviceOf is the device of a result of an allocation, or of a driver's report.
func DeviceOf(v document.Value) Device {
	return Device{v.Get("driver").Text(), v.Get("pool").Text(), v.Get("device").Text(), v.Get("shareID").Text()}
}

// Driver is the name of the driver.
func (d Device) Driver() string { return d[0] }

// NamesOfVolume visits the names in a volume of a pod, without the claim of an ephemeral one.
func NamesOfVolume(volume document.Value, visit func(kind NamedKind, name string)) {
	named(visit).volume(volume)
}

// NamesOfContainer visits the names in a container of a pod.
func NamesOfContainer(container document.Value, visit func(kind NamedKind, name string)) {
	named(visit).container(container)
}

type visitor func(kind NamedKind, name document.Value)

// named leaves out names that are empty.
func named(visit func(kind NamedKind, name string)) visitor {
	return func(kind NamedKind, name document.Value) {
		if text := name.Text(); text != "" {
			visit(kind, text)
		}
	}
}

func (v visitor) container(c document.Value) {
	for _, from := range c.Get("envFrom").Elements() {
		v(Secret, from.At("secretRef", "name"))
		v(ConfigMap, from.At("configMapRef", "name"))
	}
	for _, env := range c.Get("env").Elements() {
		from := env.Get("valueFrom")
		v(Secret, from.At("secretKeyRef", "name"))
		v(ConfigMap, from.At("configMapKeyRef", "name"))
	}
}

// volumeSecrets are the sources of a pod's volumes whose secretRef names a secret.
var volumeSecrets = [...]string{"cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"}

func (v visitor) volume(volume document.Value) {
	for _, source := range volumeSecrets {
		v(Secret, volume.At(source, "secretRef", "name"))
	}
	v(Secret, volume.At("azureFile", "secretName"))
	v(Secret, volume.At("secret", "secretName"))
	v(Secret, volume.At("csi", "nodePublishSecretRef", "name"))
	v(ConfigMap, volume.At("configMap", "name"))
	v(Claim, volume.At("persistentVolumeClaim", "claimName"))
	for _, source := range volume.At("projected", "sources").Elements() {
		v(Secret, source.At("secret", "name"))
		v(ConfigMap, source.At("configMap", "name"))
	}
}

// SecretsOf visits the secrets of a persistent volume that the agent of a node needs to
// mount it; those of the storage's controllers are not among them.
func SecretsOf(volume document.Value, visit func(namespace, name string)) {
	spec := volume.Get("spec")
	claimed := spec.At("claimRef", "namespace").Text()
	add := func(namespace, name document.Value, otherwise string) {
		if text := name.Text(); text != "" {
			if home := namespace.Text(); home != "" {
				otherwise = home
			}
			visit(otherwise, text)
		}
	}
	add(spec.At("azureFile", "secretNamespace"), spec.At("azureFile", "secretName"), claimed)
	for _, source := range volumeSecrets {
		ref := spec.At(source, "secretRef")
		if source == "cinder" || source == "storageos" { // which always name the namespace
			add(ref.Get("namespace"), ref.Get("name"), "")
			continue
		}
		add(ref.Get("namespace"), ref.Get("name"), claimed)
	}
	for _, use := range [...]string{"nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"} {
		ref := spec.At("csi", use)
		add(ref.Get("namespace"), ref.Get("name"), "")
	}
}
