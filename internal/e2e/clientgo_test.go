package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// TestTypedClient runs the same steps over JSON and over the binary form.
func TestTypedClient(t *testing.T) {
	t.Parallel()
	server := serve(t, "")
	for name, contentType := range map[string]string{"json": "application/json", "binary": "application/vnd.kubernetes.protobuf"} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			config := server.config(t)
			config.ContentType, config.AcceptContentTypes = contentType, contentType
			clients, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			client := clients.CoreV1().ConfigMaps("default")

			created, err := client.Create(ctx, configMap(name, map[string]string{"a": "1"}), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if created.UID == "" || created.ResourceVersion == "" || created.CreationTimestamp.IsZero() {
				t.Errorf("created object lacks what the server sets: %+v", created.ObjectMeta)
			}
			if _, err := client.Create(ctx, configMap(name, nil), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
				t.Errorf("second create: %v, want AlreadyExists", err)
			}
			first := created.DeepCopy()
			first.Data["a"] = "2"
			if _, err := client.Update(ctx, first, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			created.Data["a"] = "3"
			if _, err := client.Update(ctx, created, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				t.Errorf("update of a stale object: %v, want Conflict", err)
			}
			got, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil || got.Data["a"] != "2" {
				t.Errorf("read %v, %v; want a=2", got, err)
			}
			list, err := client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
			if err != nil || len(list.Items) != 1 || list.Items[0].UID != got.UID {
				t.Errorf("list %v, %v; want the one object", list, err)
			}
			if err := client.Delete(ctx, name, *metav1.NewRVDeletionPrecondition("1")); !apierrors.IsConflict(err) {
				t.Errorf("delete with a wrong precondition: %v, want Conflict", err)
			}
			if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("after delete: %v, want NotFound", err)
			}
		})
	}
}

// TestInformerSeesEveryEvent writes while an informer watches, and compares the
// informer's events with the writes.
func TestInformerSeesEveryEvent(t *testing.T) {
	t.Parallel()
	client := serve(t, "", "--controllers=-*").client(t)
	ctx := testContext(t)
	maps := client.CoreV1().ConfigMaps("default")
	const objects, updates = 20, 5

	if _, err := maps.Create(ctx, configMap("before", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 1000)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	informer := factory.Core().V1().ConfigMaps().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { told <- "add " + o.(*corev1.ConfigMap).Name },
		UpdateFunc: func(_, o any) {
			c := o.(*corev1.ConfigMap)
			told <- "update " + c.Name + " " + c.Data["n"]
		},
		DeleteFunc: func(o any) { told <- "delete " + o.(*corev1.ConfigMap).Name },
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer did not sync")
	}
	want := map[string]int{"add before": 1}
	for i := range objects {
		name := fmt.Sprintf("o-%d", i)
		object, err := maps.Create(ctx, configMap(name, nil), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want["add "+name]++
		for n := range updates {
			object.Data = map[string]string{"n": fmt.Sprint(n)}
			if object, err = maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			want[fmt.Sprintf("update %s %d", name, n)]++
		}
		if i%2 == 0 {
			if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			want["delete "+name]++
		}
	}
	total := 0
	for _, n := range want {
		total += n
	}
	for range total {
		select {
		case what := <-told:
			if want[what]--; want[what] < 0 {
				t.Errorf("told %q more often than it happened", what)
			}
		case <-ctx.Done():
			t.Fatalf("events are missing: %v", missing(want))
		}
	}
}

func missing(want map[string]int) []string {
	var names []string
	for name, n := range want {
		if n > 0 {
			names = append(names, name)
		}
	}
	return names
}

// TestWatchResumesAfterRestart takes the last resourceVersion that a watch gave,
// restarts the server, and goes on from there without a gap.
func TestWatchResumesAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, dir, "--controllers=-*")
	ctx := testContext(t)
	maps := first.client(t).CoreV1().ConfigMaps("default")
	w, err := maps.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Create(ctx, configMap("seen", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	revision := expectEvent(t, ctx, w, watch.Added, "seen").ResourceVersion
	w.Stop()

	missed, err := maps.Create(ctx, configMap("missed", nil), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	missed.Data = map[string]string{"n": "1"}
	if _, err := maps.Update(ctx, missed, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(ctx, "missed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := first.stop(); err != nil {
		t.Fatalf("%v\n%s", err, first.log.String())
	}

	maps = serve(t, dir, "--controllers=-*").client(t).CoreV1().ConfigMaps("default")
	if w, err = maps.Watch(ctx, metav1.ListOptions{ResourceVersion: revision}); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := maps.Create(ctx, configMap("after", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvent(t, ctx, w, watch.Added, "missed")
	expectEvent(t, ctx, w, watch.Modified, "missed")
	gone := expectEvent(t, ctx, w, watch.Deleted, "missed")
	if gone.Data["n"] != "1" {
		t.Errorf("the last state of the deleted object is %v, want n=1", gone.Data)
	}
	expectEvent(t, ctx, w, watch.Added, "after")
}

// expectEvent reads the next event of a watch.
func expectEvent(t *testing.T, ctx context.Context, w watch.Interface, event watch.EventType, name string) *corev1.ConfigMap {
	t.Helper()
	select {
	case got, open := <-w.ResultChan():
		if !open {
			t.Fatalf("the watch ended, want %s %s", event, name)
		}
		object, ok := got.Object.(*corev1.ConfigMap)
		if !ok || got.Type != event || object.Name != name {
			t.Fatalf("event %s %v, want %s %s", got.Type, got.Object, event, name)
		}
		return object
	case <-ctx.Done():
		t.Fatalf("no event, want %s %s", event, name)
	}
	return nil
}
