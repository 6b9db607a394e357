package expression

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hostile are expressions over any.a, a thousand times the letter a, and any.l, a list of
// a thousand numbers; {a*300} is 300 times the letter, and {deep*4} four lists in each
// other, each eight times. Each would make a huge value, or look at one for long, though its
// cost is small until then.
var hostile = []struct {
	function, text string
}{
	{"_+_", `any.l.map(x, any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a + any.a).size() > 0`},
	{"replace", `any.a.replace('a', any.a).replace('a', any.a).replace('a', any.a) == ''`},
	{"replace", `any.a.replace('', any.a).replace('', any.a) == ''`},
	{"replace", `any.a.replace('a', any.a, 1000).replace('a', any.a, 1000000) == ''`},
	{"replace", `any.l.map(x, any.a.replace('a', '{a*42}')).size() > 0`},
	{"join", `any.l.map(x, any.a.replace('a', 'aaaaaaaaaa')).join(any.a.replace('a', any.a)) == ''`},
	{"join", `any.l.map(x, any.a).join(any.a.replace('a', '{a*32}')) == ''`},
	{"split", `any.a.replace('a', '{a*500}').split('') == []`},
	{"split", `any.l.map(x, any.a.split('')).size() > 0`},
	{"format", `'%.100000000f'.format([1.0]) == ''`},
	{"format", `'%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e%.1000000e'.format(any.l.map(x, 1.0)) == ''`},
	{"format", `'%s'.format([any.l.map(x, any.a.replace('a', 'aaaaaaaaa'))]) == ''`},
	{"format", `{deep*4}.map(x, '%s'.format([x])) == []`},
	{"lists.range", `lists.range(1000000000).size() == 0`},
	{"lists.range", `any.l.map(x, lists.range(900)).size() > 0`},
	{"flatten", `{deep*4}.flatten(9) == []`},
	{"_==_", `{deep*6}.map(x, x == x.map(y, y)) == [false]`},
	{"_!=_", `{deep*6}.exists(x, x != x.map(y, y))`},
	{"@in", `{deep*6}.all(x, x.map(y, y) in [x.map(y, y)])`},
	{"indexOf", `(any.a.replace('a', any.a) + 'b').indexOf(any.a.replace('a', '{a*45}') + 'c') == 0`},
	{"lastIndexOf", `(any.a.replace('a', any.a) + 'b').lastIndexOf('c' + any.a.replace('a', '{a*45}')) == 0`},
	{"distinct", `any.l.map(x, [x, x, x, x, x, x, x, x]).distinct() == []`},
	{"sets.contains", `any.l.exists(x, sets.contains(any.l.map(y, y + 1000), any.l.map(y, -y)))`},
	{"sets.equivalent", `any.l.exists(x, !sets.equivalent(any.l.map(y, y), any.l.map(y, y)))`},
	{"sets.intersects", `any.l.exists(x, sets.intersects(any.l.map(y, y + 1000), any.l.map(y, -y)))`},
	{"sort", `any.l.map(x, any.l.map(y, -y)).map(x, x.sort()).size() > 0`},
	{"@sortByAssociatedKeys", `any.l.map(x, any.l).map(x, x.sortBy(y, 0 - y)).size() > 0`},
	{"reverse", `any.l.map(x, any.l.reverse()).size() > 0`},
	{"slice", `any.l.map(x, any.l.slice(0, 900)).size() > 0`},
	{"cel.@mapInsert", `any.l.map(x, any.l.transformMap(k, v, v)).size() > 0`},
	{"matches", `any.a.replace('a', '{a*68}').matches('(a?){1000}(a?){1000}(a?){1000}(a?){1000}b')`},
	{"matches", `'a'.matches(any.l.map(x, '(a{1000}b?)').join(''))`},
	{"find", `any.a.replace('a', '{a*69}').find('(a?){1000}(a?){1000}(a?){1000}b') == 'b'`},
	{"findAll", `any.l.map(x, any.a.findAll('a')).size() > 0`},
	{"strings.quote", `any.l.map(x, strings.quote(any.a.replace('a', 'aaaaaaaaaaaaaaaaaa'))).size() > 0`},
	{"jsonpatch.escapeKey", `any.l.map(x, jsonpatch.escapeKey(any.a.replace('a', '~~~~~~~~~~~~~~~~~~'))).size() > 0`},
	{"lowerAscii", `any.l.map(x, any.a.replace('a', 'AAAAAAAAAAAAAAAAAA').lowerAscii()).size() > 0`},
	{"upperAscii", `any.l.map(x, any.a.replace('a', 'aaaaaaaaaaaaaaaaaa').upperAscii()).size() > 0`},
	{"substring", `any.l.map(x, any.a.replace('a', 'aaaaaaaaaaaaaaaaaa').substring(1)).size() > 0`},
	{"trim", `any.l.map(x, (any.a.replace('a', 'aaaaaaaaaaaaaaaaaa') + ' ').trim()).size() > 0`},
	{"bytes", `any.l.map(x, bytes(any.a.replace('a', 'aaaaaaaaaaaaaaaaaa'))).size() > 0`},
	{"string", `any.l.map(x, string(bytes(any.a.replace('a', 'aaaaaaaaaaaaaaaaaa')))).size() > 0`},
	{"charAt", `any.a.replace('a', any.a).split('', 9)[8].charAt(1) == 'b' || any.l.all(x, any.l.all(y, any.a.replace('a', 'aaaaaaaaaa').charAt(x) == 'a'))`},
	{"size", `any.l.all(x, any.l.all(y, any.a.replace('a', any.a).size() == 1000000))`},
	{"quantity", `any.l.all(x, !quantity(any.a.replace('a', '{9*23}')).isInteger())`},
	{"isQuantity", `isQuantity(any.a.replace('a', '{9*290}'))`},
	{"url", `any.l.map(x, url('http://a/' + any.a.replace('a', 'aaaaaaaaa'))).size() > 0`},
	{"getQuery", `any.l.map(x, url('http://a/?' + any.a.replace('a', '{a&b=*100}')).getQuery()).size() > 0`},
}

