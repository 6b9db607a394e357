package expression

import (
	"context"
	"time"

	"github.com/google/cel-go/interpreter"
)

// course is the state of one evaluation: the time, memory and steps that it has taken.
type course struct {
	ctx       context.Context
	loops     uint // steps of loops
	mostLoops uint // 0: any number
	steps     uint64
	look      uint64    // the steps at which the clock is looked at again
	made      uint64    // bytes of values
	start     time.Time // when the clock was first looked at
	variables int       // the variables that are evaluated for each other
}

// lookEvery is the number of steps of functions between two looks at the clock.
const lookEvery = 10_000

// courseName is the name by which planned calls find the bindings of their evaluation. No
// expression can write it.
const courseName = "#course"

// boundTo finds the bindings of an evaluation; nil while an expression is planned.
func boundTo(vars interpreter.Activation) *Bindings {
	v, _ := vars.ResolveName(courseName)
	b, _ := v.(*Bindings)
	return b
}

// begin begins an evaluation. The error says why there can be none.
func (b *Bindings) begin(ctx context.Context, mostLoops uint) error {
	if b.meter == nil {
		if b.meter = meterOf(ctx); b.meter == nil {
			b.meter = &b.own
		}
	}
	b.course = course{ctx: ctx, mostLoops: mostLoops, look: lookEvery, start: b.course.start, variables: b.course.variables}
	switch {
	case b.meter.over.Load():
		return ErrBudget
	case ctx.Err() != nil:
		return ErrInterrupted
	}
	return nil
}

// end ends an evaluation, and is given its cost and its error. What ended because the
// request has taken too much is ErrBudget.
func (b *Bindings) end(cost uint64, err error) error {
	if b.course.variables > 0 { // the evaluation goes on that this one is a part of
		return err
	}
	if !b.course.start.IsZero() {
		b.meter.pass(time.Since(b.course.start))
		b.course.start = time.Time{}
	}
	b.meter.spend(cost + b.extra)
	if err != nil && b.meter.over.Load() && b.course.ctx.Err() == nil {
		return ErrBudget
	}
	return err
}

// interrupted is asked by loops at each of their steps.
func (b *Bindings) interrupted() bool {
	c := &b.course
	if c.loops++; c.mostLoops != 0 && c.loops > c.mostLoops {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
	}
	return c.loops%checkFrequency == 0 && b.late()
}

// late reports whether the request has ended, or the evaluation has taken too long. The
// clock runs from the first look at it.
func (b *Bindings) late() bool {
	if b.course.ctx.Err() != nil {
		return true
	}
	if b.course.start.IsZero() {
		b.course.start = time.Now()
	}
	return time.Since(b.course.start) > b.meter.left()
}

// afford ends the evaluation if it cannot afford a call.
func (b *Bindings) afford(d demand) {
	c := &b.course
	if !(d.steps <= CallLimit-float64(c.steps)) || !(d.bytes <= callRoom-float64(c.made)) {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
	}
	if c.steps += uint64(d.steps); c.steps >= c.look {
		if c.look = c.steps + lookEvery; b.late() {
			panic(interpreter.EvalCancelledError{Cause: interpreter.ContextCancelled})
		}
	}
}

// keep counts a value that was made.
func (b *Bindings) keep(bytes uint64) {
	b.course.made += bytes
	if !b.meter.make(bytes) || b.course.made > callRoom {
		panic(interpreter.EvalCancelledError{Cause: interpreter.CostLimitExceeded})
	}
}
