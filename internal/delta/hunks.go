package delta

import "slices"

// hunk is a place at which two texts differ: after line at of the earlier one, gone lines become the lines from to to of the
// later one.
type hunk struct{ at, gone, from, to int }

// hunks lists the differences of two texts, with as few lines as there can be. It follows Myers, "An O(ND) Difference
// Algorithm and Its Variations" (1986): furthest[k] is how far into a one gets on diagonal k with a number of changes.
func hunks(a, b []string) []hunk {
	n, m := len(a), len(b)
	furthest := make([]int32, 2*(n+m)+3)
	zero := n + m + 1
	var trace [][]int32 // furthest by number of changes, for diagonals -d to d
	for d := 0; ; d++ {
		for k := -d; k <= d; k += 2 {
			x := int(furthest[zero+k-1]) + 1
			if k == -d || k != d && furthest[zero+k-1] < furthest[zero+k+1] {
				x = int(furthest[zero+k+1])
			}
			for x < n && x-k < m && a[x] == b[x-k] {
				x++
			}
			if furthest[zero+k] = int32(x); x >= n && x-k >= m {
				return path(trace, n, m)
			}
		}
		trace = append(trace, slices.Clone(furthest[zero-d:zero+d+1]))
	}
}

// path goes back from the ends of both texts, change by change, and gathers changes without a common line between them.
func path(trace [][]int32, x, y int) (all []hunk) {
	for d := len(trace) - 1; d >= 0; d-- {
		reached := func(k int) int { // with d changes
			if k < -d || k > d {
				return -1
			}
			return int(trace[d][d+k])
		}
		k := x - y
		added := k == -(d+1) || k != d+1 && reached(k-1) < reached(k+1)
		if added {
			k++
		} else {
			k--
		}
		x = reached(k)
		y = x - k
		h := hunk{at: x, gone: 1, from: y, to: y}
		if added {
			h = hunk{at: x, from: y, to: y + 1}
		}
		if last := len(all) - 1; last >= 0 && all[last].at == h.at+h.gone && all[last].from == h.to {
			all[last] = hunk{at: h.at, gone: h.gone + all[last].gone, from: h.from, to: all[last].to}
		} else {
			all = append(all, h)
		}
	}
	slices.Reverse(all)
	return all
}
