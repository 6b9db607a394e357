package compat

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
)

// texts is a set of strings: those of a length, in characters, that match all patterns and
// pass all named checks.
type texts struct {
	patterns []string
	checks   []string
	least    int
	most     int // math.MaxInt for no limit
}

// checkPatterns are the named checks that a pattern and a greatest length express exactly.
var checkPatterns = map[string]struct {
	pattern string
	most    int
}{
	"dns1035-label":     {`^[a-z]([-a-z0-9]*[a-z0-9])?$`, 63},
	"dns1123-label":     {`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`, 63},
	"dns1123-subdomain": {`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`, 253},
	"driver-name":       {`^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*$`, 253},
	"label-value":       {`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`, 63},
	"config-key":        {`^([-_a-zA-Z0-9][-._a-zA-Z0-9]*|\.[-_a-zA-Z0-9][-._a-zA-Z0-9]*)$`, 253},
	"env-var-name":      {`^([-_a-zA-Z][-._a-zA-Z0-9]*|\.[-_a-zA-Z0-9][-._a-zA-Z0-9]*)$`, math.MaxInt},
	"path-segment":      {`^(|[^/%.][^/%]*|\.[^/%.][^/%]*|\.\.[^/%]+)$`, math.MaxInt},
	"absolute-path":     {`^/`, math.MaxInt},
	"uuid":              {`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`, 36},
}

// widerChecks are, of the checks that no pattern expresses, those that allow all that
// they allow.
var widerChecks = map[string][]string{
	"host-name":         {"dns1123-subdomain", "domain-name", "wildcard-name", "driver-name", "path-segment", "no-backsteps", "relative-path", "file-path"},
	"dns1123-label":     {"wildcard-name", "domain-name", "qualified-name", "no-backsteps", "relative-path", "file-path"},
	"dns1035-label":     {"wildcard-name", "domain-name", "qualified-name", "host-name", "no-backsteps", "relative-path", "file-path"},
	"dns1123-subdomain": {"wildcard-name", "domain-name", "no-backsteps", "relative-path", "file-path"},
	"file-path":         {"relative-path", "no-backsteps"},
	"uri":               {"uri-reference"},
	"relative-path":     {"no-backsteps"},
	"port-name":         {"dns1123-label", "dns1123-subdomain", "label-value", "domain-name", "wildcard-name"},
}

// within reports whether all strings of the set are in the other one, as far as that can be
// seen; else a reason.
func (t texts) within(o texts) (why string) {
	t = t.plain()
	for _, p := range t.patterns {
		least, most := lengths(p)
		t.least, t.most = max(t.least, least), min(t.most, most)
	}
	patterns := slices.Clone(o.patterns)
	for _, check := range o.checks {
		if slices.ContainsFunc(t.checks, func(c string) bool { return c == check || slices.Contains(widerChecks[c], check) }) {
			continue
		}
		as, ok := checkPatterns[check]
		if !ok {
			return "it has to be a " + check
		}
		patterns, o.most = append(patterns, as.pattern), min(o.most, as.most)
	}
	if t.least < o.least && !t.sized(o.least, -1) {
		return fmt.Sprintf("it has to have %d characters", o.least)
	}
	if t.most > o.most && !t.sized(0, o.most) {
		return fmt.Sprintf("it may have %d characters only", o.most)
	}
	for _, p := range patterns {
		if !slices.Contains(t.patterns, p) && !included(t.patterns, t.most, p) {
			return "it has to match " + p
		}
	}
	return ""
}

// sized reports whether the patterns of the set allow only texts of some lengths; -1 stands
// for any greatest one.
func (t texts) sized(least, most int) bool {
	if len(t.patterns) == 0 || max(least, most) > 1000 {
		return false
	}
	if most < 0 {
		return included(t.patterns, t.most, fmt.Sprintf("^(?s:.{%d})", least))
	}
	return included(t.patterns, t.most, fmt.Sprintf("^(?s:.{%d,%d})$", least, most))
}

