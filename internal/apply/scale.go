package apply

import "github.com/capstan-dev/capstan/internal/document"

// Replicas is the one field of an object that its Scale shows and writes. The owners of
// the one are those of the other: a Scale has entries of its own, for the time of a write.
type Replicas struct {
	Version string              // of the object in the write: "apps/v1"
	Paths   map[string][]string // of the field, by the object's version
}

// replicas is the field of a Scale.
var replicas = NewSet([]string{"spec", "replicas"})

// Show gives a Scale in a version the owners of the replicas in an object.
func (r *Replicas) Show(scale, object document.Value, version string) {
	managers, err := readLedger(object.At("metadata", "managedFields"), false)
	if err != nil {
		managers = nil
	}
	var shown ledger
	for _, e := range managers {
		if !r.owns(e) {
			continue
		}
		id := e.id.in(version)
		if me := shown.find(id); me != nil { // in another version of the object
			me.time = e.time
			continue
		}
		shown = append(shown, &entry{id: id, version: version, time: e.time, set: replicas, known: true, changed: true})
	}
	shown.store(scale.SetObject("metadata"))
}

// Take makes the owners of a Scale's replicas those of an object's. New ones have no time,
// as in 1.25.
func (r *Replicas) Take(object, scale document.Value) {
	meta, list := object.SetObject("metadata"), scale.At("metadata", "managedFields")
	managers, err := readLedger(meta.Get("managedFields"), false)
	if err != nil {
		managers = nil
	}
	owners, err := readLedger(list, false)
	if err != nil {
		owners = nil
	}
	version, kept := list.Index(0).Get("apiVersion").Text(), map[*entry]bool{}
	for _, e := range managers {
		if !r.owns(e) {
			continue
		}
		if owner := owners.find(e.id.in(version)); owner != nil {
			kept[owner] = true
		} else {
			e.own(e.owned().Difference(NewSet(r.Paths[e.version])))
		}
	}
	for _, owner := range owners {
		if kept[owner] || owner.owned().Intersection(replicas).Empty() {
			continue
		}
		id := owner.id.in(r.Version)
		me := managers.find(id)
		if me == nil {
			me = &entry{id: id, version: r.Version}
			managers = append(managers, me)
		}
		me.own(me.owned().Union(NewSet(r.Paths[r.Version])))
	}
	managers.withoutEmpty().store(meta)
}

// owns reports whether an entry of the object has the replicas.
func (r *Replicas) owns(e *entry) bool {
	path := r.Paths[e.version]
	return path != nil && !e.owned().Intersection(NewSet(path)).Empty()
}

// in is the identity in another version.
func (id identity) in(version string) identity {
	if id.Operation == opUpdate {
		id.APIVersion = version
	}
	return id
}
