package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

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
