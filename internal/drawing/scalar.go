package drawing

import (
	"math"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/schema"
)

// tries bounds the search for a scalar that keeps the rules of its type.
const tries = 12

// right are right texts of the named checks and formats.
var right = map[string][]string{"ip": {"10.0.0.1", "fd00::1"}, "cidr": {"10.0.0.0/8"}, "absolute-path": {"/srv/x"}, "env-var-name": {"A_B"},
	"email": {"a@example.com"},
	"uri":   {"https://example.com"}, "uuid": {"123e4567-e89b-12d3-a456-426614174000"}, "hostname": {"example.com"}, "ipv4": {"10.0.0.1"}, "ipv6": {"fd00::1"},
	"date": {"2024-02-29"}, "time": {"12:30:00Z"}, "json-pointer": {"/a"}, "qualified-name": {"example.com/a"}, "uri-reference": {"/a?b=c"}, "regex": {"^a"},
	"relative-json-pointer": {"1/a"}}

// text draws a text that mostly keeps its rules.
func (d *Drawing) text(r *schema.Rules) string {
	if len(r.Enum) > 0 {
		return pick(d, r.Enum...)
	}
	if all := right[r.Format]; all != nil {
		return pick(d, all...)
	}
	p := d.pattern(r.Pattern)
	for range tries {
		s := pick(d, d.Texts...)
		switch {
		case r.Pattern != "" && len(d.made) > 0 && d.IntN(3) == 0:
			s = pick(d, d.made...)
		case r.Pattern != "" && d.IntN(3) > 0:
			s = d.matching(p)
		case r.Format != "":
			s = pick(d, "a", "web", "x-1")
		}
		if n := utf8.RuneCountInString(s); n < int(r.MinLength) && r.Pattern == "" && r.MinLength < 1000 {
			s += strings.Repeat("x", int(r.MinLength)-n)
		} else if r.MaxLength > 0 && n > int(r.MaxLength) {
			s = string([]rune(s)[:r.MaxLength])
		}
		if p.is == nil || p.is.MatchString(s) {
			d.made = append(d.made, s)
			return s
		}
	}
	return d.matching(p)
}

// number draws a number that mostly keeps its rules.
func (d *Drawing) number(r *schema.Rules, whole bool) float64 {
	from := d.Numbers
	if r.HasMin {
		from = append(from[:len(from):len(from)], r.Min, r.Min+1)
	}
	if r.HasMax {
		from = append(from[:len(from):len(from)], r.Max, r.Max-1)
	}
	step := 0.0
	if r.Further != nil && r.Further.MultipleOf != nil {
		step = *r.Further.MultipleOf
	}
	v := 0.0
	for range tries {
		if v = pick(d, from...); d.IntN(4) == 0 && !whole {
			v += 0.5
		}
		if step > 0 {
			v = math.Ceil(v/step) * step
		}
		if whole {
			v = math.Round(v)
		}
		if (!r.HasMin || v > r.Min || v == r.Min && !r.ExclusiveMin) && (!r.HasMax || v < r.Max || v == r.Max && !r.ExclusiveMax) {
			return v
		}
	}
	return v
}

// pattern is a regular expression, and what it is made of; nil for one that does not compile.
type pattern struct {
	is   *regexp.Regexp
	tree *syntax.Regexp
}

func (d *Drawing) pattern(text string) pattern {
	p, known := d.known[text]
	if !known {
		p.is, _ = regexp.Compile(text)
		p.tree, _ = syntax.Parse(text, syntax.Perl)
		d.known[text] = p
	}
	return p
}

// matching makes a text of a pattern, in most cases one that matches it.
func (d *Drawing) matching(p pattern) string {
	var b strings.Builder
	if p.tree != nil {
		d.write(&b, p.tree)
	}
	return b.String()
}

// Matching is a printable text that a regular expression matches, and that fits; "" where some tries find none. It is always
// the same one.
func Matching(expression string, fits func(text string) bool) string {
	d := &Drawing{known: map[string]pattern{}, Rand: rand.New(rand.NewPCG(1, 0))}
	p := d.pattern(expression)
	for range 20 * tries {
		text := d.matching(p)
		if p.is != nil && p.is.MatchString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) && fits(text) {
			return text
		}
	}
	return ""
}

// longest bounds the texts that matching makes.
const longest = 1000

func (d *Drawing) write(b *strings.Builder, re *syntax.Regexp) {
	repeat := func(least, most int) {
		if most < 0 || most > least+3 {
			most = least + 3
		}
		for range least + d.IntN(most-least+1) {
			if b.Len() < longest {
				d.write(b, re.Sub[0])
			}
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return
		}
		at := d.IntN(len(re.Rune)/2) * 2
		b.WriteRune(re.Rune[at] + rune(d.IntN(int(min(re.Rune[at+1]-re.Rune[at], 25))+1)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteString(pick(d, "a", "b", "7", " "))
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(re.Min, re.Max)
	case syntax.OpAlternate:
		d.write(b, pick(d, re.Sub...))
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			d.write(b, sub)
		}
	}
}
