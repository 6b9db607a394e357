package expression

import (
	"context"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
)

// FuzzExpression compiles and evaluates any text over any object, in bounded time and
// without a panic.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{`self.list.all(x, self.list.exists(y, x == y))`, `self.keyed.map(e, e.v).sum() > self.count`, `self.labels.all(k, k.matches('^[a-z]+$'))`,
		`self.set + ['x'] == self.set2`, `dyn(self) == any`, `oldSelf.?name.orValue('x').replace('', self.name)`, `[1,2,3].map(a, [1,2,3].map(b, [a,b])).size() > 1`,
		`any.list.transformMap(i, v, {string(i): v}).size() == 3`, `quantity(self.name).add(1).compareTo(quantity('1')) == 0 || ip(self.name).isLoopback()`} {
		f.Add(text, shopText)
		f.Add(text, `{"list":[1,{"a":[]}],"labels":{"a":null},"name":null,"keyed":[null,[]],"set":{}}`)
	}
	root := shop()
	s := scopeOf(f, root)
	f.Fuzz(func(t *testing.T, text, object string) {
		if len(text) > 1<<12 || len(object) > 1<<14 {
			return
		}
		begin := time.Now()
		p, err := s.Compile(text, Anything)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("compiling took %v", took)
		}
		if err != nil {
			return
		}
		doc, err := document.DecodeAny([]byte(object), document.Limits{})
		if err != nil {
			return
		}
		defer doc.Release()
		b := s.Bind()
		for i := range 3 {
			b.Set(i, doc.Root())
		}
		begin = time.Now()
		if _, cost, err := p.EvalCounting(context.Background(), b); err == nil && p.Bounded(CallLimit) && cost <= CallLimit/100 {
			p.Eval(context.Background(), b)
		}
		if took := time.Since(begin); took > maxTime+5*time.Second {
			t.Errorf("evaluating took %v", took)
		}
	})
}
