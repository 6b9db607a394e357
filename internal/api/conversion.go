package api

import "github.com/capstan-dev/capstan/internal/document"

// Conversion is how the objects of a resource that are stored in another version
// get into that version and back.
//
// Invariant: the row that it names is stored in its own version.
type Conversion struct {
	Group, Version, Plural string    // of the row that objects are stored as
	Storage                *Resource // that row; set by LinkConversions
	Fills                  bool      // the stored version has defaults that this one may lack; set by LinkConversions
	Same                   bool      // the types differ in nothing: only apiVersion changes, and no plan is needed
	ToStorage, FromStorage Plan
}

// Plan is one direction of a conversion: fields are copied, then Hook does what
// copying does not, if there is anything.
type Plan struct {
	Copy []Copy
	Hook func(from, to document.Value) // nil for none
}

// Copy is a field that both versions have: of one type, or with Below an object
// whose fields are copied one by one.
type Copy struct {
	Name  string
	Below []Copy
}

// Storage is the row in whose version the objects of r are stored: usually r.
func (r *Resource) Storage() *Resource {
	if r.Conversion == nil {
		return r
	}
	return r.Conversion.Storage
}

// LinkConversions finds the rows that others are stored as. groups are all group
// versions, served or not.
func LinkConversions(groups []*GroupVersion) {
	rows := map[[3]string]*Resource{}
	each := func(visit func(*Resource)) {
		for _, gv := range groups {
			for i := range gv.Resources {
				visit(&gv.Resources[i])
			}
		}
	}
	each(func(r *Resource) { rows[[3]string{r.GV.Group, r.GV.Version, r.Plural}] = r })
	each(func(r *Resource) {
		if c := r.Conversion; c != nil {
			c.Storage = rows[[3]string{c.Group, c.Version, c.Plural}]
			c.Fills = c.Storage != nil && c.Storage.Form != r.Form && c.Storage.GV.Table.Fills(c.Storage.Type)
		}
	})
}
