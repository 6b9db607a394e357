package controller

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// claims is the controller that removes the finalizer of a claim that is being deleted
// when no pod that has a node uses it. A pod without a node does not count: no node agent
// starts one whose claim is being deleted. A finished pod counts until it is deleted.
//
// The claims of a namespace are processed together, so that its pods are read once for
// all of them.
type claims struct {
	*cluster
	typ, pods *Type
	queue     *queue[string] // by namespace

	// used by the feed's goroutine only
	ending map[string]map[string]bool // by namespace, the names of claims that are being deleted
}

func newClaimProtection(ctx context.Context, c *cluster) handler {
	p := &claims{cluster: c, typ: c.find("", "persistentvolumeclaims"), pods: c.find("", "pods"),
		ending: make(map[string]map[string]bool)}
	p.queue = newQueue(ctx, ClaimProtection, 4, c.Logger, p.sync)
	return p
}

func (p *claims) wants(t *Type) bool { return t == p.typ }
func (p *claims) reset()             { clear(p.ending) }
func (p *claims) close()             { p.queue.close() }

func (p *claims) observe(_ context.Context, o *observation) {
	switch o.typ {
	case p.typ:
		p.observeClaim(o)
	case p.pods:
		// The volumes of a pod do not change: claims are freed by its end, or by the end
		// of its grace period.
		namespace, _ := o.typ.split(o.key)
		if len(p.ending[namespace]) > 0 && (o.op == store.OpDelete || stopped(o.body)) {
			p.queue.addAfter(strings.Clone(namespace), settleTime)
		}
	}
}

func (p *claims) observeClaim(o *observation) {
	namespace, name := o.typ.split(o.key)
	if o.op == store.OpDelete {
		if delete(p.ending[namespace], name); len(p.ending[namespace]) == 0 {
			delete(p.ending, namespace)
		}
		return
	}
	give, look := protection(o.body, finalizerClaim)
	if !give && !look {
		return
	}
	namespace = strings.Clone(namespace)
	if look {
		if p.ending[namespace] == nil {
			p.ending[namespace] = make(map[string]bool)
		}
		p.ending[namespace][strings.Clone(name)] = true
	}
	p.queue.addAfter(namespace, settleTime)
}

// change is the due change of a claim.
type change struct {
	name string
	edit func(document.Value)
}

// sync processes all claims of a namespace.
func (p *claims) sync(ctx context.Context, namespace string) error {
	view, err := p.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	var changes []change
	var inUse uses
	prefix := p.typ.key(namespace, "")
	var failed error
	err = view.Scan(ctx, prefix, "", func(e *store.Entry) bool {
		give, look := protection(e.Body, finalizerClaim)
		c := change{name: strings.Clone(e.Key[len(prefix):]), edit: addFinalizer(finalizerClaim)}
		if look {
			if inUse == nil {
				if inUse, failed = p.usesIn(ctx, view, namespace); failed != nil {
					return false
				}
			}
			look = !inUse.has(c.name, e.Body)
			c.edit = removeFinalizer(finalizerClaim)
		}
		if give || look {
			changes = append(changes, c)
		}
		return true
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return errors.Join(forEach(ctx, parallel, changes, func(ctx context.Context, c change) error {
		return ignoreNotFound(p.Cluster.Edit(ctx, p.typ.Resource, namespace, c.name, "", c.edit))
	})...)
}

// usesIn returns the claims that the pods of a namespace use.
func (p *claims) usesIn(ctx context.Context, view store.Reader, namespace string) (uses, error) {
	u := make(uses)
	prefix := p.pods.key(namespace, "")
	err := view.Scan(ctx, prefix, "", func(e *store.Entry) bool {
		if node, _ := document.Find(e.Body, "spec", "nodeName"); document.Unquote(node) != "" {
			u.add(e.Key[len(prefix):], e.Body)
		}
		return true
	})
	return u, err
}

// uses are the claims that pods use. The value has the uids of the pods that must own the
// claim for it to be theirs; "" stands for a claim that is used whatever its owner.
type uses map[string][]string

// add adds the claims that a pod uses: those that it names, and those of its ephemeral
// volumes until its node agent has finished with it.
func (u uses) add(pod string, body []byte) {
	list, _ := document.Find(body, "spec", "volumes")
	document.EachElement(list, func(volume []byte) bool {
		if claim, ok := document.Find(volume, "persistentVolumeClaim", "claimName"); ok {
			u[document.Unquote(claim)] = append(u[document.Unquote(claim)], "")
		} else if _, ok := document.Find(volume, "ephemeral"); ok && !stopped(body) {
			name, _ := document.Find(volume, "name")
			uid, _ := document.Find(body, "metadata", "uid")
			claim := pod + "-" + document.Unquote(name)
			u[claim] = append(u[claim], document.Unquote(uid))
		}
		return true
	})
}

// stopped reports whether a pod is being deleted and has no grace period left.
func stopped(body []byte) bool {
	grace, _ := document.Find(body, "metadata", "deletionGracePeriodSeconds")
	return terminating(body) && string(grace) == "0"
}

// has reports whether a claim is used.
func (u uses) has(name string, body []byte) bool {
	by := u[name]
	if len(by) == 0 {
		return false
	}
	owner := controllerOf(body)
	return slices.ContainsFunc(by, func(uid string) bool { return uid == "" || uid == owner })
}

// controllerOf returns the uid of the owner that controls an object; "" for none.
func controllerOf(body []byte) (uid string) {
	owners, _ := document.Find(body, "metadata", "ownerReferences")
	document.EachElement(owners, func(owner []byte) bool {
		if controls, _ := document.Find(owner, "controller"); string(controls) == "true" {
			text, _ := document.Find(owner, "uid")
			uid = document.Unquote(text)
		}
		return uid == ""
	})
	return uid
}