var repeats = regexp.MustCompile(`\{([^{}*]+)\*(\d+)\}`)

// written is an expression with its repetitions written out.
func written(text string) string {
	return repeats.ReplaceAllStringFunc(text, func(part string) string {
		m := repeats.FindStringSubmatch(part)
		n, _ := strconv.Atoi(m[2])
		if m[1] == "deep" {
			return "[any.l]" + strings.Repeat(".map(x, [x, x, x, x, x, x, x, x])", n)
		}
		return strings.Repeat(m[1], n)
	})
}

func hostileScope(t testing.TB) (*Scope, func() *Bindings) {
	s := scopeOf(t, shop())
	numbers := strings.TrimSuffix(strings.Repeat("1234,", 1000), ",")
	obj := tree(t, `{"a":"`+strings.Repeat("a", 1000)+`","l":[`+numbers+`]}`)
	return s, func() *Bindings {
		b := s.Bind()
		b.Set(2, obj)
		return b
	}
}

// TestHostileExpressions: what an expression would make is priced before it is made.
func TestHostileExpressions(t *testing.T) {
	s, bind := hostileScope(t)
	for _, h := range hostile {
		t.Run(h.function, func(t *testing.T) {
			p, err := s.Compile(written(h.text), Condition)
			if err != nil {
				if strings.Contains(err.Error(), errPattern.Error()) {
					return
				}
				t.Fatal(err)
			}
			var cost uint64
			evaluate := map[string]func() error{
				"counted": func() error { _, c, err := p.EvalCounting(context.Background(), bind()); cost = c; return err },
				"plain":   func() error { _, err := p.Eval(context.Background(), bind()); return err },
			}
			for name, eval := range evaluate {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				begun := time.Now()
				err := eval()
				took := time.Since(begun)
				runtime.ReadMemStats(&after)
				if made := after.TotalAlloc - before.TotalAlloc; made > 16*callRoom || took > 2*maxTime {
					t.Errorf("%s: %s: %d MiB, %s: %v (cost %d)", name, h.text, made>>20, took, err, cost)
				}
				if !errors.Is(err, ErrCost) && !errors.Is(err, ErrInterrupted) {
					t.Errorf("%s: %s: %v (cost %d)", name, h.text, err, cost)
				}
			}
		})
	}
}

// TestEveryFunctionIsPriced: a new function is either priced or known as one that makes
// nothing of size.
func TestEveryFunctionIsPriced(t *testing.T) {
	for _, made := range []func() (*base, error){theBase, documentBase} {
		b, err := made()
		if err != nil {
			t.Fatal(err)
		}
		for name := range b.env.Functions() {
			_, priced := pricers[name]
			if free := slices.Contains(constantWork, name); priced == free {
				t.Errorf("%s: priced %v, of constant work %v", name, priced, free)
			}
		}
	}
}
