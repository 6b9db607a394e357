package document

import "math"

// Fill sets an absent member of an object to the default of its field, complete as a
// decoder would make it. Without a default the member stays absent.
func (v Value) Fill(name string) {
	if v.Kind() != Object || v.d.table == nil || v.node().typ < 0 || v.Get(name).Exists() {
		return
	}
	t := &v.d.table.Types[v.node().typ]
	i := t.Field(name)
	if i < 0 || t.Fields[i].Default == "" {
		return
	}
	made, _, err := (&Decoder{Table: v.d.table, Limits: Limits{MaxNodes: math.MaxInt32}}).Decode(t.Fields[i].Type, []byte(t.Fields[i].Default))
	if err != nil {
		return // no default: the definition was checked by other rules
	}
	defer made.Release()
	v.Put(name, made.Root())
}

// FillAll is Fill for all members.
func (v Value) FillAll() {
	if v.Kind() != Object || v.d.table == nil || v.node().typ < 0 {
		return
	}
	for _, f := range v.d.table.Types[v.node().typ].Fields {
		v.Fill(f.Name)
	}
}
