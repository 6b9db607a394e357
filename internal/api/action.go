package api

import (
	"context"
	"net/http"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Action is an operation that the documents of a module declare and its own code performs: of an object, as a
// subresource, or of a namespace or the cluster, as a resource without storage.
type Action struct {
	// Writes says that the action may change objects.
	Writes bool
	// Run performs it. The body is canonical JSON, nil for an action that is read; so is the answer.
	Run func(ctx context.Context, call ActionCall, body []byte) (answer []byte, err error)
	// Stream performs one with a sequence of answers, in place of Run; nil for others. send returns when the answer is on
	// its way. Errors of send: the request has ended, or the answer is not what the document promises.
	Stream func(ctx context.Context, call ActionCall, body []byte, send func(answer []byte) error) error
	// Verb is that of the right to the action; "" for that of its method.
	Verb string
	// Deprecated is the announced end of the action below an object; nil for none, and where its row has it.
	Deprecated *Deprecation
	// Refusals are the reasons for which its code may refuse a call; nil for every reason.
	Refusals []Reason
	// Answer and AnswerKind are the type and kind of the answer, in the group version of the resource.
	Answer     schema.Ref
	AnswerKind string
}

// Answers notes the kind of the answer.
func (a *Action) Answers(kind string, t schema.Ref) *Action {
	a.Answer, a.AnswerKind = t, kind
	return a
}

// Refuses notes the reasons for which the code may refuse a call.
func (a *Action) Refuses(reasons ...Reason) *Action {
	a.Refusals = reasons
	return a
}

// Ends notes that the action is deprecated.
func (a *Action) Ends(since, removedIn, replacement string) *Action {
	a.Deprecated = &Deprecation{Since: since, RemovedIn: removedIn, Replacement: replacement}
	return a
}

// Needs notes the verb of the right to the action.
func (a *Action) Needs(verb string) *Action {
	a.Verb = verb
	return a
}

// Rights are the verbs of the rights to a resource or a subresource with those verbs, which has the action; nil for none.
func (a *Action) Rights(verbs Verbs) []string {
	if a != nil && a.Verb != "" {
		return []string{a.Verb}
	}
	return verbs.Names()
}

// Refusal is an error with which the code of an action refuses a call, unlike those of the methods of the call.
type Refusal struct{ Answer *Error }

func (r *Refusal) Error() string { return r.Answer.Message }

// Unwrap is the answer to the call.
func (r *Refusal) Unwrap() error { return r.Answer }

// Refuses is the code of the answer with which the code of an action refuses a call for the reason; 0 for a reason
// that it cannot have.
func (r Reason) Refuses() int {
	switch r {
	case ReasonBadRequest:
		return http.StatusBadRequest
	case ReasonForbidden:
		return http.StatusForbidden
	case ReasonNotFound:
		return http.StatusNotFound
	case ReasonConflict:
		return http.StatusConflict
	case ReasonInvalid:
		return http.StatusUnprocessableEntity
	case ReasonTooManyRequests:
		return http.StatusTooManyRequests
	case ReasonServiceUnavailable:
		return http.StatusServiceUnavailable
	}
	return 0
}

// ActionCall is a call of an action, as its code sees it. The texts of objects are JSON in the version that is asked
// for. Once the request has ended its methods fail.
type ActionCall interface {
	Namespace() string // "" for the cluster
	Name() string      // "" for an action that is not of an object
	User() ActionUser
	DryRun() bool
	// Warn adds a warning to the answer.
	Warn(text string)
	// Itself is the object of the call.
	Itself() ActionObject
	// Get is an object as it is now. Errors: 404, and those of the store.
	Get(ctx context.Context, of ActionObject) ([]byte, error)
	// Page is a part of the objects of a namespace, or of all for "": the first one, or the one after another page. All are
	// of one moment. Errors: 410 when that moment is not kept any more, and those of the store.
	Page(ctx context.Context, of ActionObject, after ActionPage) (ActionPage, error)
	// Create stores a new object, by the rules of a create, and returns it as it is stored.
	Create(ctx context.Context, of ActionObject, object []byte) ([]byte, error)
	// Update stores what change makes of an object, by the rules of an update. change runs again when others have
	// changed the object meanwhile. It returns the stored object. Errors: change's, and those of an update.
	Update(ctx context.Context, of ActionObject, change func(object []byte) ([]byte, error)) ([]byte, error)
	// Delete deletes an object, by the rules of a delete.
	Delete(ctx context.Context, of ActionObject) error
}

// ActionObject names an object for a call, or with an empty name the objects of a namespace.
type ActionObject struct{ APIVersion, Kind, Namespace, Name string }

// ActionPage is a part of the objects of a namespace.
type ActionPage struct {
	Objects  [][]byte
	Next     string // where the next page begins; "" at the end
	Revision uint64 // of the store at the moment of the first page
}

// ActionUser is the user of a call.
type ActionUser struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}
