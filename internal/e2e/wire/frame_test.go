package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvschema "k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
)

// listed are random objects of a kind, in our JSON and as Go has them.
func (w *world) listed(t *testing.T, k kind, n int) (texts [][]byte, objects []runtime.Object) {
	t.Helper()
	for seed := range int64(n) {
		object, err := w.scheme.New(k.gvk)
		if err != nil {
			t.Fatal(err)
		}
		newFiller(1000 + seed).Fill(object)
		object.GetObjectKind().SetGroupVersionKind(k.gvk)
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		if text, err = k.canonical(text); err != nil {
			t.Fatal(err)
		}
		if object, err = w.fromJSON(k, text); err != nil {
			t.Fatal(err)
		}
		texts, objects = append(texts, text), append(objects, object)
	}
	return texts, objects
}

// stored calls visit for every kind that lists and watches carry.
func (w *world) stored(t *testing.T, visit func(t *testing.T, r *api.Resource, k kind)) {
	for _, gv := range w.groups {
		for i := range gv.Resources {
			r := &gv.Resources[i]
			gvk := gvschema.GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: r.Kind}
			if k, known := w.find(gvk); known && r.Verbs.Has(api.VerbList) {
				t.Run(k.gvk.String(), func(t *testing.T) { visit(t, r, k) })
			}
		}
	}
}

// TestLists reads our lists, in both forms, as Go does.
func TestLists(t *testing.T) {
	w := newWorld(t)
	remaining := int64(300)
	head := codec.ListMeta{ResourceVersion: "41", Continue: "next", Remaining: &remaining}
	w.stored(t, func(t *testing.T, r *api.Resource, k kind) {
		texts, want := w.listed(t, k, 4)
		apiVersion := r.GV.APIVersion()
		list := codec.AppendBinaryListMeta(nil, head)
		for _, text := range texts {
			var err error
			list, err = codec.AppendBinaryItem(list, func(dst []byte) ([]byte, error) { return k.binary.Append(dst, k.typ, text) })
			if err != nil {
				t.Fatal(err)
			}
		}
		fromBinary, _, err := w.binary.Decode(codec.AppendEnvelope(nil, apiVersion, r.ListKind, list), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		text := codec.AppendListHead(nil, apiVersion, r.ListKind, head)
		for i, item := range texts {
			item, ok := bytes.CutPrefix(item, []byte(codec.ItemPrefix(apiVersion, r.Kind)))
			if !ok {
				t.Fatalf("does not begin with %s: %s", codec.ItemPrefix(apiVersion, r.Kind), item)
			}
			if i > 0 {
				text = append(text, ',')
			}
			text = append(append(text, '{'), item...)
		}
		text = append(text, "]}"...)
		fromJSON, _, err := w.jsonSerializer().Decode(text, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for form, got := range map[string]runtime.Object{"binary": fromBinary, "JSON": fromJSON} {
			if err := sameList(head, want, got); err != nil {
				t.Errorf("%s: %v", form, err)
			}
		}
	})
}

func (w *world) jsonSerializer() *jsonserializer.Serializer {
	return jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, w.scheme, w.scheme, jsonserializer.SerializerOptions{})
}

func sameList(head codec.ListMeta, want []runtime.Object, got runtime.Object) error {
	listMeta, err := meta.ListAccessor(got)
	if err != nil {
		return err
	}
	if listMeta.GetResourceVersion() != head.ResourceVersion || listMeta.GetContinue() != head.Continue {
		return fmt.Errorf("metadata %+v, want %+v", listMeta, head)
	}
	if n := listMeta.GetRemainingItemCount(); n == nil || *n != *head.Remaining {
		return fmt.Errorf("remainingItemCount %v, want %d", n, *head.Remaining)
	}
	items, err := meta.ExtractList(got)
	if err != nil || len(items) != len(want) {
		return fmt.Errorf("%d items, want %d: %v", len(items), len(want), err)
	}
	for i := range want {
		if err := equal(fmt.Sprintf("item %d", i), want[i], items[i]); err != nil {
			return err
		}
	}
	return nil
}

// TestWatchFrames reads our watch events, in both forms, as client-go does.
func TestWatchFrames(t *testing.T) {
	w := newWorld(t)
	events := []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}
	w.stored(t, func(t *testing.T, r *api.Resource, k kind) {
		texts, want := w.listed(t, k, len(events))
		var inBinary, inJSON []byte
		for i, text := range texts {
			message, err := k.binary.Append(nil, k.typ, text)
			if err != nil {
				t.Fatal(err)
			}
			inBinary = codec.AppendBinaryFrame(inBinary, events[i], r.GV.APIVersion(), r.Kind, message)
			inJSON = codec.AppendFrame(inJSON, events[i], text)
		}
		raw := protobuf.NewRawSerializer(w.scheme, w.scheme)
		frames := map[string]*restwatch.Decoder{
			"binary": restwatch.NewDecoder(streaming.NewDecoder(protobuf.LengthDelimitedFramer.NewFrameReader(closing(inBinary)), raw), w.binary),
			"JSON":   restwatch.NewDecoder(streaming.NewDecoder(jsonserializer.Framer.NewFrameReader(closing(inJSON)), w.jsonSerializer()), w.jsonSerializer()),
		}
		for form, decoder := range frames {
			for i, event := range events {
				got, object, err := decoder.Decode()
				if err != nil || string(got) != event {
					t.Fatalf("%s: event %d is %s, want %s: %v", form, i, got, event, err)
				}
				if err := equal(form+" "+event, want[i], object); err != nil {
					t.Error(err)
				}
			}
			if _, _, err := decoder.Decode(); err != io.EOF {
				t.Errorf("%s: after the last event: %v, want EOF", form, err)
			}
		}
	})
}

