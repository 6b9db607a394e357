package matching

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/server/internal/conditions"
)

// Conditions are the match conditions of a webhook or a policy, compiled when they are
// first used. Nil are none.
type Conditions struct {
	texts   []string
	compile func() ([]*expression.Program, error)
}

// ReadConditions reads match conditions. params says that they may use parameters.
func ReadConditions(list document.Value, params bool) *Conditions {
	if list.Len() == 0 {
		return nil
	}
	c := &Conditions{}
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
	programs, err := c.compile()
	if err != nil {
		return false, err
	}
	budget := expression.Budget(conditions.MatchBudget)
	bindings := in.Bind(ctx, programs[0].Scope())
	var failed []string
	for i, p := range programs {
		v, err := p.Spend(ctx, bindings, &budget)
		switch {
		case errors.Is(err, expression.ErrBudget):
			return false, err
		case err != nil:
			failed = append(failed, NoValue(c.texts[i], err).Error())
		case !expression.True(v):
			return false, nil
		}
	}
	switch len(failed) {
	case 0:
		return true, nil
	case 1:
		return false, errors.New(failed[0])
	}
	return false, errors.New("[" + strings.Join(failed, ", ") + "]")
}

// NoValue is the error of an expression without a value.
func NoValue(text string, err error) error {
	return fmt.Errorf("expression '%s' resulted in error: %w", text, err)
}
