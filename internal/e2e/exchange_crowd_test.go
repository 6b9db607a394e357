package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// crowd are the clients of a cluster whose servers are exchanged, and what they saw.
type crowd struct {
	*ledger
	x        *exchange
	informed cache.SharedIndexInformer
	stop     context.CancelFunc
	writing  sync.WaitGroup
	watching sync.WaitGroup
	halt     context.CancelFunc // of those who watch

	// Of the ledger's lock:
	watched  map[string]bool   // by the watch that is resumed by hand
	informer map[string]bool   // by the informer
	lag      time.Duration     // the longest from an acknowledgment to the informer
	owners   map[string]string // of cluster addresses
	resumed  int
	faults   []string
}

// writersOfMaps and writersOfServices use the cluster at once.
const writersOfMaps, writersOfServices = 4, 2

// rootCAs has the authorities of the server whose controllers wrote it last.
const rootCAs = "kube-root-ca.crt"

// servicePause is the time between two services of a writer.
const servicePause = 200 * time.Millisecond

// perConnection is the number of writes after which a writer connects anew, to the next server.
const perConnection = 25

// startCrowd starts all clients.
func (x *exchange) startCrowd() *crowd {
	x.t.Helper()
	u := &crowd{ledger: newLedger(2 * time.Second), x: x, watched: map[string]bool{}, informer: map[string]bool{}, owners: map[string]string{}}
	writing, stop := context.WithCancel(x.ctx)
	watching, halt := context.WithCancel(x.ctx)
	u.stop, u.halt = stop, halt
	x.t.Cleanup(func() { stop(); halt(); u.writing.Wait(); u.watching.Wait() })
	factory := informers.NewSharedInformerFactory(x.client(x.url()), 0)
	u.informed = factory.Core().V1().ConfigMaps().Informer()
	if _, err := u.informed.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) { u.inform(o.(*corev1.ConfigMap).Name) }}); err != nil {
		x.t.Fatal(err)
	}
	u.watching.Go(func() { u.informed.Run(watching.Done()) })
	if !cache.WaitForCacheSync(x.ctx.Done(), u.informed.HasSynced) {
		x.t.Fatal("the informer has no state")
	}
	list, err := x.client(x.url()).CoreV1().ConfigMaps("default").List(x.ctx, metav1.ListOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	u.watching.Go(func() { u.watch(watching, list.ResourceVersion) })
	for i := range writersOfMaps {
		u.writing.Go(func() { u.write(writing, fmt.Sprint("w", i), x.renewed()) })
	}
	for i := range writersOfServices {
		u.writing.Go(func() { u.writeServices(writing, fmt.Sprint("s", i)) })
	}
	return u
}

func (u *crowd) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return fmt.Sprintf("%d writes, longest pause %s, longest lag of the informer %s, %d watches, other answers %v", len(u.acked),
		u.pause.Round(time.Millisecond), u.lag.Round(time.Millisecond), u.resumed, u.refused)
}

// fault notes something that must not happen.
func (u *crowd) fault(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.faults = append(u.faults, fmt.Sprintf(format, args...))
}

// inform notes that the informer has an object.
func (u *crowd) inform(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if at, ok := u.acked[name]; ok && !u.informer[name] {
		u.lag = max(u.lag, time.Since(at))
	}
	u.informer[name] = true
}

// renewed returns clients, a new one after each perConnection of them.
func (x *exchange) renewed() func() *kubernetes.Clientset {
	var c *kubernetes.Clientset
	n := 0
	return func() *kubernetes.Clientset {
		if n%perConnection == 0 {
			c = x.client(x.url())
		}
		n++
		return c
	}
}

