package fairness

import (
	"math"
	"time"
)

// Share is the part of a server's seats that a level has.
type Share struct {
	Level     *Level
	Exempt    bool
	Shares    int  // weight among all levels
	Lendable  int  // percent of the nominal seats that others may borrow
	Borrowing *int // percent of the nominal seats that it may borrow; nil for no limit

	Nominal, Least, Most int // seats
	Current              int
}

// Divide computes the seats of levels by their shares.
func Divide(total int, levels []*Share) {
	sum := 0.0
	for _, s := range levels {
		sum += float64(s.Shares)
	}
	for _, s := range levels {
		s.Nominal = 0
		if sum > 0 {
			s.Nominal = int(math.Ceil(float64(total) * float64(s.Shares) / sum))
		}
		s.Least, s.Most = s.Nominal-percent(s.Nominal, s.Lendable), total
		if s.Borrowing != nil {
			s.Most = min(s.Nominal+percent(s.Nominal, *s.Borrowing), max(total, s.Nominal))
		}
		s.Most = max(s.Most, s.Nominal)
		s.Current = s.Nominal
	}
}

func percent(of, part int) int { return int(math.Round(float64(of) * float64(part) / 100)) }

// Lent reports whether any level lends seats.
func Lent(levels []*Share) bool {
	for _, s := range levels {
		if s.Least < s.Nominal {
			return true
		}
	}
	return false
}

// Lend moves seats that levels do not need to others, by the demand since the last call,
// and resizes the levels. A level has at least the seats that it needed, up to its
// nominal ones; above that all have the same part of their demand, within their limits.
func Lend(levels []*Share) {
	type bounds struct{ least, most, target float64 }
	all := make([]bounds, len(levels))
	left, leastSum, neededSum := 0.0, 0.0, 0.0
	for i, s := range levels {
		highest, smoothed := s.Level.endPeriod()
		left += float64(s.Nominal)
		if s.Exempt { // it takes what it needs
			all[i] = bounds{least: max(float64(s.Least), highest)}
			left -= all[i].least
			continue
		}
		needed := max(float64(s.Least), min(float64(s.Nominal), highest))
		all[i] = bounds{needed, float64(s.Most), max(needed, smoothed, 0.001)}
		leastSum += float64(s.Least)
		neededSum += needed
	}
	give := func(i int, factor float64) float64 {
		return max(all[i].least, min(all[i].most, factor*all[i].target))
	}
	factor := 0.0
	if left > neededSum {
		low, high := 0.0, left/0.001
		for range 100 { // bisection: the sum grows with the factor
			factor = (low + high) / 2
			sum := 0.0
			for i, s := range levels {
				if !s.Exempt {
					sum += give(i, factor)
				}
			}
			if sum > left {
				high = factor
			} else {
				low = factor
			}
		}
		factor = low
	}
	for i, s := range levels {
		switch {
		case s.Exempt:
			s.Current = int(all[i].least)
		case left > neededSum:
			s.Current = int(math.Round(give(i, factor)))
		case left <= leastSum:
			s.Current = s.Least
		default: // less than is needed, because of exempt requests
			s.Current = s.Least + int(math.Round((all[i].least-float64(s.Least))*(left-leastSum)/(neededSum-leastSum)))
		}
		s.Level.Resize(s.Current)
	}
}

func (l *Level) endPeriod() (highest, smoothed float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.demand.end(time.Now())
}
