// Package options decides at the start what a server does: which features are on, by their
// gates, and which group versions and resources, by the runtime configuration. It knows the
// flags of kube-apiserver that have no effect here or not alone, and suggests existing flags
// for unknown ones.
//
// # Decisions
//
// The built-in groups are always there; a group that is not served is off. A server of own groups
// only (Config.OwnGroupsOnly) has the rows of all groups, but those are off that not every server
// has (EveryServer). On are namespaces, roles, and reviews of access and tokens; --runtime-config
// turns on more. So there is one chain of admission, one set of controllers and one way of a write,
// and no composition lacks a protection. A controller or a chore about a kind that is not served
// does not run, and the OpenAPI documents leave out whatever is off when the first of them is asked
// for (server/internal/discovery/narrow.go). The test internal/e2e/ownonly_test.go has the bounds
// of size and start.
//
// Versions and resources that --runtime-config turns off (runtimeconfig.go; alpha versions are off
// by default) are not routed and not discovered. They stay in the catalog, since another version
// may be stored as theirs. A group version may be served without being in discovery: for clients
// that know it (reviews of tokens in v1beta1), or while a definition is written.
//
// The gates of 1.25 are known. Gates with an effect are in the help, the others are accepted with a
// warning. A field behind a gate that is off (x-cluster-feature-gate) is dropped after its owner
// was recorded, before the hooks (internal/document/gate.go).
//
// A flag without effect (inert.go) is refused where its absence would leave something open,
// unrecorded or unencrypted, since nobody would notice. A flag that would grant access gets a
// warning only.
package options
