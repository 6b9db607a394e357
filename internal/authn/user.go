// Package authn authenticates requests: it finds their user.
package authn

import "slices"

// User is the user of a request. The values are opaque to this package.
//
// Invariant: a User is never changed after it was returned; it may be shared by requests
// and kept.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// Names with a meaning of their own.
const (
	UserAnonymous        = "system:anonymous"
	GroupUnauthenticated = "system:unauthenticated"
	GroupAuthenticated   = "system:authenticated"
	GroupMasters         = "system:masters" // may do everything, whatever the policies
)

// Anonymous is the user of requests without credentials.
func Anonymous() *User {
	return &User{Name: UserAnonymous, Groups: []string{GroupUnauthenticated}}
}

// authenticated returns the user with the group of all authenticated users; the user
// itself when it has the group already or is the anonymous one.
func authenticated(u *User) *User {
	if u.Name == UserAnonymous || slices.Contains(u.Groups, GroupAuthenticated) || slices.Contains(u.Groups, GroupUnauthenticated) {
		return u
	}
	c := *u
	c.Groups = append(slices.Clone(u.Groups), GroupAuthenticated)
	return &c
}
