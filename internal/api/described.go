package api

// The documents of discovery, as they are written for clients and read from extension
// servers.

// TypeMeta is the kind of a document. The oldest of them have no apiVersion.
type TypeMeta struct {
	Kind       string `json:"kind,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
}

// GroupDescription is the document of a group.
type GroupDescription struct {
	TypeMeta
	Name             string               `json:"name"`
	Versions         []VersionDescription `json:"versions"`
	PreferredVersion VersionDescription   `json:"preferredVersion"`
}

// VersionDescription names a group version.
type VersionDescription struct {
	GroupVersion string `json:"groupVersion"`
	Version      string `json:"version"`
}

// ResourceList is the document of the resources and subresources of a group version.
type ResourceList struct {
	TypeMeta
	GroupVersion string                `json:"groupVersion"`
	Resources    []ResourceDescription `json:"resources"`
}

// ResourceDescription describes a resource, or a subresource: its name has a slash.
type ResourceDescription struct {
	Name               string   `json:"name"`
	SingularName       string   `json:"singularName"`
	Namespaced         bool     `json:"namespaced"`
	Group              string   `json:"group,omitempty"` // of the kind, "" for that of the list
	Version            string   `json:"version,omitempty"`
	Kind               string   `json:"kind"`
	Verbs              []string `json:"verbs"`
	ShortNames         []string `json:"shortNames,omitempty"`
	Categories         []string `json:"categories,omitempty"`
	StorageVersionHash string   `json:"storageVersionHash,omitempty"`
}
