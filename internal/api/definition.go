package api

// Definition is what rows have that are made of the definition of a custom resource.
type Definition struct {
	Name        string // of the definition: "widgets.example.com"
	UID         string
	Terminating bool   // its objects are being deleted; no new ones come
	Warning     string // to users of a deprecated version
	Deprecated  bool
	Schema      func() []byte // of this version, as JSON; nil for none
}
