package e2e

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	clientfeaturestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// spokenMedia are the media types of requests and answers.
type spokenMedia struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen map[string]bool
}

func (s *spokenMedia) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.next.RoundTrip(r)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen[r.Method+" "+r.Header.Get("Content-Type")+" > "+answer.Header.Get("Content-Type")] = true
	}
	return answer, err
}

// saw ends the test unless a request and its answer had these media types.
func (s *spokenMedia) saw(t *testing.T, what string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.seen[what] {
		t.Errorf("no %s; there were %v", what, s.seen)
	}
}

// inCBOR makes clients of the server prefer CBOR, and records what they and the server speak.
func (i *instance) inCBOR(t *testing.T) (*rest.Config, *spokenMedia) {
	config, spoken := i.config(t), &spokenMedia{seen: map[string]bool{}}
	config.ContentType, config.AcceptContentTypes = "application/cbor", "application/cbor,application/json;q=0.5"
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		spoken.next = next
		return spoken
	})
	return config, spoken
}

// TestCBORClients has the clients of client-go speak CBOR: the typed one, the one of any object, and
// the one of metadata. Their gates belong to the process, so it does not run in parallel.
func TestCBORClients(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsAllowCBOR, true)
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsPreferCBOR, true)
	server := serve(t, "", "--controllers=-*", "--emulated-version=1.36", "--feature-gates=CBORServingAndStorage=true")
	ctx := testContext(t)
	config, spoken := server.inCBOR(t)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	secrets := clients.CoreV1().Secrets("default")
	watching, err := secrets.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	made, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Data: map[string][]byte{"k": {0, 255}}}, metav1.CreateOptions{})
	if err != nil || string(made.Data["k"]) != "\x00\xff" || len(made.ManagedFields) != 1 || !strings.Contains(string(made.ManagedFields[0].FieldsV1.Raw), `"f:data"`) {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := secrets.Create(ctx, made, metav1.CreateOptions{}); err == nil {
		t.Error("it was made twice")
	}
	event := <-watching.ResultChan()
	if seen, ok := event.Object.(*corev1.Secret); event.Type != watch.Added || !ok || string(seen.Data["k"]) != "\x00\xff" {
		t.Errorf("the event is %+v", event)
	}
	if _, err := secrets.Get(ctx, "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a missing object is %v", err)
	}
	if s, err := secrets.Apply(ctx, applycorev1.Secret("b", "default").WithData(map[string][]byte{"k": []byte("v")}), metav1.ApplyOptions{FieldManager: "me"}); err != nil || string(s.Data["k"]) != "v" {
		t.Errorf("applied %v, %v", s, err)
	}
	if list, err := secrets.List(ctx, metav1.ListOptions{Limit: 1}); err != nil || len(list.Items) != 1 || list.Continue == "" {
		t.Errorf("the list is %v, %v", list, err)
	}
	anything, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := anything.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "m"}, "binaryData": map[string]any{"k": "AP8="}}}
	if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if list, err := maps.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=m"}); err != nil || len(list.Items) != 1 ||
		list.Items[0].Object["binaryData"].(map[string]any)["k"] != "AP8=" || list.Items[0].GetKind() != "ConfigMap" {
		t.Errorf("any objects are %v, %v", list, err)
	}
	alone, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := alone.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace("default").List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != 2 {
		t.Errorf("the metadata are %v, %v", list, err)
	}
	if err := secrets.Delete(ctx, "a", *metav1.NewRVDeletionPrecondition("1")); !apierrors.IsConflict(err) {
		t.Errorf("a delete with a wrong precondition: %v", err)
	}
	for _, what := range []string{"POST application/cbor > application/cbor", "GET  > application/cbor-seq", "PATCH application/apply-patch+cbor > application/cbor", "DELETE application/cbor > application/cbor"} {
		spoken.saw(t, what)
	}
}

// TestCBORRefused: a client that prefers CBOR works with a server of the usual release, in JSON from its
// second request on.
func TestCBORRefused(t *testing.T) {
	clientfeaturestesting.SetFeatureDuringTest(t, clientfeatures.ClientsAllowCBOR, true)
	config, spoken := serve(t, "", "--controllers=-*").inCBOR(t)
	ctx := testContext(t)
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := clients.CoreV1().ConfigMaps("default")
	if _, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{}); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("CBOR is answered by %v", err)
	}
	if _, err := maps.Create(ctx, configMap("a", nil), metav1.CreateOptions{}); err != nil {
		t.Errorf("JSON is answered by %v", err)
	}
	spoken.saw(t, "POST application/cbor > application/json")
	spoken.saw(t, "POST application/json > application/json")
}
