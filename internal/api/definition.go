package api

// Definition is the part of a row that comes from the definition of a custom resource.
type Definition struct {
	Name        string // of the definition: "widgets.example.com"
	UID         string
	Terminating bool   // its objects are being deleted; creates are refused
	Warning     string // to users of a deprecated version
	Deprecated  bool
	Schema      func() []byte // of this version, as JSON; nil for none
	Hash        [32]byte      // of everything that the rows of the definition are made of
}
