// Package promise holds what a server promises to clients that work at once, a function
// each, over the record of what they saw.
package promise

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Promise is a guarantee with the function that finds where a record breaks it.
type Promise struct {
	Name, Sentence string
	Check          func(*record.Record) []string
}

// All are the promises of this package; those of package history hold too.
func All() []Promise {
	return []Promise{
		{"timely", "Every request ends within its time.", timely},
		{"answered", "No answer is a mistake of the server: a write is done or refused with its reason, or webhooks review it anew until its time ends.", answered},
		{"linear", "The answers about one object are those of one order of all requests, and each acknowledged write is in it.", linear},
		{"streams", "A watch of custom objects shows each change once and in order, each acknowledged write, and the same as the others.", streams},
		{"ended", "A watch ends with its definition, after the DELETED events of all its objects, and not before.", ended},
		{"survivors", "A definition has only objects that were made after it.", survivors},
		{"housed", "Nothing lives in a namespace that is gone, or not made yet; and a deletion of a namespace ends.", housed},
		{"closed", "Nothing is made in a namespace, or of a definition, that is being deleted.", closed},
		{"owned", "No two services have the same address or node port.", owned},
		{"bounded", "No write makes more objects than a quota allows, and no quota is charged above its bound.", bounded},
		{"paid", "An object is charged to the quotas that count it by the transaction that makes it.", paid},
		{"charged", "At rest a quota says how many objects there are, and has the bounds of its spec.", charged},
		{"collected", "At rest nothing is there whose owners are gone, and no deletion is open.", collected},
		{"sheltered", "Nothing is collected while an owner is there.", sheltered},
		{"finalized", "Nothing is gone before its finalizers were taken away.", finalized},
		{"revoked", "A right that was taken away before a request began does not count for it.", revoked},
		{"granted", "A right that was given before a request began counts for it.", granted},
		{"fields", "The managers of an object own exactly the fields that it has.", fields},
		{"obeyed", "A policy that is there from the begin of a write to its commit is obeyed, and no other one.", obeyed},
		{"limited", "A pod has the defaults and the bounds of the limit range that is there while it is made.", limited},
		{"routed", "An extension server answers for its group while it is registered, and not before or after.", routed},
		{"applied", "After an apply its manager owns exactly the fields that it had.", applied},
		{"valid", "At rest a custom object passes the schema of its definition, or was not written since that changed.", valid},
		{"bound", "A pod is bound once.", bound},
		{"budgeted", "A budget never allows less than no disruption.", budgeted},
		{"stored", "An object in an answer is a state that the watches show.", stored},
		{"copied", "A backup holds the state at one revision, with everything that was acknowledged before it began.", copied},
		{"returned", "At rest the server has as many goroutines, open files, views of the store and bytes as before.", returned},
		{"stops", "The server stops within its time when it is asked to.", stops},
	}
}

// Violation is one way in which a record breaks a promise.
type Violation = history.Violation

// most bounds the violations of one promise that are returned.
const most = 5

// Check returns the violations in a record, the first few of each promise.
func Check(r *record.Record) (all []Violation) {
	add := func(name string, texts []string) {
		for i, text := range texts {
			if i == most {
				all = append(all, Violation{Promise: name, Text: fmt.Sprintf("and %d more", len(texts)-i)})
				return
			}
			all = append(all, Violation{Promise: name, Text: text})
		}
	}
	for _, p := range All() {
		add(p.Name, p.Check(r))
	}
	if r.History != nil {
		all = append(all, history.Check(r.History)...)
	}
	probes := make(map[string][]string)
	for _, p := range r.Probes {
		probes[p.Promise] = append(probes[p.Promise], p.Text)
	}
	for name, texts := range probes {
		add(name, texts)
	}
	return all
}

// mark is the mark of the write that made an object's state.
func mark(o *record.Object) string { return o.Meta.Annotations[history.MarkAnnotation] }
