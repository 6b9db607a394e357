package matching

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/conditions"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Conditions are the match conditions of a webhook or a policy, compiled when they are
// first used. Nil are none.
type Conditions struct {
	about   metrics.Conditions
	texts   []string
	compile func() ([]*expression.Program, error)
}

// ReadConditions reads match conditions. params says that they may use parameters.
func ReadConditions(list document.Value, params bool, about metrics.Conditions) *Conditions {
	if list.Len() == 0 {
		return nil
	}
	c := &Conditions{about: about}
	for _, v := range list.Elements() {
		c.texts = append(c.texts, strings.Clone(v.Get("expression").Text()))
	}
	c.compile = sync.OnceValues(func() ([]*expression.Program, error) {
		scope, err := conditions.Scope(conditions.Kind{Params: params, Authorizer: true})
		if err != nil {
			return nil, err
		}
		programs := make([]*expression.Program, len(c.texts))
		for i, text := range c.texts {
			if programs[i], err = scope.Compile(text, expression.Condition); err != nil {
				return nil, fmt.Errorf("compilation error: %w", err)
			}
		}
		return programs, nil
	})
	return c
}

// Match reports whether all conditions are true. If none is false but one has no value, the
// error gives the reasons.
func (c *Conditions) Match(ctx context.Context, in *Input) (bool, error) {
	if c == nil {
		return true, nil
	}
	begin := time.Now()
	matches, failed, err := c.evaluate(ctx, in)
	in.matcher.Metrics.Judged(c.about, Words[in.Write.Operation], matches, failed, time.Since(begin))
	return matches, err
}

// Exclude notes that a webhook is not called because of its conditions.
func (m *Matcher) Exclude(c *Conditions, r *admission.Request) {
	m.Metrics.Excluded(c.about, Words[r.Operation])
}

// evaluate is Match; failed is the number of conditions without a value, up to the first
// that is false.
func (c *Conditions) evaluate(ctx context.Context, in *Input) (matches bool, failed int, err error) {
	programs, err := c.compile()
	if err != nil {
		return false, 0, err
	}
	budget := expression.Budget(conditions.MatchBudget)
	bindings := in.Bind(ctx, programs[0].Scope())
	var reasons []string
	for i, p := range programs {
		v, err := p.Spend(ctx, bindings, &budget)
		switch {
		case errors.Is(err, expression.ErrBudget):
			return false, len(reasons), err
		case err != nil:
			reasons = append(reasons, NoValue(c.texts[i], err).Error())
		case !expression.True(v):
			return false, len(reasons), nil
		}
	}
	switch len(reasons) {
	case 0:
		return true, 0, nil
	case 1:
		return false, 1, errors.New(reasons[0])
	}
	return false, len(reasons), errors.New("[" + strings.Join(reasons, ", ") + "]")
}

// NoValue is the error of an expression without a value.
func NoValue(text string, err error) error {
	return fmt.Errorf("expression '%s' resulted in error: %w", text, err)
}
