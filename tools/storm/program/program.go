// Package program describes what the clients of a storm do, and makes that smaller.
package program

import (
	"fmt"
	"slices"
	"strings"
)

// Step is one thing that a client does. An area gives the numbers their meaning.
type Step struct {
	Area, Op string
	A, B, C  int
}

func (s Step) String() string { return fmt.Sprintf("%s.%s(%d,%d,%d)", s.Area, s.Op, s.A, s.B, s.C) }

// Program is a storm before it runs: the steps of each client.
type Program struct {
	Seed    uint64
	Memory  bool
	Areas   []string // in use
	Clients [][]Step
}

func (p Program) String() string {
	where := "on disk"
	if p.Memory {
		where = "in memory"
	}
	return fmt.Sprintf("seed %d: %d steps of %d clients %s, areas %s", p.Seed, p.Steps(), len(p.Clients), where, strings.Join(p.Areas, ","))
}

// Steps is the number of steps.
func (p Program) Steps() (n int) {
	for _, c := range p.Clients {
		n += len(c)
	}
	return n
}

// Without is the program without an area.
func (p Program) Without(area string) Program {
	p.Areas = slices.DeleteFunc(slices.Clone(p.Areas), func(a string) bool { return a == area })
	clients := make([][]Step, len(p.Clients))
	for i, steps := range p.Clients {
		clients[i] = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Area == area })
	}
	p.Clients = clients
	return p
}

// Smaller are programs with less to do, those that leave out most first: an area, half of
// the clients, half of each client's steps, one kind of step.
func (p Program) Smaller() (all []Program) {
	if len(p.Areas) > 1 {
		for _, a := range p.Areas {
			all = append(all, p.Without(a))
		}
	}
	if half := len(p.Clients) / 2; half > 0 {
		first, second := p, p
		first.Clients, second.Clients = p.Clients[:half], p.Clients[half:]
		all = append(all, first, second)
	}
	for _, late := range []bool{false, true} {
		q := p
		q.Clients = make([][]Step, len(p.Clients))
		for i, steps := range p.Clients {
			if late {
				q.Clients[i] = steps[len(steps)/2:]
			} else {
				q.Clients[i] = steps[:(len(steps)+1)/2]
			}
		}
		all = append(all, q)
	}
	for _, kind := range p.kinds() {
		q := p
		q.Clients = make([][]Step, len(p.Clients))
		for i, steps := range p.Clients {
			q.Clients[i] = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return s.Area+"."+s.Op == kind })
		}
		all = append(all, q)
	}
	return slices.DeleteFunc(all, func(q Program) bool { return q.Steps() == 0 || q.Steps() == p.Steps() && len(q.Areas) == len(p.Areas) })
}

func (p Program) kinds() (all []string) {
	for _, steps := range p.Clients {
		for _, s := range steps {
			all = append(all, s.Area+"."+s.Op)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
