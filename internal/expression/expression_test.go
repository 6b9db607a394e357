package expression

import (
	"context"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

func bounded(kind Kind, most int64) *Type { return &Type{Kind: kind, MaxElements: most, MinSize: 1} }

// shop is the type of the objects of the tests.
func shop() *Type {
	return &Type{Kind: Object, Fields: []Field{
		{Name: "name", Type: bounded(String, 40)},
		{Name: "namespace", Type: bounded(String, 40)},
		{Name: "a.b-c/d__e", Type: bounded(Integer, 0)},
		{Name: "count", Type: bounded(Integer, 0)},
		{Name: "price", Type: bounded(Number, 0)},
		{Name: "open", Type: bounded(Boolean, 0)},
		{Name: "port", Type: bounded(IntOrString, 40)},
		{Name: "since", Type: bounded(DateTime, 40)},
		{Name: "day", Type: bounded(Date, 40)},
		{Name: "wait", Type: bounded(Duration, 40)},
		{Name: "data", Type: bounded(Bytes, 40)},
		{Name: "maybe", Type: &Type{Kind: String, Nullable: true, MaxElements: 40}},
		{Name: "any", Type: &Type{Kind: Opaque}},
		{Name: "list", Type: &Type{Kind: List, Elem: bounded(Integer, 0), MaxElements: 10}},
		{Name: "set", Type: &Type{Kind: List, ListType: schema.ListSet, Elem: bounded(String, 10), MaxElements: 10}},
		{Name: "set2", Type: &Type{Kind: List, ListType: schema.ListSet, Elem: bounded(String, 10), MaxElements: 10}},
		{Name: "keyed", Type: keyed()},
		{Name: "keyed2", Type: keyed()},
		{Name: "labels", Type: &Type{Kind: Map, Elem: bounded(String, 20), MaxElements: 10}},
	}}
}

func keyed() *Type {
	return &Type{Kind: List, ListType: schema.ListMap, Keys: []string{"k"}, MaxElements: 10,
		Elem: &Type{Kind: Object, Fields: []Field{{Name: "k", Type: bounded(String, 10)}, {Name: "v", Type: bounded(Integer, 0)}, {Name: "any", Type: &Type{Kind: Opaque}}}}}
}

const shopText = `{"name":"corner","namespace":"n","a.b-c/d__e":7,"count":3,"price":2.5,"open":true,"port":"http","since":"2022-01-02T03:04:05Z",
"day":"2022-01-02","wait":"90s","data":"aGk=","maybe":null,"any":{"x":[1]},"list":[3,1,2],"set":["a","b"],"set2":["b","a"],
"keyed":[{"k":"a","v":1,"any":{"x":1}},{"k":"b","v":2}],"keyed2":[{"k":"b","v":2},{"k":"a","v":1,"any":{"x":1}}],"labels":{"a":"1","b.c":"2"},"extra":{"y":1}}`

// tree reads JSON text without a type.
func tree(t testing.TB, text string) document.Value {
	t.Helper()
	doc, err := document.DecodeAny([]byte(text), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(doc.Release)
	return doc.Root()
}

func scopeOf(t testing.TB, root *Type) *Scope {
	t.Helper()
	var ts Types
	ts.Declare("shop", root)
	s, err := NewScope(&ts, Variable{Name: "self", Type: root}, Variable{Name: "oldSelf", Type: root, Optional: true}, Variable{Name: "any"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// outcome evaluates a condition both ways: "true", "false", or the error.
func outcome(t testing.TB, s *Scope, text string, self document.Value) string {
	t.Helper()
	p, err := s.Compile(text, Condition)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return line
	}
	b := s.Bind()
	b.Set(0, self)
	b.Set(1, document.Value{})
	b.Set(2, self)
	show := func(err error, value bool) string {
		switch {
		case err != nil:
			return "error: " + err.Error()
		case value:
			return "true"
		}
		return "false"
	}
	v, err := p.Eval(context.Background(), b)
	quick := show(err, True(v))
	v, cost, err := p.EvalCounting(context.Background(), b)
	if counted := show(err, True(v)); counted != quick {
		t.Errorf("%s is %s, and %s when costs are counted", text, quick, counted)
	}
	if cost > 2*p.Cost { // the estimate leaves out the smallest costs
		t.Errorf("%s cost %d, the estimate is %d", text, cost, p.Cost)
	}
	return quick
}

func TestExpressions(t *testing.T) {
	s, self := scopeOf(t, shop()), tree(t, shopText)
	for _, test := range []struct{ text, want string }{
		{`self.name == 'corner' && self.count < 4 && self.price > 2.0 && self.open`, "true"},
		{`self.__namespace__ == 'n'`, "true"},
		{`self.a__dot__b__dash__c__slash__d__underscores__e == 7`, "true"},
		{`has(self.name) && !has(self.maybe)`, "true"},
		{`self.maybe == 'x'`, "error: no such key: maybe"},
		{`self.?maybe.orValue('none') == 'none'`, "true"},
		{`self.missing == 1`, "ERROR: <input>:1:5: undefined field 'missing'"},
		{`self.any == 1`, "ERROR: <input>:1:5: undefined field 'any'"},
		{`self.count`, "int"},
		{`self.port == 'http' && self.port != 80`, "true"},
		{`self.port > 80`, "error: no such overload"},
		{`self.since > timestamp('2022-01-01T00:00:00Z') && self.since.getFullYear() == 2022 && self.day < self.since`, "true"},
		{`self.wait == duration('1m30s') && self.wait.getSeconds() == 90`, "true"},
		{`self.data == b'hi'`, "true"},
		{`self.list == [3, 1, 2] && self.list != [1, 2, 3] && [3, 1, 2] == self.list`, "true"},
		{`self.list.sum() == 6 && self.list.max() == 3 && self.list.min() == 1 && !self.list.isSorted()`, "true"},
		{`self.list.indexOf(1) == 1 && self.list.lastIndexOf(9) == -1 && 2 in self.list && self.list[0] == 3`, "true"},
		{`self.list[7] == 1`, "error: index out of bounds: 7"},
		{`self.list.all(x, self.list.exists(y, x == y)) && self.list.map(x, x * 2) == [6, 2, 4]`, "true"},
		{`self.set == self.set2 && self.set + self.set2 == self.set && self.set == ['b', 'a']`, "true"},
		{`(self.set + ['c']).size() == 3`, "true"},
		{`dyn(self.keyed) == self.keyed2 && (self.keyed + self.keyed).size() == 2`, "true"},
		{`dyn(self.keyed) + dyn(self.keyed2) == self.keyed`, "true"},
		{`dyn(self.list) + [4] == [3, 1, 2, 4] && self.list + [4] == [3, 1, 2, 4]`, "true"},
		{`self.keyed.exists_one(e, e.k == 'a' && e.v == 1)`, "true"},
		{`self.labels == {'b.c': '2', 'a': '1'} && 'a' in self.labels && self.labels['b.c'] == '2' && self.labels.all(k, self.labels[k] != '')`, "true"},
		{`self.labels.transformList(k, v, k + v).size() == 2`, "true"},
		{`self.labels['z'] == ''`, "error: no such key: z"},
		{`self == self && any == any`, "true"},
		{`any.name == 'corner' && any.list[1] == 1 && any.extra.y == 1 && any['a.b-c/d__e'] == 7 && any.maybe == null`, "true"},
		{`!oldSelf.hasValue() && oldSelf.?name.orValue('new') == 'new'`, "true"},
		{`'abc 123'.find('[0-9]+') == '123' && '1 2 3'.findAll('[0-9]', 2) == ['1', '2'] && 'x'.matches('^x$')`, "true"},
		{`url('https://a.example:80/p%20q?k=v').getHost() == 'a.example:80' && url('/x') == url('/x') && !isURL('x') && url('https://a/?k=v').getQuery()['k'] == ['v']`, "true"},
		{`quantity('50Mi').isLessThan(quantity('1Gi')) && quantity('1k').add(1).asInteger() == 1001 && sign(quantity('-1')) == -1 && !isQuantity('x') && quantity('1') == quantity('1000m')`, "true"},
		{`quantity('x') == quantity('1')`, "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
		{`ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16')) && !isIP('::ffff:1.2.3.4')`, "true"},
		{`ip.isCanonical('::1') && string(cidr('10.1.0.0/8').masked()) == '10.0.0.0/8' && cidr('10.0.0.0/8').ip() == ip('10.0.0.0') && type(ip('::1')) == net.IP`, "true"},
		{`!format.dns1123Label().validate('abc').hasValue() && format.named('uuid').value().validate('x').value()[0] == 'does not match the UUID format' && !format.named('no').hasValue()`, "true"},
		{`semver('1.2.3').isLessThan(semver('1.10.0')) && isSemver('v1.2', true) && !isSemver('v1.2') && semver('1.0.0-rc.1').compareTo(semver('1.0.0')) == -1`, "true"},
		{`'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b' && self.set.join('') == 'ab' && sets.contains(self.set, ['a']) && 'Ab'.lowerAscii() == 'ab'`, "true"},
		{`'a'.replace('', 'xy') == 'xyaxy' && 'abc'.substring(1) == 'bc' && ' a '.trim() == 'a'`, "true"},
		{`1 / 0 == 1`, "error: division by zero"},
		{`self.list.all(x, x /`, "ERROR: <input>:1:21: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"},
		{`optional.of(self.count).optMap(x, x + 1).orValue(0) == 4`, "true"},
		{`optional.of(1)` + strings.Repeat(`.optMap(x, x)`, 100) + `.hasValue()`, "optMap and optFlatMap double their operand: the expression is too large with them"},
		{strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + ` == []`, "lists and maps may be nested in 32 others"},
		{`'a'.matches('[')`, "ERROR: <input>:1:13: invalid matches argument"},
	} {
		if got := outcome(t, s, test.text, self); got != test.want {
			t.Errorf("%s: %s, want %s", test.text, got, test.want)
		}
	}
}

// TestValuesThatDoNotFit checks values that are not of their declared types, which old
// objects may have.
func TestValuesThatDoNotFit(t *testing.T) {
	s := scopeOf(t, shop())
	self := tree(t, `{"name":5,"count":"x","price":"x","open":1,"list":{},"labels":[],"set":"x","keyed":[1,{"k":1}],"wait":"soon","since":1,"data":"%","port":true}`)
	for _, text := range []string{`self.name == ''`, `self.count > 1`, `self.price > 1.0`, `self.open`, `self.list == []`, `self.labels == {}`, `self.set == []`, `self.keyed[0].k == ''`,
		`self.wait > duration('1s')`, `self.since > timestamp('2022-01-01T00:00:00Z')`, `self.data == b''`, `self.port == 1`, `self.set == self.keyed.map(e, e.k)`} {
		if got := outcome(t, s, text, self); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", text, got)
		}
	}
	if got := outcome(t, s, `self == self && self.keyed == self.keyed`, tree(t, `{"keyed":[{"k":"1"},{"k":"2","any":1}],"any":{"x":1}}`)); got != "true" {
		t.Error(got)
	}
}

func BenchmarkTenComparisons(b *testing.B) {
	s, self := scopeOf(b, shop()), tree(b, shopText)
	p, err := s.Compile(`self.count > 1 && self.count < 10 && self.price > 1.0 && self.price < 5.0 && self.name != '' && self.name != 'x' && self.count != 5 && self.open == true && self.list[0] == 3 && self.labels['a'] == '1'`, Condition)
	if err != nil {
		b.Fatal(err)
	}
	for _, counting := range []bool{false, true} {
		b.Run(map[bool]string{false: "bounded", true: "counting"}[counting], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bound := s.Bind()
				bound.Set(0, self)
				var err error
				if counting {
					_, _, err = p.EvalCounting(context.Background(), bound)
				} else {
					_, err = p.Eval(context.Background(), bound)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	s := scopeOf(b, shop())
	b.Run("scope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			scopeOf(b, shop())
		}
	})
	b.Run("program", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Compile(`self.count > 1 && self.name.startsWith('a') && self.list.all(x, x > 1)`, Condition); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("base", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := newBase(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
