package selector

// HeaderBits is a summary of a header: two of 64 bits for every label with its
// value, and for every field that is not empty. What follows a damage is left
// out, which does no harm: a damaged header matches nothing.
//
// Invariant, kept with Selector.Bits: a header that a selector chooses has all
// bits of the selector. The others mostly have not, and need not be looked at.
func HeaderBits(meta []byte) uint64 {
	r := reader{rest: meta}
	if len(meta) == 0 || r.number() != metaVersion {
		return 0
	}
	var bits uint64
	labels := reader{rest: r.block()}
	for len(labels.rest) > 0 {
		key := labels.text()
		bits |= labelBits(key, labels.text())
	}
	for slot, n := uint64(0), r.number(); slot < n && !r.bad; slot++ {
		if value := r.text(); len(value) > 0 {
			bits |= fieldBits(int(slot), value)
		}
	}
	return bits
}

// Bits are in the HeaderBits of every header that the selector chooses. They are
// 0 when the selector demands no particular label or field. A field whose default
// or the empty text is wanted demands nothing, because headers may leave it out.
func (s *Selector) Bits() uint64 {
	var bits uint64
	for i := range s.labels {
		if l := &s.labels[i]; l.op == labelIn && len(l.values) == 1 {
			bits |= labelBits(l.key, l.values[0])
		}
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.slot >= 0 && !f.negate && f.value != f.absent && f.value != "" {
			bits |= fieldBits(f.slot, f.value)
		}
	}
	return bits
}

func labelBits[T string | []byte](key, value T) uint64 {
	return spread(hash(hash(hashStart, key)*hashPrime, value)) // the product stands for a byte between the two
}

func fieldBits[T string | []byte](slot int, value T) uint64 {
	return spread(hash((hashStart^^uint64(slot))*hashPrime, value))
}

// The numbers of FNV-1a, 64 bits.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

func hash[T string | []byte](h uint64, text T) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * hashPrime
	}
	return h
}

// spread makes two bits of a hash, of its upper half, which all bytes reach.
func spread(h uint64) uint64 { return 1<<(h>>58) | 1<<(h>>52&63) }
