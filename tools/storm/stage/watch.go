package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Watching is a watch to open.
type Watching struct {
	Kind      Kind
	Namespace string
	Selector  string // app=VALUE, "" for none
	From      uint64 // 0 for the state
	At        uint64 // the revision of a list, 0 for the newest
	Base      *history.List
	Continues *history.Watch
	Seconds   int // timeoutSeconds, 0 for none
	Most      int // events after which the client leaves, 0 for all
	// Plain watches compare no digests: their objects change their form with their
	// definition.
	Plain bool
	Into  *history.Recorder
	Each  func(record.Event)
	// Opened is asked once the server has begun to answer; the client leaves at false.
	Opened func(*history.Watch) bool
}

// The ends of a watch other than by a lost connection, whose error is any other.
var (
	errExpired = errors.New("expired")
	errRefused = errors.New("refused")
	errEnded   = errors.New("ended")
	errLeft    = errors.New("left")
)

// options are those of the watch as the history has them.
func (w *Watching) options() history.Options {
	o := history.Options{Resource: w.Kind.Resource, Namespace: w.Namespace, Selector: w.Selector}
	if w.Selector != "" {
		_, app, _ := strings.Cut(w.Selector, "=")
		o.Matches = func(s *history.State) bool { return s.Labels["app"] == app }
	}
	return o
}

// Watch reads a watch to its end and returns its record, nil when it was refused.
func (c *Client) Watch(ctx context.Context, w Watching) (*history.Watch, error) {
	q := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}}
	if w.Selector != "" {
		q.Set("labelSelector", w.Selector)
	}
	if w.From > 0 {
		q.Set("resourceVersion", strconv.FormatUint(w.From, 10))
	}
	if w.Seconds > 0 {
		q.Set("timeoutSeconds", strconv.Itoa(w.Seconds))
	}
	notBefore := w.Into.Newest()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.open(ctx, w.Kind.Path(w.Namespace)+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	defer answer.close()
	name := fmt.Sprintf("%d of client %d", c.marks.Add(1), c.ID)
	record := &history.Watch{Options: w.options(), Name: name, From: w.From, NotBefore: notBefore, Base: w.Base, Continues: w.Continues, Kept: 1 << 62}
	switch {
	case answer.code == http.StatusGone:
		return nil, errExpired
	case answer.code != http.StatusOK:
		return nil, errRefused
	}
	if w.Opened != nil && !w.Opened(record) {
		return nil, errLeft
	}
	w.Into.Watch(record)
	err = w.read(answer, record)
	record.Cut = !errors.Is(err, errEnded)
	if record.Cut && w.From == 0 && !slices.ContainsFunc(record.Events, func(e history.Event) bool { return e.Type != history.Added }) {
		record.Events, record.NotBefore = nil, 0 // perhaps some of the initial events only, which say nothing
	}
	return record, err
}

// read reads the events of a watch.
func (w *Watching) read(from *stream, into *history.Watch) error {
	changed := false
	for {
		var e struct {
			Type   string
			Object json.RawMessage
		}
		text, err := from.next()
		if err == io.EOF {
			return errEnded
		}
		if err == nil {
			err = json.Unmarshal(text, &e)
		}
		if err != nil {
			return err
		}
		if e.Type == "ERROR" {
			return errExpired
		}
		event := history.Event{Type: e.Type}
		if event.State, err = w.state(e.Object, e.Type == history.Bookmark); err != nil {
			return err
		}
		into.Events = append(into.Events, event)
		if w.Each != nil && e.Type != history.Bookmark {
			o, err := record.Parse(w.Kind.Resource, e.Object)
			if err != nil {
				return err
			}
			w.Each(record.Event{Type: e.Type, Object: o})
		}
		// The end of the initial events is seen by what follows them.
		changed = changed || w.From > 0 || e.Type != history.Added
		if w.Most > 0 && len(into.Events) >= w.Most && changed {
			return errLeft
		}
	}
}

// state is the state that an object of a watch or a list shows.
func (w *Watching) state(text []byte, bookmark bool) (history.State, error) {
	s, err := history.ParseObject(w.Kind.Resource, text)
	if err != nil {
		return s, err
	}
	s.Fields = nil // nobody selects by them
	if w.Plain {
		s.Digest = ""
	}
	if bookmark {
		return history.State{Revision: s.Revision}, nil
	}
	return s, nil
}

// List reads all objects, in pages of a size, 0 for one page. It is nil when it was
// refused or is incomplete.
func (c *Client) List(w Watching, page int) (*history.List, []*record.Object) {
	l := &history.List{Options: w.options(), NotBefore: w.Into.Newest()}
	q := Request{Verb: "list", Kind: w.Kind, Namespace: w.Namespace, Query: url.Values{}}
	if w.At > 0 {
		l.NotBefore = 0
		q.Query.Set("resourceVersion", strconv.FormatUint(w.At, 10))
		q.Query.Set("resourceVersionMatch", "Exact")
	}
	if w.Selector != "" {
		q.Query.Set("labelSelector", w.Selector)
	}
	if page > 0 {
		q.Query.Set("limit", strconv.Itoa(page))
	}
	var all []*record.Object
	for {
		code, text, err := c.Send(http.MethodGet, q.path(), "", nil)
		if err != nil || code != http.StatusOK {
			return nil, nil
		}
		var answer struct {
			Metadata struct{ ResourceVersion, Continue string }
			Items    []json.RawMessage
		}
		if json.Unmarshal(text, &answer) != nil {
			return nil, nil
		}
		l.Revision, _ = strconv.ParseUint(answer.Metadata.ResourceVersion, 10, 64) // 0 is found by the promises
		for _, item := range answer.Items {
			s, err := w.state(item, false)
			o, wrong := record.Parse(w.Kind.Resource, item)
			if err != nil || wrong != nil {
				return nil, nil
			}
			l.Items, all = append(l.Items, s), append(all, o)
		}
		if answer.Metadata.Continue == "" {
			w.Into.List(l)
			return l, all
		}
		q.Query.Set("continue", answer.Metadata.Continue)
		q.Query.Del("resourceVersion")
		q.Query.Del("resourceVersionMatch")
	}
}
