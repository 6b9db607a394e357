package authn

import (
	"slices"
	"strings"
)

const (
	// GroupNodes is the group of the agents of nodes.
	GroupNodes = "system:nodes"
	// NodePrefix begins the names of the agents of nodes; the name of the node follows.
	NodePrefix = "system:node:"
)

// NodeOf returns the name of the node whose agent the user is. It may be "", of an agent
// that names no node. user may be nil.
func NodeOf(user *User) (name string, ok bool) {
	if user == nil {
		return "", false
	}
	name, ok = strings.CutPrefix(user.Name, NodePrefix)
	if !ok || !slices.Contains(user.Groups, GroupNodes) {
		return "", false
	}
	return name, true
}
