package conversion_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// remote converts like a converter over a network.
type remote struct {
	calls atomic.Int64
	does  atomic.Pointer[func(ctx context.Context, objects [][]byte) ([][]byte, error)] // before the answer, or instead of it
}

func (r *remote) do(f func(ctx context.Context, objects [][]byte) ([][]byte, error)) {
	r.does.Store(&f)
}

func (r *remote) Convert(ctx context.Context, to *api.Resource, objects [][]byte) (all [][]byte, err error) {
	r.calls.Add(1)
	if do := r.does.Load(); do != nil {
		if all, err = (*do)(ctx, objects); err != nil || all != nil {
			return all, err
		}
	}
	for _, o := range objects {
		from, _ := document.Find(o, "apiVersion")
		all = append(all, bytes.Replace(o, from, []byte(`"`+to.GV.APIVersion()+`"`), 1))
	}
	return all, nil
}

// TestRemoteConversion: objects of a kind with a remote converter are written and read in
// both versions; a list is converted in few calls; a converter that blocks holds no lock;
// its mistakes are refused.
func TestRemoteConversion(t *testing.T) {
	h := harness.Start(t, nil)
	conversion := &remote{}
	versions := harness.Widgets(h.Running, 0)
	versions[1].Conversion = &api.Conversion{Storage: versions[0], Remote: conversion}
	h.Running.Put(versions...)
	const v1, beta = "/apis/example.com/v1/namespaces/default/widgets0", "/apis/example.com/v1beta1/namespaces/default/widgets0"

	made := h.Post(beta, `{"metadata":{"name":"w"},"data":{"a":"b"}}`)
	if made.Code != http.StatusCreated || made.Field(t, "apiVersion") != "example.com/v1beta1" {
		t.Fatalf("create: %d %s", made.Code, made.Body)
	}
	if got := h.Get(v1 + "/w"); got.Field(t, "apiVersion") != "example.com/v1" || got.Field(t, "data.a") != "b" {
		t.Errorf("as it is stored: %s", got.Body)
	}
	for n := range 1200 {
		h.Post(v1, fmt.Sprintf(`{"metadata":{"name":"many-%04d"}}`, n)).Expect(t, http.StatusCreated, "")
	}
	before := conversion.calls.Load()
	list := h.Get(beta)
	if items := list.Field(t, "items").([]any); len(items) != 1201 || items[1200].(map[string]any)["metadata"].(map[string]any)["name"] != "w" {
		t.Errorf("a list of %d items", len(items))
	}
	if calls := conversion.calls.Load() - before; calls != 3 {
		t.Errorf("%d calls for 1201 objects, want 3", calls)
	}

	watch := h.Watch(beta + "?watch=true&resourceVersion=" + list.Field(t, "metadata.resourceVersion").(string))
	for _, c := range []struct{ media, body string }{
		{"application/merge-patch+json", `{"data":{"a":"c"}}`},
		{"application/apply-patch+yaml", `{"apiVersion":"example.com/v1beta1","kind":"Widget0","metadata":{"name":"w"},"data":{"d":"e"}}`},
	} {
		if got := h.Send(http.MethodPatch, beta+"/w?fieldManager=m", c.media, []byte(c.body)); got.Code != http.StatusOK || got.Field(t, "apiVersion") != "example.com/v1beta1" {
			t.Errorf("%s: %d %s", c.media, got.Code, got.Body)
		}
		if e := watch.Expect("MODIFIED w"); !strings.Contains(string(e.Object), `"apiVersion":"example.com/v1beta1"`) {
			t.Errorf("event %s", e.Object)
		}
	}

	// While the converter waits for one write, another of the same object goes on.
	asked, answer := make(chan struct{}, 100), make(chan struct{})
	conversion.do(func(ctx context.Context, _ [][]byte) ([][]byte, error) {
		asked <- struct{}{}
		select {
		case <-answer:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	slow := make(chan harness.Reply, 1)
	go func() {
		slow <- h.Send(http.MethodPatch, beta+"/many-0007", "application/merge-patch+json", []byte(`{"data":{"slow":"yes"}}`))
	}()
	<-asked
	h.Merge(v1+"/many-0007", `{"data":{"quick":"yes"}}`).Expect(t, http.StatusOK, "")
	close(answer)
	if got := <-slow; got.Code != http.StatusOK || got.Field(t, "data.quick") != "yes" || got.Field(t, "data.slow") != "yes" {
		t.Errorf("two writes at once: %d %s", got.Code, got.Body)
	}

	for name, answers := range map[string]func(context.Context, [][]byte) ([][]byte, error){
		"fewer objects": func(context.Context, [][]byte) ([][]byte, error) { return [][]byte{}, nil },
		"an error":      func(context.Context, [][]byte) ([][]byte, error) { return nil, errors.New("no") },
		"garbage":       func(context.Context, [][]byte) ([][]byte, error) { return [][]byte{[]byte("{{")}, nil },
	} {
		conversion.do(answers)
		if got := h.Get(beta + "/w"); got.Code != http.StatusInternalServerError {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		h.Get(v1+"/w").Expect(t, http.StatusOK, "")
	}
}
