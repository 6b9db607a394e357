// Package operate is for the operators of a store: commands to the server that uses it,
// and the migration of objects that older releases stored.
//
// # Decisions
//
// Migration is a write. The command "capstan store migrate" rewrites objects that would be stored
// differently today: in other versions, or under other documents. That gives such an object a new
// revision and one event, as the PUT of a migrator does in 1.25, so that caches by resourceVersion
// see the change; other objects are not written. After the migration reads cost nothing extra,
// except at revisions before it. The position of the migration is kept in the store, bound to the
// versions and forms of this binary: another binary begins anew.
package operate