// plain replaces named checks by their patterns. A check keeps its name too, for those that
// are wider than it.
func (t texts) plain() texts {
	p := texts{patterns: slices.Clone(t.patterns), checks: t.checks, least: t.least, most: t.most}
	for _, c := range t.checks {
		if as, ok := checkPatterns[c]; ok {
			p.patterns, p.most = append(p.patterns, as.pattern), min(p.most, as.most)
		} else if most, ok := checkLengths[c]; ok {
			p.most = min(p.most, most)
		}
	}
	return p
}

// checkLengths are the greatest lengths of other named checks.
var checkLengths = map[string]int{"port-name": 15, "host-name": 253, "domain-name": 254, "wildcard-name": 253, "qualified-name": 317, "port-number": 20}

// holds reports whether one string is in the set.
func (t texts) holds(s string) bool {
	if n := utf8.RuneCountInString(s); n < t.least || n > t.most {
		return false
	}
	for _, c := range t.checks {
		if len(document.CheckFormat(c, s)) > 0 {
			return false
		}
	}
	for _, p := range t.patterns {
		if re, err := regexp.Compile(p); err == nil && !re.MatchString(s) {
			return false
		}
	}
	return true
}

// lengths are those of the strings that match a pattern from end to end.
func lengths(pattern string) (least, most int) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, math.MaxInt
	}
	re = re.Simplify()
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 || re.Sub[0].Op != syntax.OpBeginText || re.Sub[len(re.Sub)-1].Op != syntax.OpEndText {
		return 0, math.MaxInt
	}
	return lengthsOf(re)
}

func lengthsOf(re *syntax.Regexp) (least, most int) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, 1
	case syntax.OpCapture:
		return lengthsOf(re.Sub[0])
	case syntax.OpStar:
		return 0, math.MaxInt
	case syntax.OpPlus:
		least, _ = lengthsOf(re.Sub[0])
		return least, math.MaxInt
	case syntax.OpQuest:
		_, most = lengthsOf(re.Sub[0])
		return 0, most
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			l, m := lengthsOf(sub)
			least = least + l
			if most == math.MaxInt || m == math.MaxInt {
				most = math.MaxInt
			} else {
				most += m
			}
		}
		return least, most
	case syntax.OpAlternate:
		least = math.MaxInt
		for _, sub := range re.Sub {
			l, m := lengthsOf(sub)
			least, most = min(least, l), max(most, m)
		}
		return least, most
	}
	return 0, 0
}

// mostStates bounds the search for a string that one pattern matches and another does not.
const mostStates = 20_000

// included reports whether every string of at most that many characters that matches all of
// some patterns matches another one. Patterns that are too big count as not included.
func included(given []string, most int, pattern string) bool {
	var all []*automaton
	for _, p := range append(slices.Clone(given), pattern) {
		a := newAutomaton(p)
		if a == nil {
			return false
		}
		all = append(all, a)
	}
	letters := alphabet(all)
	if len(letters) > 500 {
		return false
	}
	for _, counted := range []int{-1, most} { // a limit makes more states
		if counted > 1000 {
			break
		}
		if yes, known := search(all, letters, counted); !known || yes {
			return yes && known
		}
	}
	return false
}

// search looks for a string that all automata but the last accept, and the last does not.
func search(all []*automaton, letters []rune, most int) (none, known bool) {
	type place struct {
		states []string
		length int
	}
	start := place{length: 0}
	for _, a := range all {
		start.states = append(start.states, a.state([]uint32{uint32(a.prog.Start)}, true))
	}
	seen := map[string]bool{}
	for queue := []place{start}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		accepted := 0
		for i, a := range all {
			if a.states[at.states[i]].accepts {
				accepted |= 1 << min(i, 62)
			}
		}
		if last := len(all) - 1; accepted == 1<<last-1 {
			return false, true
		}
		if most >= 0 && at.length == most {
			continue
		}
		for _, r := range letters {
			next := place{states: make([]string, len(all))}
			if most >= 0 {
				next.length = at.length + 1
			}
			for i, a := range all {
				next.states[i] = a.step(at.states[i], r)
			}
			key := fmt.Sprint(next.length, next.states)
			if !seen[key] {
				if seen[key] = true; len(seen) > mostStates {
					return false, false
				}
				queue = append(queue, next)
			}
		}
	}
	return true, true
}

