package request

import "net/http"

// Verb is the function of a request: it answers, or returns the reason why not.
type Verb func(*Request) error

// Verbs are the operations of a target, by HTTP method: onGet, …
type Verbs [len(VerbMethods)]Verb

// The indices of methods in Verbs.
const (
	OnDelete = iota
	OnGet
	OnPatch
	OnPost
	OnPut
)

var VerbMethods = [...]string{OnDelete: http.MethodDelete, OnGet: http.MethodGet, OnPatch: http.MethodPatch, OnPost: http.MethodPost, OnPut: http.MethodPut}

// Of is the entry of a method; that of an unknown one is always empty.
func (v *Verbs) Of(method string) *Verb {
	for i, m := range VerbMethods {
		if m == method {
			return &v[i]
		}
	}
	return new(Verb)
}

// Methods lists the methods with an operation.
func (v *Verbs) Methods() []string {
	var names []string
	for i, do := range v {
		if do != nil {
			names = append(names, VerbMethods[i])
		}
	}
	return names
}
