// Package pki holds the certificates and keys of a server: it reads the given ones, makes
// and renews the others, and reloads changed files while connections are open.
//
// # Decisions
//
// The server's credentials and trust (keyring.go) are one pointer to certificates, authorities and
// values derived from them, and one to tokens. Files are compared by content, so that links and
// times do not matter; half a pair of files, or a wrong file, changes nothing. Logins read the
// pointer with every request, handshakes with each connection.
package pki
