package objects

import "github.com/capstan-dev/capstan/internal/document"

// Keep releases a document at the end of the evaluation.
func (e *Evaluation) Keep(doc *document.Document) document.Value {
	e.docs = append(e.docs, doc)
	return doc.Root()
}

// abandon releases the resources of an evaluation that does not count, and gives back what
// plug-ins have taken. e may be nil, or finished.
func (e *Evaluation) abandon() {
	if e != nil {
		e.claim.Release()
		for _, giveBack := range e.taken {
			giveBack()
		}
		for _, p := range e.parts {
			p.abandon()
		}
		e.claim, e.taken = nil, nil
		e.release()
	}
}

func (e *Evaluation) release() {
	for _, doc := range e.docs {
		doc.Release()
	}
	for _, p := range e.parts {
		p.release()
	}
	e.space.Release()
	e.docs, e.space, e.parts = nil, nil, nil
}
