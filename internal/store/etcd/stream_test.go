package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc/mem"
)

// spoken is a watch of etcd that sends some messages and ends.
type spoken struct {
	etcdserverpb.Watch_WatchClient
	messages []*etcdserverpb.WatchResponse
}

func (s *spoken) Recv() (*etcdserverpb.WatchResponse, error) {
	if len(s.messages) == 0 {
		return nil, io.EOF
	}
	next := s.messages[0]
	s.messages = s.messages[1:]
	return next, nil
}

// at is a message of a revision with some keys.
func at(revision int64, keys ...string) *etcdserverpb.WatchResponse {
	r := &etcdserverpb.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: revision}}
	for _, key := range keys {
		r.Events = append(r.Events, &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}})
	}
	return r
}

func fragment(r *etcdserverpb.WatchResponse) *etcdserverpb.WatchResponse {
	r.Fragment = true
	return r
}

// TestStream: the changes of a watch that have come since the last time are returned together and in order; those at one revision are
// never apart, also when etcd sends them in fragments, and no progress counts before they are there.
func TestStream(t *testing.T) {
	begun := at(90)
	begun.Created = true
	refused := &etcdserverpb.WatchResponse{Created: true, Canceled: true, CancelReason: "permission denied"}
	compacted := &etcdserverpb.WatchResponse{Canceled: true, CompactRevision: 50}
	for _, c := range []struct {
		name     string
		messages []*etcdserverpb.WatchResponse
		shown    []string // "created", or the keys and the revision
		err      string
	}{
		{"begun", []*etcdserverpb.WatchResponse{begun}, []string{"created"}, io.EOF.Error()},
		{"together", []*etcdserverpb.WatchResponse{begun, at(3, "a"), at(4, "b", "c"), at(9)}, []string{"a b c up to 9"}, io.EOF.Error()},
		{"fragments", []*etcdserverpb.WatchResponse{fragment(at(3, "a")), at(9), fragment(at(3, "b")), at(3, "c")}, []string{"a b c up to 3"}, io.EOF.Error()},
		{"broken off", []*etcdserverpb.WatchResponse{at(2, "a"), fragment(at(3, "b"))}, []string{"a up to 2"}, io.EOF.Error()},
		{"refused", []*etcdserverpb.WatchResponse{refused}, nil, "permission denied"},
		{"compacted", []*etcdserverpb.WatchResponse{begun, compacted}, []string{"created"}, errCompacted.Error()},
	} {
		s := newStream(&spoken{messages: c.messages})
		s.run(t.Context())
		var shown []string
		var err error
		for err == nil {
			var p progress
			if p, err = s.next(); err != nil {
				break
			}
			text := "created"
			if p.revision != 0 {
				text = ""
				for _, event := range p.events {
					text += string(event.Kv.Key) + " "
				}
				text += fmt.Sprintf("up to %d", p.revision)
			}
			shown = append(shown, text)
		}
		if !slices.Equal(shown, c.shown) || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, then %v", c.name, shown, err)
		}
	}
}

// TestStreamIsBounded: messages that the replica has no time for wait at etcd, and the watch ends with its context.
func TestStreamIsBounded(t *testing.T) {
	var messages []*etcdserverpb.WatchResponse
	for i := range 3 * arrivedMost {
		messages = append(messages, at(int64(i+1), "a"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, ended := newStream(&spoken{messages: messages}), make(chan struct{})
	go func() {
		s.run(ctx)
		close(ended)
	}()
	for len(s.arrived) < arrivedMost {
		select {
		case <-ended:
			t.Fatal("the watch has ended")
		default:
		}
	}
	cancel()
	<-ended
	if n := s.heard.Load(); n > arrivedMost+1 {
		t.Errorf("%d messages were read, %d have a place", n, arrivedMost)
	}
	if !errors.Is(s.err, context.Canceled) {
		t.Errorf("the watch ends with %v", s.err)
	}
}

// TestMessageCodec: messages come back as they were, and nothing else is taken for one.
func TestMessageCodec(t *testing.T) {
	var codec messageCodec
	sent := &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{put("key", []byte(strings.Repeat("value", 1000)), 7)}}
	data, err := codec.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	standard, err := sent.Marshal()
	if err != nil || string(data.Materialize()) != string(standard) {
		t.Errorf("encoded as %q, %v", data.Materialize(), err)
	}
	halves := mem.BufferSlice{mem.SliceBuffer(standard[:100]), mem.SliceBuffer(standard[100:])}
	var got etcdserverpb.TxnRequest
	if err := codec.Unmarshal(halves, &got); err != nil || got.String() != sent.String() {
		t.Errorf("decoded as %v, %v", &got, err)
	}
	if data, err := codec.Marshal(&etcdserverpb.StatusRequest{}); err != nil || data.Len() != 0 {
		t.Errorf("an empty message is %q, %v", data.Materialize(), err)
	}
	if _, err := codec.Marshal("text"); err == nil {
		t.Error("a text is encoded")
	}
	if codec.Unmarshal(halves, new(string)) == nil || codec.Unmarshal(mem.BufferSlice{mem.SliceBuffer(standard[:100])}, &got) == nil {
		t.Error("no error")
	}
}
