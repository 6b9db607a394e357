package request

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
)

// Parameters by which clients get along with objects that cannot be read.
const (
	// IgnoreUnreadable leaves them out of a list.
	IgnoreUnreadable = "ignoreUnreadable"
	// IgnoreReadErrors deletes one without looking into it. Its name is that of later
	// releases of Kubernetes.
	IgnoreReadErrors = "ignoreStoreReadErrorWithClusterBreakingPotential"
)

// unreadable is the answer to a request that has met an object that cannot be read. It
// names the object if the request is about it, or about a collection that it is in.
func (r *Request) unreadable(err *store.UnreadableError) *api.Error {
	name, t := "an object", r.Target
	if t.Row != nil && strings.HasPrefix(err.Key, t.Row.Prefix(t.Namespace)) {
		namespace, object := t.Row.SplitKey(err.Key)
		name = t.Row.Plural + " " + strings.TrimPrefix(namespace+"/"+object, "/")
	}
	return api.Internal(name + " cannot be read: the key that encrypted it is missing, or its record is damaged; the server's log says more. " +
		"A list with ?" + IgnoreUnreadable + "=true has the others. Give the server the key, or delete the object with ?" + IgnoreReadErrors + "=true")
}
