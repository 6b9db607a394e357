package encryption

import (
	"errors"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// questions are the questions to another program that are under way. A caller with a question
// that is under way waits for its answer, and the program is not asked again. So a wait lasts no
// longer than one question, however many callers wait and whatever the program does.
type questions[T any] struct {
	mu  ranks.Mutex[ranks.Leaf]
	now map[string]*question[T] // by what they are about
}

// question is one of them. The answer is there once it is done.
type question[T any] struct {
	done   chan struct{}
	answer T
	err    error
}

// errUnanswered is the error of callers that waited for a question whose asking has panicked.
var errUnanswered = errors.New("the question to the key management service was broken off")

// ask returns the answer to the question about something, which put asks.
func (q *questions[T]) ask(about string, put func() (T, error)) (T, error) {
	q.mu.Lock()
	asked, ok := q.now[about]
	if !ok {
		if q.now == nil {
			q.now = map[string]*question[T]{}
		}
		asked = &question[T]{done: make(chan struct{}), err: errUnanswered}
		q.now[about] = asked
	}
	q.mu.Unlock()
	if ok {
		<-asked.done
		return asked.answer, asked.err
	}
	defer func() {
		q.mu.Lock()
		delete(q.now, about)
		q.mu.Unlock()
		close(asked.done)
	}()
	asked.answer, asked.err = put()
	return asked.answer, asked.err
}
