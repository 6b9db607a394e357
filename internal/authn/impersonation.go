package authn

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// The headers of impersonation, in the canonical form of net/http.
const (
	impersonationHeaders = "Impersonate-"
	impersonateUser      = impersonationHeaders + "User"
	impersonateGroup     = impersonationHeaders + "Group"
	impersonateUID       = impersonationHeaders + "Uid"
	impersonateExtra     = impersonationHeaders + "Extra-"
)

// Impersonation is the wish of a request to be handled as one of another user.
type Impersonation struct {
	User *User
	// Parts are what the sender has to be allowed to impersonate, each of them.
	Parts []Impersonated
}

// Impersonated is a part of another user, named by a resource of the authentication or the
// core group.
type Impersonated struct {
	Resource string // users, serviceaccounts, nodes (InMode), groups, uids, userextras
	Key      string // of an extra value
	// Namespace is that of a service account.
	Namespace, Name string
}

// ReadImpersonation returns the wish in the headers of a request, nil for none. A request
// that names groups, a uid or extra values, and no user, is a 400.
func ReadImpersonation(h http.Header) (*Impersonation, error) {
	for name := range h {
		if strings.HasPrefix(name, impersonationHeaders) {
			return readImpersonation(h)
		}
	}
	return nil, nil
}

func readImpersonation(h http.Header) (*Impersonation, error) {
	user := &User{Name: h.Get(impersonateUser), UID: h.Get(impersonateUID), Groups: slices.Clone(h[impersonateGroup])}
	var parts []Impersonated
	if namespace, name, ok := SplitServiceAccount(user.Name); ok {
		parts = append(parts, Impersonated{Resource: "serviceaccounts", Namespace: namespace, Name: name})
		if len(user.Groups) == 0 {
			user.Groups = serviceAccountGroups(namespace)
		}
	} else if user.Name != "" {
		parts = append(parts, Impersonated{Resource: "users", Name: user.Name})
	}
	for _, group := range h[impersonateGroup] {
		parts = append(parts, Impersonated{Resource: "groups", Name: group})
	}
	for _, header := range slices.Sorted(maps.Keys(h)) {
		encoded, ok := strings.CutPrefix(header, impersonateExtra)
		if !ok {
			continue
		}
		encoded = strings.ToLower(encoded)
		key, err := url.PathUnescape(encoded)
		if err != nil {
			key = encoded
		}
		for _, value := range h[header] {
			if user.Extra == nil {
				user.Extra = map[string][]string{}
			}
			user.Extra[key] = append(user.Extra[key], value)
			parts = append(parts, Impersonated{Resource: "userextras", Key: key, Name: value})
		}
	}
	if user.UID != "" {
		parts = append(parts, Impersonated{Resource: "uids", Name: user.UID})
	}
	switch {
	case len(parts) == 0:
		return nil, nil
	case user.Name == "":
		return nil, api.BadRequest("the request names groups, a uid or extra values to act with but no user to act as: set the header %s, or leave out %s and the like", impersonateUser, impersonateGroup)
	}
	user.addStanding()
	return &Impersonation{user, parts}, nil
}

// Bare reports whether the wish names a user and nothing else.
func (i *Impersonation) Bare() bool { return len(i.Parts) == 1 }

// IsAccount reports whether the user is a service account.
func (i *Impersonation) IsAccount() bool { return i.Parts[0].Resource == "serviceaccounts" }

// Node is the node whose agent the user is; "" for another user.
func (i *Impersonation) Node() string {
	name, is := strings.CutPrefix(i.User.Name, NodePrefix)
	if !is || len(document.CheckFormat("dns1123-subdomain", name)) > 0 {
		return ""
	}
	return name
}

// InMode is the wish where agents of nodes are users of their own kind, with the groups that all of them have.
func (i *Impersonation) InMode() *Impersonation {
	node := i.Node()
	if node == "" {
		return i
	}
	user := &User{Name: i.User.Name, Groups: []string{GroupNodes, GroupAuthenticated}}
	return &Impersonation{user, append([]Impersonated{{Resource: "nodes", Name: node}}, i.Parts[1:]...)}
}

// extraPath is the part of a key of extra values after the slash.
var extraPath = regexp.MustCompile(`^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$`)

// MistakeOfExtra is the mistake of an extra value that no sender may have in single requests only; "" for none.
func (i Impersonated) MistakeOfExtra() string {
	const prefix = "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "
	host, path, _ := strings.Cut(i.Key, "/")
	if i.Key == "" {
		return "impersonating the empty string key in extra is not allowed"
	}
	if host == "" || path == "" {
		return prefix + strconv.Quote(i.Key) + `: must be a domain-prefixed path (such as "acme.io/foo")`
	}
	if wrong := document.CheckFormat("dns1123-subdomain", host); len(wrong) > 0 {
		return prefix + strconv.Quote(host) + ": " + wrong[0]
	}
	switch {
	case !extraPath.MatchString(path):
		return prefix + strconv.Quote(path) + ": Invalid path (regex used for validation is '" + strings.Trim(extraPath.String(), "^$") + "')"
	case i.Key != strings.ToLower(i.Key):
		return "impersonating a non-lowercase key in extra is not allowed: " + strconv.Quote(i.Key)
	case i.Name == "":
		return "impersonating the empty string value in extra is not allowed"
	}
	return ""
}

// addStanding adds the group that says whether the user is authenticated, unless the
// client chose one.
func (u *User) addStanding() {
	switch {
	case slices.Contains(u.Groups, GroupUnauthenticated):
	case u.Name == UserAnonymous:
		u.Groups = append(u.Groups, GroupUnauthenticated)
	case !slices.Contains(u.Groups, GroupAuthenticated):
		u.Groups = append(u.Groups, GroupAuthenticated)
	}
}

// ServiceAccountPrefix begins the user names of service accounts:
// system:serviceaccount:NAMESPACE:NAME.
const ServiceAccountPrefix = "system:serviceaccount:"

// SplitServiceAccount returns the service account that a user name stands for.
func SplitServiceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, ServiceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, _ = strings.Cut(rest, ":")
	ok = len(document.CheckFormat("dns1123-label", namespace)) == 0 && len(document.CheckFormat("dns1123-subdomain", name)) == 0
	return namespace, name, ok
}

// ServiceAccount is the user that a service account is.
func ServiceAccount(namespace, name, uid string) *User {
	return &User{Name: AccountName(namespace, name), UID: uid, Groups: append(serviceAccountGroups(namespace), GroupAuthenticated)}
}

// serviceAccountGroups are the groups of all service accounts of a namespace.
func serviceAccountGroups(namespace string) []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
}
