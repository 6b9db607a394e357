package stage

// Kind is a resource that clients use.
type Kind struct {
	Resource, Kind, Group, Version string
	Namespaced                     bool
}

// APIVersion is that of the kind's objects.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// Path is that of the collection in a namespace, "" for all of them.
func (k Kind) Path(namespace string) string {
	path := "/api/" + k.Version
	if k.Group != "" {
		path = "/apis/" + k.Group + "/" + k.Version
	}
	if k.Namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + k.Resource
}

// Builtin are the built-in kinds that a storm uses; all their changes are watched.
var Builtin = []Kind{
	{"namespaces", "Namespace", "", "v1", false},
	{"configmaps", "ConfigMap", "", "v1", true},
	{"podtemplates", "PodTemplate", "", "v1", true},
	{"resourcequotas", "ResourceQuota", "", "v1", true},
	{"services", "Service", "", "v1", true},
	{"pods", "Pod", "", "v1", true},
	{"deployments", "Deployment", "apps", "v1", true},
	{"poddisruptionbudgets", "PodDisruptionBudget", "policy", "v1", true},
	{"roles", "Role", "rbac.authorization.k8s.io", "v1", true},
	{"rolebindings", "RoleBinding", "rbac.authorization.k8s.io", "v1", true},
	{"limitranges", "LimitRange", "", "v1", true},
	{"validatingadmissionpolicies", "ValidatingAdmissionPolicy", "admissionregistration.k8s.io", "v1", false},
	{"validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", "admissionregistration.k8s.io", "v1", false},
	{"mutatingadmissionpolicies", "MutatingAdmissionPolicy", "admissionregistration.k8s.io", "v1", false},
	{"mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding", "admissionregistration.k8s.io", "v1", false},
	{"apiservices", "APIService", "apiregistration.k8s.io", "v1", false},
	{"customresourcedefinitions", "CustomResourceDefinition", "apiextensions.k8s.io", "v1", false},
}

// KindOf is the built-in kind of a resource.
func KindOf(resource string) Kind {
	for _, k := range Builtin {
		if k.Resource == resource {
			return k
		}
	}
	panic("no such kind: " + resource) // a mistake of an area
}
