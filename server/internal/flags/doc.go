// Package flags knows the flags of kube-apiserver that have no effect here or not alone,
// and suggests existing flags for unknown ones.
//
// # Decisions
//
// A flag without effect (inert.go) is refused where its absence would leave something open,
// unrecorded or unencrypted, since nobody would notice. A flag that would grant access gets a
// warning only.
package flags
