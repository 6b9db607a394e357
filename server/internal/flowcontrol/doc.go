// Package flowcontrol lets requests wait for each other: it finds the flow schema and the
// priority level of a request among the stored ones, and estimates its width. The queues
// are in internal/fairness.
//
// # Decisions
//
// Priority and fairness asks nothing of the store for a request: a list is as wide as the last list
// of the same collection was long. A watch has its seat until the first page of its state is read,
// so a slow client holds none. Extension servers have places of their own. The seats of a level are
// one lock, held for 300 ns a request; queues exist while they are used, whatever their number.
//
// The only request of a user need not wait while another user has all seats of the level: an eighth
// of the seats is spare for such requests (fairness.Rules.Spare).
package flowcontrol
