package serve

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// The context of a request ends with its connection, at its deadline, or with the request.
func TestDeadline(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(hangUp context.CancelFunc, d *deadline)
		want error
	}{
		{"the client hangs up", func(hangUp context.CancelFunc, _ *deadline) { hangUp() }, context.Canceled},
		{"the time is over", func(context.CancelFunc, *deadline) { time.Sleep(time.Second) }, context.DeadlineExceeded},
		{"the request has ended", func(_ context.CancelFunc, d *deadline) { d.end() }, context.Canceled},
	} {
		for _, waited := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				connection, hangUp := context.WithCancel(t.Context())
				defer hangUp()
				d := &deadline{Context: connection, at: time.Now().Add(time.Second)}
				defer d.end()
				if waited {
					select {
					case <-d.Done():
						t.Error("ended at once")
					default:
					}
				}
				if d.Err() != nil || context.Cause(d) != nil {
					t.Errorf("%v before the end", d.Err())
				}
				c.end(hangUp, d)
				synctest.Wait()
				if err := d.Err(); !errors.Is(err, c.want) || context.Cause(d) != err {
					t.Errorf("%s: %v, cause %v", c.name, err, context.Cause(d))
				}
				<-d.Done()
			})
		}
	}
}

// A context made of that of a request costs no goroutine.
func TestDeadlineChildren(t *testing.T) {
	d := &deadline{Context: context.WithValue(t.Context(), deadlineKey{}, "here"), at: time.Now().Add(time.Hour)}
	before := runtime.NumGoroutine()
	child, cancel := context.WithCancel(d)
	defer cancel()
	if after := runtime.NumGoroutine(); after != before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
	if child.Value(deadlineKey{}) != "here" {
		t.Error("the values of the connection are gone")
	}
	d.end()
	<-child.Done()
}

type deadlineKey struct{}
