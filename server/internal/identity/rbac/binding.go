package rbac

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
)

// object is a role or a binding in memory: one of them is set.
type object struct {
	rules   *[]rule // of a role
	binding *binding
}

// binding gives the rights of a role to subjects, in its namespace or everywhere. It
// never changes but for role, which is set once, before requests see it.
type binding struct {
	namespace string // "" for everywhere
	ref       roleRef
	role      *role
	subjects  []boundSubject
}

// roleRef names a role.
type roleRef struct{ namespace, kind, name string }

// subject is a user, service accounts included, or a group, with the namespace in which
// it has rights.
type subject struct {
	group     bool
	name      string
	namespace string // "" for everywhere
}

// boundSubject is a subject of a binding.
type boundSubject struct {
	subject
	reason string // for which a request of the subject is allowed
}

// readBinding reads a stored binding; namespace is "" for a ClusterRoleBinding.
func readBinding(obj document.Value, namespace string) *binding {
	ref := obj.Get("roleRef")
	b := &binding{namespace: namespace, ref: roleRef{kind: ref.Get("kind").Text(), name: ref.Get("name").Text()}}
	if b.ref.kind == "Role" {
		b.ref.namespace = namespace
	}
	source := "ClusterRoleBinding " + strconv.Quote(obj.At("metadata", "name").Text())
	if namespace != "" {
		source = "RoleBinding " + strconv.Quote(obj.At("metadata", "name").Text()+"/"+namespace)
	}
	source = "RBAC: allowed by " + source + " of " + b.ref.kind + " " + strconv.Quote(b.ref.name) + " to "
	for _, v := range obj.Get("subjects").Elements() {
		kind, name := v.Get("kind").Text(), v.Get("name").Text()
		s := boundSubject{subject: subject{group: kind == "Group", name: name, namespace: namespace}}
		described := name
		switch kind {
		case "User", "Group":
		case "ServiceAccount":
			home := v.Get("namespace").Text()
			if home == "" {
				home = namespace
			}
			if home == "" {
				continue
			}
			described, s.name = name+"/"+home, authn.ServiceAccountPrefix+home+":"+name
		default:
			continue
		}
		s.reason = source + kind + " " + strconv.Quote(described)
		b.subjects = append(b.subjects, s)
	}
	return b
}
