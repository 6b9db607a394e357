package expression

import (
	"errors"
	"math"
	"regexp"
	"regexp/syntax"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// constantPrefix marks the names of planned calls whose pattern is constant.
const constantPrefix = "constant "

// matcher is a search for a constant pattern, which is compiled with the expression.
type matcher struct {
	re   *regexp.Regexp
	size float64 // of the pattern, in the simplest parts
	find func(re *regexp.Regexp, text string, most int) ref.Val
}

// searches are the functions of texts and patterns.
var searches = map[string]func(re *regexp.Regexp, text string, most int) ref.Val{
	"find": first, "findAll": all,
	"matches": func(re *regexp.Regexp, text string, _ int) ref.Val { return types.Bool(re.MatchString(text)) },
}

// constantPattern compiles the pattern of a call of a function, if it is constant.
func constantPattern(function string, args []interpreter.Interpretable) (*matcher, error) {
	find := searches[function]
	if find == nil || len(args) < 2 {
		return nil, nil
	}
	constant, ok := args[1].(interpreter.InterpretableConst)
	if !ok {
		return nil, nil
	}
	pattern, ok := constant.Value().(types.String)
	if !ok {
		return nil, nil
	}
	size := patternSize(string(pattern))
	if size > maxPattern {
		return nil, errPattern
	}
	re, err := regexp.Compile(string(pattern))
	return &matcher{re, size, find}, err
}

// on is the value of the call for its arguments.
func (m *matcher) on(args []ref.Val) ref.Val { return finding(m.re, m.find, args...) }

// priceFound adds to the price of a search what repetitions in a pattern take, and the
// compilation of one that is not constant.
func priceFound(price pricer, is *matcher) pricer {
	return func(b *Bindings, args []ref.Val) demand {
		d, length := price(b, args), max(1, lengthOf(args[1]))
		if is != nil {
			d.steps *= max(1, is.size/length/8)
			return d
		}
		size := patternSize(textAt(args, 1))
		if size > maxPattern {
			return demand{steps: math.Inf(1)}
		}
		d.steps = d.steps*max(1, size/length/8) + size/8
		return d
	}
}

// maxPattern bounds a pattern with its repetitions, in the simplest parts: each takes some
// hundred bytes once it is compiled.
const maxPattern = 20_000

var errPattern = errors.New("the regular expression is too large: repetitions count as often as they may repeat their part")

// patternSize is the size of a pattern with its repetitions written out, in the simplest
// parts. That of a wrong one is 0.
func patternSize(pattern string) float64 {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return partSize(re)
}

func partSize(re *syntax.Regexp) float64 {
	size := 1 + float64(len(re.Rune))
	for _, sub := range re.Sub {
		size += partSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= float64(max(re.Min, re.Max, 1))
	}
	return size
}

// priceMatch prices the search for a pattern: a text takes time by the size of the
// pattern. The result has so many times the bytes of the text, and for each of its
// characters a part.
func priceMatch(times, part float64) pricer {
	return func(_ *Bindings, args []ref.Val) demand {
		n, size := lengthOf(args[0]), math.Ceil(lengthOf(args[1])/4)
		most := n + 1
		if len(args) > 2 {
			if limit, ok := args[2].(types.Int); ok && limit >= 0 {
				most = min(most, float64(limit))
			}
		}
		d := demand{steps: math.Ceil((1+n)/10) * size}
		if part > 0 {
			d.bytes = listBytes + part*most
		} else if times > 0 {
			d.bytes = 16 + times*n
		}
		return d
	}
}