// writeServices creates services and deletes them after some others. Addresses of services that
// exist are all different.
func (u *crowd) writeServices(ctx context.Context, writer string) {
	const living = 5
	client := u.x.renewed()
	var addresses []string
	for i := 0; ctx.Err() == nil; i++ {
		services := client().CoreV1().Services("default")
		name := func(i int) string { return fmt.Sprint(writer, "-", i) }
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name(i)}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}}}
		if !u.tries(ctx, func(ctx context.Context) error {
			made, err := services.Create(ctx, service, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				made, err = services.Get(ctx, service.Name, metav1.GetOptions{})
			}
			if err == nil {
				service = made
			}
			return err
		}) {
			return
		}
		for _, address := range []string{service.Spec.ClusterIP, fmt.Sprint("port ", service.Spec.Ports[0].NodePort)} {
			u.own(address, service.Name)
			addresses = append(addresses, address)
		}
		if i < living {
			continue
		}
		select { // a kube-apiserver that starts compares all ports between two writes, and ends when it cannot
		case <-time.After(servicePause):
		case <-ctx.Done():
			return
		}
		u.disown(addresses[:2])
		addresses = addresses[2:]
		if !u.tries(ctx, func(ctx context.Context) error {
			err := services.Delete(ctx, name(i-living), metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		}) {
			return
		}
	}
}

// own notes an address that a service has, until disown.
func (u *crowd) own(address, service string) {
	u.mu.Lock()
	other, taken := u.owners[address]
	u.owners[address] = service
	u.mu.Unlock()
	if taken {
		u.fault("%s was given to %s and to %s", address, other, service)
	}
}

func (u *crowd) disown(addresses []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, address := range addresses {
		delete(u.owners, address)
	}
}

// watch follows all objects from a revision, and resumes where a watch has ended.
func (u *crowd) watch(ctx context.Context, revision string) {
	for ctx.Err() == nil {
		w, err := u.x.client(u.x.url()).CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{ResourceVersion: revision, AllowWatchBookmarks: true})
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		u.mu.Lock()
		u.resumed++
		u.mu.Unlock()
		for event := range w.ResultChan() {
			if ctx.Err() != nil {
				return
			}
			if event.Type == watch.Error {
				u.fault("a watch from %s ends with %v", revision, event.Object)
				return
			}
			object := event.Object.(*corev1.ConfigMap)
			before, _ := strconv.ParseInt(revision, 10, 64)
			if now, err := strconv.ParseInt(object.ResourceVersion, 10, 64); err != nil || now < before || now == before && event.Type != watch.Bookmark {
				u.fault("a watch shows %s of %s after %s", event.Type, object.ResourceVersion, revision)
			}
			revision = object.ResourceVersion
			if event.Type == watch.Bookmark || object.Name == rootCAs {
				continue
			}
			u.mu.Lock()
			twice := u.watched[object.Name]
			u.watched[object.Name] = true
			u.mu.Unlock()
			if twice || event.Type != watch.Added {
				u.fault("a watch shows %s of %s, again: %t", event.Type, object.Name, twice)
			}
		}
	}
}

// finish ends the writers, waits until those who watch have seen all, and judges.
func (u *crowd) finish() {
	t := u.x.t
	t.Helper()
	u.stop()
	u.writing.Wait()
	list, err := u.x.client(u.x.url()).CoreV1().ConfigMaps("default").List(u.x.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	present := map[string]bool{}
	for _, object := range list.Items {
		present[object.Name] = true
	}
	missing := func(from map[string]bool) (all []string) {
		for name := range u.acked {
			if !from[name] {
				all = append(all, name)
			}
		}
		slices.Sort(all)
		return all
	}
	complete := func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		return len(missing(u.watched)) == 0 && len(missing(u.informer)) == 0
	}
	for deadline := time.Now().Add(5 * time.Second); !complete() && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	u.halt()
	u.watching.Wait()
	for what, all := range map[string][]string{"lost": missing(present), "not shown by the watch": missing(u.watched), "not shown by the informer": missing(u.informer)} {
		if len(all) > 0 {
			t.Errorf("%d acknowledged writes are %s: %v", len(all), what, all[:min(len(all), 10)])
		}
	}
	if len(u.faults) > 0 {
		t.Errorf("%d faults: %v", len(u.faults), u.faults[:min(len(u.faults), 10)])
	}
	u.judgeTimes(t)
}

// judgeTimes bounds the pauses of clients.
func (u *crowd) judgeTimes(t *testing.T) {
	t.Helper()
	const bound = 3 * time.Second
	if len(u.acked) < 200 {
		t.Errorf("%d writes are too few to tell", len(u.acked))
	}
	if u.pause > bound || u.lag > bound {
		t.Errorf("a writer has waited for %s, an informer was behind by %s", u.pause, u.lag)
	}
}
