package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
)

// roleGroup is the API group of roles, users and groups.
const roleGroup = "rbac.authorization." + profile.GroupSuffix

// ValidateRoleBinding checks what is granted and to whom.
func (Policy) ValidateRoleBinding(obj, _ document.Value) []schema.Cause {
	return bindingCauses(obj, true, "ClusterRole", "Role")
}

// ValidateClusterRoleBinding checks what is granted and to whom.
func (Policy) ValidateClusterRoleBinding(obj, _ document.Value) []schema.Cause {
	return bindingCauses(obj, false, "ClusterRole")
}

func bindingCauses(obj document.Value, namespaced bool, kinds ...string) []schema.Cause {
	var c causes
	ref := obj.Get("roleRef")
	if group := ref.Get("apiGroup"); !group.Equals(roleGroup) {
		c.notSupportedAt(member(ref, "apiGroup"), group, roleGroup)
	}
	known := false
	for _, k := range kinds {
		known = known || ref.Get("kind").Equals(k)
	}
	if !known {
		c.notSupportedAt(member(ref, "kind"), ref.Get("kind"), kinds...)
	}
	if name := ref.Get("name"); isEmpty(name) {
		c.required(member(ref, "name"), "")
	} else {
		c.format(name, "path-segment")
	}
	for _, s := range obj.Get("subjects").Elements() {
		c.subject(s, namespaced)
	}
	return c
}

func (c *causes) subject(s document.Value, namespaced bool) {
	name, group := s.Get("name"), s.Get("apiGroup")
	if isEmpty(name) {
		c.required(member(s, "name"), "")
	}
	switch s.Get("kind").Text() {
	case "ServiceAccount":
		if !isEmpty(name) {
			c.format(name, "dns1123-subdomain")
		}
		if !isEmpty(group) {
			c.notSupported(group, "")
		}
		if isEmpty(s.Get("namespace")) && !namespaced {
			c.required(member(s, "namespace"), "")
		}
	case "User", "Group":
		if !group.Equals(roleGroup) {
			c.notSupportedAt(member(s, "apiGroup"), group, roleGroup)
		}
	default:
		c.notSupportedAt(member(s, "kind"), s.Get("kind"), "ServiceAccount", "User", "Group")
	}
}

func roleCell(obj document.Value) string {
	return obj.At("roleRef", "kind").Text() + "/" + obj.At("roleRef", "name").Text()
}

// subjectsCell lists the subjects of a kind.
func subjectsCell(obj document.Value, kind string) string {
	var list []string
	for _, s := range obj.Get("subjects").Elements() {
		if !s.Get("kind").Equals(kind) {
			continue
		}
		text := s.Get("name").Text()
		if kind == "ServiceAccount" {
			text = s.Get("namespace").Text() + "/" + text
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// CellRoleBindingRole shows the role.
func (Policy) CellRoleBindingRole(obj document.Value) any { return roleCell(obj) }

// CellRoleBindingUsers lists the users.
func (Policy) CellRoleBindingUsers(obj document.Value) any { return subjectsCell(obj, "User") }

// CellRoleBindingGroups lists the groups.
func (Policy) CellRoleBindingGroups(obj document.Value) any { return subjectsCell(obj, "Group") }

// CellRoleBindingServiceAccounts lists the service accounts.
func (Policy) CellRoleBindingServiceAccounts(obj document.Value) any {
	return subjectsCell(obj, "ServiceAccount")
}

// CellClusterRoleBindingRole shows the role.
func (Policy) CellClusterRoleBindingRole(obj document.Value) any { return roleCell(obj) }

// CellClusterRoleBindingUsers lists the users.
func (Policy) CellClusterRoleBindingUsers(obj document.Value) any { return subjectsCell(obj, "User") }

// CellClusterRoleBindingGroups lists the groups.
func (Policy) CellClusterRoleBindingGroups(obj document.Value) any {
	return subjectsCell(obj, "Group")
}

// CellClusterRoleBindingServiceAccounts lists the service accounts.
func (Policy) CellClusterRoleBindingServiceAccounts(obj document.Value) any {
	return subjectsCell(obj, "ServiceAccount")
}
