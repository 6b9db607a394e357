// Package extensions serves the group versions of extension servers: it follows the API
// services that name a service of the cluster, checks whether their servers are
// available, forwards requests to them, and keeps the documents that describe them.
//
// # Decisions
//
// Extension servers are remote versions of the catalog. The room follows the API services that name
// a service, and a snapshot has their group versions as catalog.Remote, so that routing, discovery
// and OpenAPI see one state. The router gives a path below such a version a target without a row:
// the request is authenticated, authorized by the form of its path and counted like others. Then it
// is forwarded (proxy.go) with its body unread, outside of the places of local requests and inside
// of those of its server. Package forward sends requests on, those for nodes, pods and services
// too: redirects are never followed. The answers while a server is not available are those of 1.25,
// in plain text.
//
// Built-in group versions stay local whatever their API service names; 1.25 gives them away until
// its next start. A version of custom resources yields to an API service that the server has not
// made.
//
// The rooms that delete and count reach objects of extension servers:
//
//   - The end of a namespace deletes remote objects too, and waits for servers that are not
//     available, as in 1.25.
//   - The garbage collector looks up owners that extension servers keep, again every 30 seconds,
//     and deletes for them only after an answer that names the missing object. It does not see the
//     dependents that they keep.
//   - Resource quotas that bound the numbers of remote objects (count/…) count them every 30
//     seconds; 1.25 watches them. An extension server charges its own creates.
package extensions
