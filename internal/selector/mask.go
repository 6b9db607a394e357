package selector

// HeaderBits is a summary of a header: three of 128 bits for every label with its value,
// and for every field that is not empty. Labels and fields after a damage are left out,
// which does no harm: a damaged header matches nothing.
//
// A pod has about a dozen such texts, most of them the same as other pods have. About one
// in two hundred of the headers that a selector does not choose has its bits all the same
// (with two of 64 bits it would be one in ten, by computation).
//
// Invariant, kept with Selector.Bits: a header that a selector chooses has all bits of
// the selector. Most of the others have not, and need not be examined.
func HeaderBits(meta []byte) (bits [2]uint64) {
	r := reader{rest: meta}
	if len(meta) == 0 || r.number() != metaVersion {
		return bits
	}
	labels := reader{rest: r.block()}
	for len(labels.rest) > 0 {
		key := labels.text()
		set(&bits, labelHash(key, labels.text()))
	}
	for slot, n := uint64(0), r.number(); slot < n && !r.bad; slot++ {
		if value := r.text(); len(value) > 0 {
			set(&bits, fieldHash(int(slot), value))
		}
	}
	return bits
}

// Bits are in the HeaderBits of every header that the selector chooses. They are 0 when
// the selector requires no particular label or field. A rule that accepts a field's
// default or the empty text adds no bits, because headers may leave those out.
func (s *Selector) Bits() (bits [2]uint64) {
	for i := range s.labels {
		if l := &s.labels[i]; l.op == labelIn && len(l.values) == 1 {
			set(&bits, labelHash(l.key, l.values[0]))
		}
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.slot >= 0 && !f.negate && f.value != f.absent && f.value != "" {
			set(&bits, fieldHash(f.slot, f.value))
		}
	}
	return bits
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

// labelHash puts the FNV product for a separator between key and value.
func labelHash[T string | []byte](key, value T) uint64 {
	return hash(hash(hashStart, key)*hashPrime, value)
}

func fieldHash[T string | []byte](slot int, value T) uint64 {
	return hash((hashStart^^uint64(slot))*hashPrime, value)
}

// set sets the bits of a hash. The last bytes of a text are poorly mixed in FNV, so it is
// mixed once more.
func set(bits *[2]uint64, h uint64) {
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	h ^= h >> 32
	for range 3 {
		bits[h>>6&1] |= 1 << (h & 63)
		h >>= 7
	}
}
