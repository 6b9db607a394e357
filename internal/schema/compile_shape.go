package schema

// shape compiles a schema without $ref: an object, a list, a map, a scalar, or a value of
// any kind. The result has no name.
func (c *compiler) shape(s *Schema, in *Named) Type {
	t := Type{Elem: None, Rules: rulesOf(s)}
	switch s.BinaryForm {
	case "":
	case "raw", "json":
		t.Binary = BinaryRaw
	case "string-list":
		t.Binary = BinaryStringList
	case "object-or-list":
		t.Binary = BinaryObjectOrList
	case "object-or-boolean":
		t.Binary = BinaryObjectOrBoolean
	case "object-or-strings":
		t.Binary = BinaryObjectOrStrings
	default:
		c.fail(s.Pos, "write raw, json, string-list, object-or-list, object-or-boolean or object-or-strings", "unknown x-cluster-binary-form %q", s.BinaryForm)
	}
	if either := t.Binary >= BinaryObjectOrList; either != (s.Objects != "") || either && !s.PreserveAny {
		c.fail(s.Pos, "x-cluster-preserve-unknown-fields: true, x-cluster-objects and one of the binary forms object-or-… go together",
			"a value that may be an object or something else is described in part")
	}
	if s.PreserveAny && len(s.Properties) > 0 {
		c.fail(s.Pos, "drop one of them", "properties beside x-cluster-preserve-unknown-fields")
	}
	switch {
	case s.PreserveAny:
		if t.Kind, t.Rules = Any, furtherOf(t.Rules); s.Objects != "" {
			t.Elem = c.refTo(&Schema{Pos: s.Pos, Ref: s.Objects}, in)
		}
	case s.Type == "array":
		c.list(&t, s, in)
	case s.Type == "object":
		t.AtomicMap = c.atomicMap(s)
		if s.Additional != nil {
			if t.Kind = Map; len(s.Properties) > 0 {
				c.fail(s.Pos, "drop one of them", "properties beside additionalProperties")
			}
			t.Elem = c.refTo(s.Additional, in)
			break
		}
		t.Kind = Object
		c.object(&t, s, in)
	default:
		t.Kind, t.Bits = scalarKind(s)
		t.RoundUp = s.RoundUp
		if t.Kind == 0 {
			c.fail(s.Pos, "write object, array, string, integer, number or boolean; any JSON is x-cluster-preserve-unknown-fields: true",
				"unknown type %q with format %q", s.Type, s.Format)
		}
	}
	return t
}

// furtherOf are the rules that values of any kind can have.
func furtherOf(r *Rules) *Rules {
	if r == nil || r.Further == nil {
		return nil
	}
	return &Rules{Further: r.Further}
}

// scalarKind returns the kind of a scalar, and the width of an integer; 0 for an unknown
// type.
func scalarKind(s *Schema) (kind Kind, bits uint8) {
	switch s.Type {
	case "boolean":
		return Boolean, 0
	case "integer":
		if s.Format == "int32" {
			return Integer, 32
		}
		return Integer, 64
	case "number":
		return Number, 0
	case "string", "":
		switch s.Format {
		case "quantity":
			return Quantity, 0
		case "int-or-string":
			return IntOrString, 0
		}
	}
	if s.Type != "string" {
		return 0, 0
	}
	switch s.Format {
	case "byte":
		return Bytes, 0
	case "date-time":
		return Time, 0
	case "micro-time":
		return MicroTime, 0
	case "duration":
		return Duration, 0
	}
	return String, 0
}

func (c *compiler) atomicMap(s *Schema) bool {
	switch s.MapType {
	case "atomic":
		return true
	case "", "granular":
	default:
		c.fail(s.Pos, "write atomic or granular", "unknown x-cluster-map-type %q", s.MapType)
	}
	return false
}

func (c *compiler) list(t *Type, s *Schema, in *Named) {
	t.Kind = List
	switch s.ListType {
	case "", "atomic":
	case "set":
		t.ListType = ListSet
	case "map":
		t.ListType, t.ListKeys = ListMap, s.ListMapKeys
		if len(s.ListMapKeys) == 0 {
			c.fail(s.Pos, "add x-cluster-list-map-keys", "a list of type map has no keys")
		}
	default:
		c.fail(s.Pos, "write atomic, set or map", "unknown x-cluster-list-type %q", s.ListType)
	}
	if s.Items == nil {
		c.fail(s.Pos, "add items", "an array does not say what it holds")
		return
	}
	if t.ListType != ListAtomic && in.Distinct && s.Unique == nil {
		if t.Rules == nil {
			t.Rules = &Rules{}
		}
		if t.Rules.Unique = s.ListMapKeys; t.ListType == ListSet {
			t.Rules.Unique = []string{"."}
		}
	}
	t.Elem = c.refTo(s.Items, in)
}
