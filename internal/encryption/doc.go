// Package encryption encrypts what the store writes, by a configuration with the form of
// kube-apiserver 1.25's: AES, secretbox, or keys that a key management service guards
// (KMS).
//
// A record of another key or another revision cannot take a record's place: its key in
// the store is authenticated with it, whatever the provider.
//
// # Decisions
//
// Encryption is below the cache. Encrypted are the records of the store's tree, values and headers,
// before Pebble sees them. So Pebble's log, its files, history and backups have nothing else, while
// the cache, the rings and the index in memory are plain and reads of them cost nothing. A record
// is bound to its key and revision, whatever the algorithm. Keys (the names of objects), sizes and
// the log of changes can be read on the disk.
//
// A value that would be encrypted in another way today is read as a changed one (Entry.Rewritten),
// so that a PUT of the object as it is, or a migration, writes it; until then the value is not
// cached. Cached values count for one generation of the cipher, which ends with a reload of the
// file or with another key of a service.
//
// A record that cannot be opened is an error of its own (store.UnreadableError), so that a list can
// go on behind it, and a transaction that asks for it (store.Discarding) can delete it unread.
//
// A key management service guards one key of the process, not one per value. It is called over
// HTTP/2 by hand (internal/grpc), since gRPC's library would add 5 MB.
package encryption
