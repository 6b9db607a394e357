package promise

// Probed is a promise that is asked at rest, by its area or by the stage: a probe says where
// the answer breaks it.
type Probed struct{ Name, Sentence string }

// AllProbed are the promises that are only asked; some of All are asked too.
func AllProbed() []Probed {
	return []Probed{
		{"gone", "A deletion of a definition ends, and leaves none of its objects."},
		{"writable", "At rest every kind takes a write at once."},
		{"leaked", "Once all services are gone, all addresses and node ports can be had again."},
		{"unhooked", "A webhook that is deleted is not asked."},
		{"starts", "The server starts again, whatever ended it."},
	}
}
