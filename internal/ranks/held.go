package ranks

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/capstan-dev/capstan/internal/invariants"
)

// held are the places of the locks that goroutines hold. Builds without invariants do not
// use it.
var held places

type places struct {
	mu sync.Mutex
	of map[uint64][]int // by goroutine
}

// check panics when a goroutine may not take a lock at a place.
func (p *places) check(n int, several bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.of[goroutine()] {
		if other > n || other == n && !several {
			invariants.Failf("a lock of rank %d is taken under one of rank %d (internal/ranks)", n, other)
		}
	}
}

func (p *places) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[uint64][]int{}
	}
	id := goroutine()
	p.of[id] = append(p.of[id], n)
}

func (p *places) remove(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := goroutine()
	i := slices.Index(p.of[id], n)
	if i < 0 {
		invariants.Failf("a lock of rank %d is given back by a goroutine that has not taken it", n)
	}
	if p.of[id] = slices.Delete(p.of[id], i, i+1); len(p.of[id]) == 0 {
		delete(p.of, id)
	}
}

// goroutine is the number of the running goroutine, by the first line of its stack.
func goroutine() uint64 {
	var line [64]byte
	_, number, _ := bytes.Cut(line[:runtime.Stack(line[:], false)], []byte(" "))
	number, _, _ = bytes.Cut(number, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64)
	return id
}
