package api

import (
	"context"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Action is an operation on an object that the documents of a module declare and its own code performs.
type Action struct {
	// Writes says that the action may change the object.
	Writes bool
	// Run performs it. The body is canonical JSON, nil for an action that is read; so is the answer.
	Run func(ctx context.Context, call ActionCall, body []byte) (answer []byte, err error)
	// Answer and AnswerKind are the type and kind of the answer, in the group version of the resource.
	Answer     schema.Ref
	AnswerKind string
}

// Answers notes the kind of the answer.
func (a *Action) Answers(kind string, t schema.Ref) *Action {
	a.Answer, a.AnswerKind = t, kind
	return a
}

// ActionCall is a call of an action, as its code sees it. The texts of objects are JSON in the version of the
// request. Once the request has ended its methods fail.
type ActionCall interface {
	Namespace() string // "" for cluster-scoped objects
	Name() string
	User() ActionUser
	DryRun() bool
	// Warn adds a warning to the answer.
	Warn(text string)
	// Object is the object as it is now. Errors: 404, and those of the store.
	Object(ctx context.Context) ([]byte, error)
	// Update stores what change makes of the object, by the rules of an update. change runs again when others have
	// changed the object meanwhile. It returns the stored object. Errors: change's, and those of an update.
	Update(ctx context.Context, change func(object []byte) ([]byte, error)) ([]byte, error)
}

// ActionUser is the user of a call.
type ActionUser struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}
