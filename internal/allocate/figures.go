package allocate

import "time"

// Figures count the items that claims take, each by its range as users write it; "" for that of the ports.
type Figures interface {
	// Allocated notes an item of a write that was made: one that the write named, or any.
	Allocated(from string, by Scope, took time.Duration)
	// Failed notes that a range does not have the item that a write needs.
	Failed(from string, by Scope)
}

// Scope says whether a write names the item that it takes.
type Scope string

// The scopes, in the words of kube-apiserver.
const (
	Static  Scope = "static"
	Dynamic Scope = "dynamic"
)

// allocation is an item that a claim has taken.
type allocation struct {
	from string
	by   Scope
	took time.Duration
}

// failed notes that a span does not have an item. A dry run counts nothing.
func (c *Claim) failed(s *span, by Scope) {
	if f := c.all.figures; f != nil && !c.dryRun {
		f.Failed(s.name(), by)
	}
}

// report counts the items of a write that was made.
func (c *Claim) report() {
	if c == nil || c.all.figures == nil {
		return
	}
	for _, made := range c.made {
		c.all.figures.Allocated(made.from, made.by, made.took)
	}
}

// Use is the number of items of a range that are in use, and of those that are free.
type Use struct {
	From       string // as Figures have it
	Used, Free float64
}

// Uses are those of all ranges, each once.
func (a *Allocator) Uses() (all []Use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	seen := map[string]bool{}
	for _, spans := range a.spans {
		for _, s := range spans {
			if name := s.name(); !seen[name] {
				seen[name] = true
				all = append(all, Use{name, float64(s.used), float64(s.size) - float64(s.used)})
			}
		}
	}
	return all
}
