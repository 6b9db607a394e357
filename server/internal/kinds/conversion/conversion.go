package conversion

// Hooks are the conversions of all kinds.
type Hooks struct{}
