package controller

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/capstan-dev/capstan/internal/document"
)

// Finalizers by which a delete requests work of the garbage collector.
const (
	finalizerOrphan     = "orphan"
	finalizerForeground = "foregroundDeletion"
)

// uid identifies an object: the sixteen bytes of a UUID, for other text a part of its
// hash.
type uid [16]byte

// parseUID reads a uid as objects spell it.
func parseUID(text []byte) (u uid) {
	if len(text) == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' && lowerHex(text) {
		var digits [32]byte
		n := copy(digits[:], text[:8])
		n += copy(digits[n:], text[9:13])
		n += copy(digits[n:], text[14:18])
		n += copy(digits[n:], text[19:23])
		copy(digits[n:], text[24:])
		if _, err := hex.Decode(u[:], digits[:]); err == nil {
			return u
		}
	}
	sum := sha256.Sum256(text)
	copy(u[:], sum[:])
	return u
}

// lowerHex reports whether text has no upper-case digits, which would make another uid.
func lowerHex(text []byte) bool {
	for _, c := range text {
		if 'A' <= c && c <= 'F' {
			return false
		}
	}
	return true
}

// metadata is the part of an object that the garbage collector reads.
type metadata struct {
	uid        string
	deleting   bool
	orphan     bool // has the finalizer
	foreground bool // has the finalizer
	owners     []ownerReference
}

// ownerReference is one of an object's ownerReferences.
type ownerReference struct {
	kind   Kind
	name   string
	uid    string
	blocks bool // blockOwnerDeletion
}

// waits reports whether the object's deletion waits for its dependents.
func (m *metadata) waits() bool { return m.deleting && m.foreground }

// orphans reports whether the object's deletion waits until its dependents are orphaned.
func (m *metadata) orphans() bool { return m.deleting && m.orphan }

// readMetadata reads the stored form of an object.
func readMetadata(body []byte) (m metadata) {
	raw, _ := document.Find(body, "metadata")
	document.EachMember(raw, func(name, value []byte) bool {
		switch string(name) {
		case "uid":
			m.uid = document.Unquote(value)
		case "deletionTimestamp":
			m.deleting = string(value) != "null"
		case "finalizers":
			m.readFinalizers(value)
		case "ownerReferences":
			document.EachElement(value, func(owner []byte) bool {
				m.owners = append(m.owners, readOwner(owner))
				return true
			})
		}
		return true
	})
	return m
}

func (m *metadata) readFinalizers(list []byte) {
	document.EachElement(list, func(value []byte) bool {
		switch string(value) {
		case `"` + finalizerOrphan + `"`:
			m.orphan = true
		case `"` + finalizerForeground + `"`:
			m.foreground = true
		}
		return true
	})
}

func readOwner(owner []byte) (r ownerReference) {
	document.EachMember(owner, func(name, value []byte) bool {
		switch string(name) {
		case "apiVersion":
			r.kind.APIVersion = document.Unquote(value)
		case "kind":
			r.kind.Kind = document.Unquote(value)
		case "name":
			r.name = document.Unquote(value)
		case "uid":
			r.uid = document.Unquote(value)
		case "blockOwnerDeletion":
			r.blocks = string(value) == "true"
		}
		return true
	})
	return r
}
