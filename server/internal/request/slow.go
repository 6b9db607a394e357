package request

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/logging"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// SlowLog keeps the last requests that took long. A request that did not take long costs a
// comparison; only slow ones take the lock.
//
// Invariant: the texts in it are copies of bounded length, so that it keeps neither the
// headers nor the bodies of requests in memory.
type SlowLog struct {
	most  int
	least time.Duration

	mu   ranks.Mutex[ranks.Leaf]
	ring []SlowRequest
	next int // in a full ring: the oldest
}

// SlowRequest is a request that took long, without what may be private in it: neither values
// of its query nor its body.
type SlowRequest struct {
	Time        time.Time `json:"time"` // when it began
	Method      string    `json:"method"`
	Path        string    `json:"path"`
	Options     []string  `json:"options,omitempty"` // names of the API's own query parameters
	Verb        string    `json:"verb"`
	Group       string    `json:"group,omitempty"`
	Version     string    `json:"version,omitempty"`
	Resource    string    `json:"resource,omitempty"`
	Subresource string    `json:"subresource,omitempty"`
	User        string    `json:"user,omitempty"`
	Code        int       `json:"code"` // 0 when the client was gone before the answer
	Bytes       int64     `json:"bytes"`
	Duration    float64   `json:"durationSeconds"`
	Queued      float64   `json:"queuedSeconds"` // of the duration, at its priority level
}

// longestText bounds the texts of a slow request in bytes, mostSlow the number of requests.
const (
	longestText = 512
	mostSlow    = 100_000
)

// NewSlowLog makes a log of the last requests, at most most of them, that took least or longer;
// nil for none.
func NewSlowLog(most int, least time.Duration) *SlowLog {
	if most <= 0 {
		return nil
	}
	return &SlowLog{most: most, least: least}
}

// Least is the time from which a request is kept.
func (l *SlowLog) Least() time.Duration { return l.least }

// Newest lists at most so many of the requests, those that ended last first.
func (l *SlowLog) Newest(most int) []SlowRequest {
	l.mu.Lock()
	all := slices.Concat(l.ring[l.next:], l.ring[:l.next])
	l.mu.Unlock()
	slices.Reverse(all)
	return all[:min(most, len(all))]
}

// ended notes a request with its labels in metrics. Those that last as long as the client wants
// are not slow.
func (l *SlowLog) ended(r *Request, k *metrics.Key, took time.Duration) {
	if l == nil || took < l.least || r.lasts {
		return
	}
	s := SlowRequest{Time: r.start, Method: bounded(r.HTTP.Method), Path: bounded(r.HTTP.URL.Path), Options: optionsOf(r.HTTP.URL),
		Verb: lower(k.Verb), Code: r.Status, Bytes: r.Bytes, Duration: took.Seconds(), Queued: r.queued.Seconds()}
	if of := k.Resource; of.Plural != "" {
		s.Verb, s.Group, s.Version, s.Resource, s.Subresource = r.Verb(), of.Group, of.Version, of.Plural, k.Sub
	}
	if r.User != nil {
		s.User = bounded(r.User.Name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ring) < l.most {
		l.ring = append(l.ring, s)
		return
	}
	l.ring[l.next] = s
	l.next = (l.next + 1) % len(l.ring)
}

// bounded is a copy of a client's text, cut if it is long.
func bounded(text string) string {
	if len(text) > longestText {
		text = strings.ToValidUTF8(text[:longestText], "") + "…"
	}
	return strings.Clone(text)
}

// optionsOf are the names of a query that are the API's own. Others may be secrets.
func optionsOf(u *url.URL) (names []string) {
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if logging.PublicParameter(name) && !slices.Contains(names, name) {
			names = append(names, strings.Clone(name))
		}
	}
	return names
}
