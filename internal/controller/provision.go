package controller

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// provisioner keeps one object in every namespace that is not being deleted.
type provisioner struct {
	*cluster
	typ    *Type
	name   string
	object func() []byte // the object, JSON
	// right reports whether the stored object is as wanted, repair makes it so. nil if
	// only its existence matters.
	right  func(body []byte) bool
	repair func(obj document.Value)
	queue  *queue[string] // by namespace
}

// newServiceAccounts is the controller that provides the default service account of every
// namespace.
func newServiceAccounts(ctx context.Context, c *cluster) handler {
	p := &provisioner{cluster: c, typ: c.find("", "serviceaccounts"), name: "default",
		object: func() []byte {
			return []byte(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`)
		}}
	p.queue = newQueue(ctx, ServiceAccount, parallel, c.Logger, p.provide)
	return p
}

// newRootCA is the controller that publishes the authority of the server's certificate in
// every namespace, for clients in pods.
func newRootCA(ctx context.Context, c *cluster) handler {
	annotation := profile.LabelDomain + "/description"
	const description = "The authorities by which clients in the cluster trust the API server at its internal addresses. Other certificates need not be signed by them."
	p := &provisioner{cluster: c, typ: c.find("", "configmaps"), name: "kube-root-ca.crt"}
	p.object = func() []byte {
		text, _ := json.Marshal(map[string]any{ // maps of strings can always be encoded
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": p.name, "annotations": map[string]string{annotation: description}},
			"data":     map[string]string{"ca.crt": string(c.RootCA())},
		})
		return text
	}
	p.right = func(body []byte) bool {
		have, _ := document.Find(body, "data")
		var got map[string]string
		text, _ := document.Find(body, "metadata", "annotations", annotation)
		return json.Unmarshal(have, &got) == nil && len(got) == 1 && got["ca.crt"] == string(c.RootCA()) && document.Unquote(text) != ""
	}
	p.repair = func(obj document.Value) {
		obj.Remove("data")
		obj.SetObject("data").SetString("ca.crt", string(c.RootCA()))
		if annotations := obj.SetObject("metadata").SetObject("annotations"); annotations.Get(annotation).Text() == "" {
			annotations.SetString(annotation, description)
		}
	}
	p.queue = newQueue(ctx, RootCA, parallel, c.Logger, p.provide)
	return p
}

func (p *provisioner) wants(t *Type) bool { return t == p.namespaces }
func (p *provisioner) reset()             {}
func (p *provisioner) close()             { p.queue.close() }

func (p *provisioner) observe(_ context.Context, o *observation) {
	switch o.typ {
	case p.namespaces:
		// Other changes of a namespace do not matter: the object is watched itself.
		if (o.op == 0 || o.op == store.OpCreate) && !terminating(o.body) {
			_, name := o.typ.split(o.key)
			p.queue.add(strings.Clone(name))
		}
	case p.typ:
		namespace, name := o.typ.split(o.key)
		if name == p.name && (o.op == store.OpDelete || p.right != nil && !p.right(o.body)) {
			p.queue.add(strings.Clone(namespace))
		}
	}
}

// again queues the object of every namespace after a change of its wanted content. It
// returns at once.
func (p *provisioner) again() {
	p.queue.add(everyNamespace)
}

// everyNamespace stands for all namespaces in the queue; it is not a valid name.
const everyNamespace = ""

// provideAll queues every namespace.
func (p *provisioner) provideAll(ctx context.Context) error {
	view, err := p.Store.At(ctx, p.Store.Current())
	if err != nil {
		return err
	}
	defer view.Close()
	return view.ScanMeta(ctx, p.namespaces.Prefix, "", func(e *store.Entry) bool {
		_, name := p.namespaces.split(e.Key)
		p.queue.add(strings.Clone(name))
		return true
	})
}

// provide creates or repairs the object of one namespace.
func (p *provisioner) provide(ctx context.Context, namespace string) error {
	if p.typ == nil {
		return nil
	}
	if namespace == everyNamespace {
		return p.provideAll(ctx)
	}
	e, err := p.Store.Get(ctx, p.typ.key(namespace, p.name))
	switch {
	case err == nil && (p.right == nil || terminating(e.Body) || p.right(e.Body)):
		return nil
	case err == nil:
		return ignoreNotFound(p.Cluster.Edit(ctx, p.typ.Resource, namespace, p.name, "", p.repair))
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	active, err := p.active(ctx, namespace)
	if err != nil || !active {
		return err
	}
	err = p.Cluster.Create(ctx, p.typ.Resource, namespace, p.object())
	if hasReason(err, api.ReasonAlreadyExists) {
		return nil
	}
	return err // a namespace deleted meanwhile is found inactive the next time
}