func closing(data []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }

// TestStatus reads the Status of our errors and successes as Go does.
func TestStatus(t *testing.T) {
	w := newWorld(t)
	k, known := w.find(gvschema.GroupVersionKind{Version: "v1", Kind: "Status"})
	if !known {
		t.Fatal("Status is not known")
	}
	for _, test := range []struct {
		name string
		sent codec.StatusBody
		want metav1.Status
	}{
		{"failure", codec.Status(&api.Error{
			Code: 422, Reason: api.ReasonInvalid, Message: "Pod \"ä\" is invalid", HasDetails: true,
			Name: "ä", Group: "apps", Kind: "Pod", UID: "u-1", RetryAfter: 7,
			Causes: []api.Cause{{Reason: "FieldValueRequired", Message: "Required value", Field: "spec.containers[0]"}, {}},
		}), metav1.Status{
			Status: metav1.StatusFailure, Code: 422, Reason: metav1.StatusReasonInvalid, Message: "Pod \"ä\" is invalid",
			Details: &metav1.StatusDetails{Name: "ä", Group: "apps", Kind: "Pod", UID: "u-1", RetryAfterSeconds: 7,
				Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueRequired, Message: "Required value", Field: "spec.containers[0]"}, {}}},
		}},
		{"failure without details", codec.Status(&api.Error{Code: 403, Reason: api.ReasonForbidden, Message: "no"}),
			metav1.Status{Status: metav1.StatusFailure, Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no"}},
		{"deleted", codec.Deleted("apps", "deployments", "web", "u-2"),
			metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{Name: "web", Group: "apps", Kind: "deployments", UID: "u-2"}}},
		{"success", codec.Success(201), metav1.Status{Status: metav1.StatusSuccess, Code: 201}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.want.SetGroupVersionKind(k.gvk)
			message, err := k.toBinary(test.sent.JSON())
			if err != nil {
				t.Fatal(err)
			}
			fromBinary, _, err := w.binary.Decode(message, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := equal("binary", &test.want, fromBinary); err != nil {
				t.Error(err)
			}
			fromJSON, err := w.fromJSON(k, test.sent.JSON())
			if err != nil {
				t.Fatal(err)
			}
			if err := equal("JSON", &test.want, fromJSON); err != nil {
				t.Error(err)
			}
		})
	}
}
