package flowcontrol

import (
	"bytes"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/capstan-dev/capstan/internal/fairness"
)

// Dump is the present state as a table, in the form of kube-apiserver: dump_priority_levels,
// dump_queues or dump_requests, with details of the requests if wanted. It reports false
// for other names.
func (c *Control) Dump(name string, details bool) (string, bool) {
	dumps := map[string]func(*table){"dump_priority_levels": c.dumpLevels, "dump_queues": c.dumpQueues,
		"dump_requests": func(t *table) { c.dumpRequests(t, details) }}
	dump, ok := dumps[name]
	if !ok {
		return "", false
	}
	t := newTable()
	dump(t)
	return t.text(), true
}

// table is text in columns.
type table struct {
	out  bytes.Buffer
	tabs *tabwriter.Writer
}

func newTable() *table {
	t := &table{}
	t.tabs = tabwriter.NewWriter(&t.out, 8, 0, 1, ' ', 0)
	return t
}

// row adds a row of texts and integers.
func (t *table) row(cells ...any) {
	for i, c := range cells {
		text, ok := c.(string)
		if !ok {
			text = strconv.Itoa(c.(int))
		}
		if i > 0 {
			text = ",\t" + text
		}
		_, _ = t.tabs.Write([]byte(text))
	}
	_, _ = t.tabs.Write([]byte("\n"))
}

func (t *table) text() string {
	_ = t.tabs.Flush()
	return t.out.String()
}

const none = "<none>"

func (c *Control) dumpLevels(t *table) {
	t.row("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests")
	for _, l := range c.now.Load().levels {
		if l.rules.Exempt {
			t.row(l.name, none, none, none, none, none)
			continue
		}
		s := l.share.Level.Inspect(nil)
		t.row(l.name, len(s.Due), strconv.FormatBool(s.Waiting+s.Running+s.Used == 0), "false", s.Waiting, s.Running)
	}
}

// mostIdle bounds the idle queues in a dump.
const mostIdle = 10000

func (c *Control) dumpQueues(t *table) {
	t.row("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum")
	for _, l := range c.now.Load().levels {
		if l.rules.Exempt {
			t.row(l.name, none, none, none, none, none, none, none, none)
			continue
		}
		row := func(q fairness.QueueState) {
			t.row(l.name, q.Index, q.Waiting, q.Running, q.Seats, seatSeconds(q.Next), q.Initial, q.Wanted, seatSeconds(q.Work))
		}
		next := 0
		idle := func(end int) {
			for ; next < min(end, mostIdle); next++ {
				row(fairness.QueueState{Index: next})
			}
		}
		for _, q := range l.share.Level.Inspect(nil).Queues {
			idle(q.Index)
			row(q)
			next = q.Index + 1
		}
		idle(l.rules.Queues)
	}
}

func seatSeconds(v float64) string { return strconv.FormatFloat(v, 'f', 8, 64) + "ss" }

func (c *Control) dumpRequests(t *table, details bool) {
	head := []any{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime", "InitialSeats",
		"FinalSeats", "AdditionalLatency"}
	if details {
		head = append(head, "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
	}
	t.row(head...)
	for _, l := range c.now.Load().levels {
		l.share.Level.Visit(func(queue, index int, arrived time.Time, w *fairness.Work) {
			p := w.Note.(*Place)
			row := []any{l.name, p.Class.schema.name, queue, index, p.flow(), arrived.UTC().Format(time.RFC3339Nano), w.Seats, w.Final, w.Lingering.String()}
			if details {
				row = append(row, p.User.Name, p.Verb, p.Path, p.Namespace, p.Name, strings.TrimPrefix(p.Group+"/"+p.Version, "/"), p.Resource, p.Subresource)
			}
			t.row(row...)
		})
	}
}