// automaton is a pattern as a deterministic automaton, whose states are made when they are
// met. A state is named by the instructions that it is in.
type automaton struct {
	prog   *syntax.Prog
	states map[string]*state
}

type state struct {
	runes   []uint32 // instructions that read a character
	matched bool     // whatever follows
	accepts bool     // the text may end here
	next    map[rune]string
}

// newAutomaton is nil for patterns with boundaries of words or lines.
func newAutomaton(pattern string) *automaton {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil || len(prog.Inst) > 5000 {
		return nil
	}
	for _, in := range prog.Inst {
		if in.Op == syntax.InstEmptyWidth && syntax.EmptyOp(in.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0 {
			return nil
		}
	}
	return &automaton{prog, map[string]*state{}}
}

// state is the name of the state in some instructions, at the beginning of the text or in it.
func (a *automaton) state(pcs []uint32, begin bool) string {
	s := &state{next: map[rune]string{}}
	s.runes, s.matched = a.closure(pcs, begin, false)
	_, s.accepts = a.closure(pcs, begin, true)
	if s.accepts = s.accepts || s.matched; s.matched {
		s.runes = nil
	}
	slices.Sort(s.runes)
	name := fmt.Sprint(s.runes, s.matched, s.accepts)
	if a.states[name] == nil {
		a.states[name] = s
	}
	return name
}

// closure follows the instructions that read nothing.
func (a *automaton) closure(pcs []uint32, begin, end bool) (runes []uint32, matched bool) {
	seen := map[uint32]bool{}
	for stack := slices.Clone(pcs); len(stack) > 0; {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch in := &a.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, in.Out)
		case syntax.InstEmptyWidth:
			if need := syntax.EmptyOp(in.Arg); (need&syntax.EmptyBeginText == 0 || begin) && (need&syntax.EmptyEndText == 0 || end) {
				stack = append(stack, in.Out)
			}
		case syntax.InstMatch:
			matched = true
		case syntax.InstFail:
		default:
			runes = append(runes, pc)
		}
	}
	return runes, matched
}

// step is the state after a character. A match may begin at any place.
func (a *automaton) step(name string, r rune) string {
	s := a.states[name]
	if next, ok := s.next[r]; ok {
		return next
	}
	next := name
	if !s.matched {
		pcs := []uint32{uint32(a.prog.Start)}
		for _, pc := range s.runes {
			if in := &a.prog.Inst[pc]; in.MatchRune(r) {
				pcs = append(pcs, in.Out)
			}
		}
		next = a.state(pcs, false)
	}
	s.next[r] = next
	return next
}

// alphabet has a character of each class that the automata tell apart.
func alphabet(all []*automaton) []rune {
	bounds := map[rune]bool{0: true}
	add := func(lo, hi rune) {
		bounds[lo] = true
		if hi < unicode.MaxRune {
			bounds[hi+1] = true
		}
	}
	for _, a := range all {
		for i := range a.prog.Inst {
			in := &a.prog.Inst[i]
			switch in.Op {
			case syntax.InstRuneAnyNotNL:
				add('\n', '\n')
			case syntax.InstRune, syntax.InstRune1:
				if len(in.Rune) == 1 {
					add(in.Rune[0], in.Rune[0])
					for f := unicode.SimpleFold(in.Rune[0]); f != in.Rune[0]; f = unicode.SimpleFold(f) {
						add(f, f)
					}
				}
				for j := 0; j+1 < len(in.Rune); j += 2 {
					add(in.Rune[j], in.Rune[j+1])
				}
			}
		}
	}
	letters := make([]rune, 0, len(bounds))
	for r := range bounds {
		letters = append(letters, r)
	}
	slices.Sort(letters)
	return letters
}
