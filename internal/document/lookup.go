package document

// HasText reports whether a list holds a string.
func (v Value) HasText(s string) bool {
	for _, e := range v.Elements() {
		if e.Equals(s) {
			return true
		}
	}
	return false
}

// ElementBy returns the first object in a list whose member is a string: the condition
// of a type, the container of a name.
func (v Value) ElementBy(member, s string) Value {
	for _, e := range v.Elements() {
		if e.Get(member).Equals(s) {
			return e
		}
	}
	return Value{}
}
