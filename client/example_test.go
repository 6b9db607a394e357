package client_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/client"
	appsv1 "github.com/capstan-dev/capstan/gen/apps/v1"
	typed "github.com/capstan-dev/capstan/gen/client"
	corev1 "github.com/capstan-dev/capstan/gen/core/v1"
	metav1 "github.com/capstan-dev/capstan/gen/meta/v1"
	"github.com/capstan-dev/capstan/server/servertest"
	"github.com/capstan-dev/capstan/value"
)

// serve starts a server for an example, and returns a client of it.
func serve() (c *typed.Client, stop func()) {
	s, end, err := servertest.Run()
	if err != nil {
		log.Fatal(err)
	}
	if c, err = typed.New(s.Config); err != nil {
		log.Fatal(err)
	}
	return c, func() {
		c.REST().Close()
		if err := end(); err != nil {
			log.Fatal(err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{Metadata: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": value}}
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		Metadata: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				Metadata: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.com/web:1",
					Ports: []corev1.ContainerPort{{ContainerPort: 80, Protocol: corev1.ContainerPortProtocolTCP}}}}},
			},
		},
	}
}

func Example() {
	c, stop := serve() // a program: config, namespace, err := client.LoadKubeconfig(path, ""), typed.New(config)
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	maps := c.CoreV1().ConfigMaps("default")

	made, err := maps.Create(ctx, configMap("settings", "1"), client.WriteOptions{})
	fmt.Println(made.Metadata.Name, made.Metadata.UID != "", err)
	_, err = maps.Create(ctx, configMap("settings", "1"), client.WriteOptions{})
	fmt.Println(client.IsAlreadyExists(err), err)

	changed, err := maps.Modify(ctx, "settings", func(m *corev1.ConfigMap) error {
		m.Data["key"] += "0"
		return nil
	}, client.WriteOptions{})
	fmt.Println(changed.Data["key"], err)

	fmt.Println(maps.Delete(ctx, "settings", client.DeleteOptions{}))
	_, err = maps.Get(ctx, "settings", client.GetOptions{})
	fmt.Println(client.IsNotFound(err))
	// Output:
	// settings true <nil>
	// true configmaps "settings" already exists
	// 10 <nil>
	// <nil>
	// true
}

func ExampleParseKubeconfig() {
	config, namespace, err := client.ParseKubeconfig([]byte(`
current-context: work
contexts: [{name: work, context: {cluster: here, user: anna, namespace: shop}}]
clusters: [{name: here, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: anna, user: {token: secret}}]
`), "")
	fmt.Println(config.Host, namespace, err)
	// Output: https://127.0.0.1:6443 shop <nil>
}

func ExampleResource_All() {
	c, stop := serve()
	defer stop()
	ctx, maps := context.Background(), c.CoreV1().ConfigMaps("default")
	for i := range 5 {
		must(maps.Create(ctx, configMap(fmt.Sprint("page-", i), "x"), client.WriteOptions{}))
	}
	for m, err := range maps.All(ctx, client.ListOptions{Limit: 2}) { // three requests
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Metadata.Name)
	}
	// Output:
	// page-0
	// page-1
	// page-2
	// page-3
	// page-4
}

func ExampleResource_Follow() {
	c, stop := serve()
	defer stop()
	ctx, maps := context.Background(), c.CoreV1().ConfigMaps("default")
	must(maps.Create(ctx, configMap("a", "1"), client.WriteOptions{}))
	for event, err := range maps.Follow(ctx, client.ListOptions{}) {
		switch {
		case err != nil:
			log.Print(err) // Follow tries again
			continue
		case event.Type == client.Synced:
			fmt.Println("these are all; now something changes")
			must(maps.Patch(ctx, "a", client.MergePatch(map[string]any{"data": map[string]string{"key": "2"}}), client.WriteOptions{}))
			continue
		}
		fmt.Println(event.Type, event.Object.Metadata.Name, event.Object.Data["key"])
		if event.Type == client.Modified {
			break
		}
	}
	// Output:
	// ADDED a 1
	// these are all; now something changes
	// MODIFIED a 2
}

func ExampleResource_Watch() {
	c, stop := serve()
	defer stop()
	ctx, maps := context.Background(), c.CoreV1().ConfigMaps("default")
	now := must(maps.List(ctx, client.ListOptions{}))
	must(maps.Create(ctx, configMap("a", "1"), client.WriteOptions{}))
	watcher := must(maps.Watch(ctx, client.ListOptions{ResourceVersion: now.Metadata.ResourceVersion}))
	for event, err := range watcher.Events() { // leaving the loop closes the watcher
		fmt.Println(event.Type, event.Object.Metadata.Name, err)
		break
	}
	// Output: ADDED a <nil>
}

