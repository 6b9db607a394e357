// Package registry is the form in which kube-apiserver 1.25 keeps objects in etcd, so that
// servers of both kinds can work on one etcd: the keys, the version of each kind, and the
// bytes.
//
// # Decisions
//
// The keys, the versions and the bytes are those of a running kube-apiserver 1.25.16, which
// testdata/README.md says how to record. Its choices have no rule: it keeps autoscalers in
// autoscaling/v1, and budgets, endpoint slices and definitions in versions that it does not
// serve any more. Three small tables hold the exceptions (kind.go).
//
// An object in another version of its group, which an older or a newer kube-apiserver wrote,
// is read all the same where the catalog has that version. JSON and YAML are read where the binary
// form is usual, because kube-apiserver can be configured to write them, and so can this server. An
// update of an object as it is writes the object in the form of the server's configuration.
//
// Objects are read with all defaults, as kube-apiserver reads them. It keeps new volumes,
// claims and jobs without a default that it fills in when it reads them; such an object that
// is read and encoded again has it, as after an update by kube-apiserver.
//
// A custom object may be read before its definition is known. Then only its metadata have
// types; the record about the form of its kind (stored.CustomForm) is younger, so readers
// complete the object.
package registry
