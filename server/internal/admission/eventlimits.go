package admission

import (
	"container/list"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/ranks"
)

// EventLimit is a limit of the plug-in EventRateLimit.
type EventLimit struct {
	Type      string `yaml:"type"`      // Server, Namespace, User, SourceAndObject
	QPS       int64  `yaml:"qps"`       // events a second, of each key of the type
	Burst     int64  `yaml:"burst"`     // events at once
	CacheSize int    `yaml:"cacheSize"` // keys that are remembered; 0 for 4096
}

// mistake is the reason why there cannot be such a limit, and its member.
func (l *EventLimit) mistake() (member, why string) {
	switch {
	case eventKeys[l.Type] == nil:
		return "type", fmt.Sprintf("%q is not Server, Namespace, User or SourceAndObject", l.Type)
	case l.QPS <= 0:
		return "qps", fmt.Sprintf("%d: must be positive", l.QPS)
	case l.Burst <= 0:
		return "burst", fmt.Sprintf("%d: must be positive", l.Burst)
	case l.CacheSize < 0:
		return "cacheSize", fmt.Sprintf("%d: must not be negative", l.CacheSize)
	}
	return "", ""
}

// eventKeys are the keys of an event, by the type of a limit.
var eventKeys = map[string]func(r *Request) string{
	"Server":    func(*Request) string { return "" },
	"Namespace": func(r *Request) string { return r.Namespace },
	"User": func(r *Request) string {
		if r.User == nil {
			return ""
		}
		return r.User.Name
	},
	"SourceAndObject": func(r *Request) string {
		source, about := r.Object.Get("source"), r.Object.Get("involvedObject")
		return strings.Join([]string{source.Get("component").Text(), source.Get("host").Text(), about.Get("kind").Text(), about.Get("namespace").Text(),
			about.Get("name").Text(), about.Get("uid").Text(), about.Get("apiVersion").Text()}, "")
	},
}

// eventLimiter keeps a limit: a bucket of tokens for each key. A key that is forgotten has
// a full one.
type eventLimiter struct {
	EventLimit
	mu      ranks.Mutex[ranks.Leaf]
	buckets map[string]*list.Element
	recent  *list.List // of *bucket, the least recent last
}

type bucket struct {
	key    string
	tokens float64
	at     time.Time
}

const usualCacheSize = 4096

func newEventLimiters(limits []EventLimit) (all []*eventLimiter) {
	for _, l := range limits {
		if l.CacheSize == 0 {
			l.CacheSize = usualCacheSize
		}
		all = append(all, &eventLimiter{EventLimit: l, buckets: map[string]*list.Element{}, recent: list.New()})
	}
	return all
}

// take takes a token of a key, if there is one.
func (l *eventLimiter) take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.buckets[key]
	if e == nil {
		e = l.recent.PushFront(&bucket{key, float64(l.Burst), now})
		l.buckets[key] = e
		if l.recent.Len() > l.CacheSize {
			delete(l.buckets, l.recent.Remove(l.recent.Back()).(*bucket).key)
		}
	}
	l.recent.MoveToFront(e)
	b := e.Value.(*bucket)
	b.tokens = min(float64(l.Burst), b.tokens+max(now.Sub(b.at).Seconds(), 0)*float64(l.QPS))
	if b.at = now; b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// giveBack returns a token of a key. A key that is forgotten has all of them.
func (l *eventLimiter) giveBack(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.buckets[key]; e != nil {
		b := e.Value.(*bucket)
		b.tokens = min(float64(l.Burst), b.tokens+1)
	}
}

// limitEvents refuses events above the limits. All limits count a refused event, and each
// event once: an abandoned attempt gives its tokens back.
func (c *Chain) limitEvents(_ context.Context, r *Request) error {
	if r.Asked == nil || r.Asked.Kind != "Event" || r.Asked.GV.Group != "" || r.DryRun {
		return nil
	}
	var reached []string
	now := time.Now()
	for _, l := range c.events {
		key := strings.Clone(eventKeys[l.Type](r))
		if !l.take(key, now) {
			reached = append(reached, fmt.Sprintf("limit reached on type %v for key %v", l.Type, key))
			continue
		}
		r.undo(func() { l.giveBack(key) })
	}
	if reached == nil {
		return nil
	}
	message := strings.Join(reached, ", ")
	if len(reached) > 1 {
		message = "[" + message + "]"
	}
	return &api.Error{Code: http.StatusTooManyRequests, Reason: api.ReasonTooManyRequests, Message: "Too many requests: " + message}
}