func ExampleResource_Informer() {
	c, stop := serve()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, value := range map[string]string{"a": "red", "b": "blue", "c": "red"} {
		must(c.CoreV1().ConfigMaps("default").Create(ctx, configMap(name, value), client.WriteOptions{}))
	}
	informer := c.CoreV1().ConfigMaps("").Informer(client.InformerConfig[*corev1.ConfigMap]{
		Resync:   10 * time.Minute,
		Indexers: map[string]func(*corev1.ConfigMap) []string{"colour": func(m *corev1.ConfigMap) []string { return []string{m.Data["key"]} }},
		Failed:   func(err error) { log.Print(err) },
	})
	gone := make(chan string)
	informer.Handle(client.Handler[*corev1.ConfigMap]{Deleted: func(m *corev1.ConfigMap) { gone <- m.Metadata.Name }})
	go informer.Run(ctx)
	<-informer.Synced()

	red := []string{}
	for _, m := range must(informer.Indexed("colour", "red")) {
		red = append(red, m.Metadata.Name)
	}
	slices.Sort(red)
	fmt.Println(red)
	if err := c.CoreV1().ConfigMaps("default").Delete(ctx, "a", client.DeleteOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("gone:", <-gone)
	_, there := informer.Get("default", "a")
	fmt.Println(there)
	// Output:
	// [a c]
	// gone: a
	// false
}

func ExampleExtract() {
	c, stop := serve()
	defer stop()
	ctx, deployments, mine := context.Background(), c.AppsV1().Deployments("default"), client.WriteOptions{FieldManager: "example"}
	applied := must(deployments.Apply(ctx, deployment("web", 0), mine)) // an explicit 0 is sent, status and times are not

	// Another manager, without a conflict: it does not name the replicas.
	other := &appsv1.Deployment{Metadata: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"example.com/team": "shop"}}}
	applied = must(deployments.Apply(ctx, other, client.WriteOptions{FieldManager: "other"}))

	part := must(client.Extract(applied, "example")) // what this manager has applied, and no defaults
	fmt.Println(*part.Spec.Replicas, part.Spec.Strategy.Type == "", part.Metadata.Annotations, part.Spec.Template.Spec.Containers[0].Image)
	part.Spec.Template.Spec.Containers[0].Image = "example.com/web:2"
	part.Spec.Replicas = nil // given up, so the server's default comes
	applied = must(deployments.Apply(ctx, part, mine))
	fmt.Println(*applied.Spec.Replicas, applied.Spec.Template.Spec.Containers[0].Image, applied.Metadata.Annotations)

	_, err := deployments.Apply(ctx, &appsv1.Deployment{Metadata: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"example.com/team": "bar"}}}, mine)
	fmt.Println(client.IsConflict(err))
	// Output:
	// 0 true map[] example.com/web:1
	// 1 example.com/web:2 map[example.com/team:shop]
	// true
}

func ExampleResource_ApplyStatus() {
	c, stop := serve()
	defer stop()
	ctx, deployments := context.Background(), c.AppsV1().Deployments("default")
	must(deployments.Create(ctx, deployment("web", 2), client.WriteOptions{}))
	status := appsv1.DeploymentStatus{ReadyReplicas: 2, Replicas: 2, Conditions: []appsv1.DeploymentCondition{{Type: "Available", Status: "True", LastUpdateTime: value.Time{Time: time.Unix(0, 0)}}}}
	out := must(deployments.ApplyStatus(ctx, &appsv1.Deployment{Metadata: metav1.ObjectMeta{Name: "web"}, Status: status}, client.WriteOptions{FieldManager: "controller"}))
	fmt.Println(out.Status.ReadyReplicas, out.Status.Conditions[0].Status, out.Metadata.Generation)
	// Output: 2 True 1
}

func ExampleResource_Patch() {
	c, stop := serve()
	defer stop()
	ctx, deployments := context.Background(), c.AppsV1().Deployments("default")
	before := must(deployments.Create(ctx, deployment("web", 2), client.WriteOptions{}))

	// A typed part of the object: lists merge by their keys.
	part := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "web", Image: "example.com/web:2"}}}}}}
	out := must(deployments.Patch(ctx, "web", client.StrategicPatch(part), client.WriteOptions{}))
	fmt.Println(out.Spec.Template.Spec.Containers[0].Image, len(out.Spec.Template.Spec.Containers[0].Ports))

	// Operations, all or none.
	out = must(deployments.Patch(ctx, "web", client.JSONPatch(
		client.Operation{Op: "test", Path: "/spec/replicas", Value: 2},
		client.Operation{Op: "replace", Path: "/spec/replicas", Value: 3}), client.WriteOptions{}))
	fmt.Println(*out.Spec.Replicas)

	// The difference of two objects.
	after := must(client.Copy(before))
	after.Spec.Paused = true
	out = must(deployments.Patch(ctx, "web", client.Difference(before, after), client.WriteOptions{}))
	fmt.Println(out.Spec.Paused, *out.Spec.Replicas)
	// Output:
	// example.com/web:2 1
	// 3
	// true 3
}

// Boat is a custom kind.
type Boat struct {
	Kind       string            `json:"kind,omitempty"`
	APIVersion string            `json:"apiVersion,omitempty"`
	Metadata   metav1.ObjectMeta `json:"metadata"`
	Spec       struct {
		Length int `json:"length"`
	} `json:"spec"`
}

func (b *Boat) GetName() string            { return b.Metadata.Name }
func (b *Boat) GetNamespace() string       { return b.Metadata.Namespace }
func (b *Boat) GetResourceVersion() string { return b.Metadata.ResourceVersion }
func (b *Boat) SetKind()                   { b.Kind, b.APIVersion = "Boat", "example.com/v1" }

func ExampleNewResource() {
	row := client.Row{Prefix: "/apis/example.com/v1", Plural: "boats", Namespaced: true}
	config := client.Config{Host: "https://127.0.0.1:6443", BearerToken: os.Getenv("TOKEN")}
	boats := client.NewResource[*Boat](must(client.NewREST(config)), row, "harbour")
	_, err := boats.Get(context.Background(), "", client.GetOptions{})
	fmt.Println(err) // before anything is sent
	// Output: boats: name "": want the name of an object
}
