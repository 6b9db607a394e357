package controller

import (
	"context"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// Quotas counts what namespaces use of their resource quotas.
type Quotas interface {
	// Counting lists the quotas of a namespace that objects of a type have a part in, by
	// name.
	Counting(namespace string, res *api.Resource) []string
	// Incomplete lists the quotas, by namespace and name, for which something could not
	// be counted.
	Incomplete() [][2]string
	// Recalculate counts what a quota bounds, and corrects its status. It reports whether
	// the quota exists, and whether its status was right.
	Recalculate(ctx context.Context, namespace, name string) (exists, right bool, err error)
	// Polled reports whether a quota counts objects whose changes are not observed, since
	// other servers keep them.
	Polled(namespace, name string) bool
}

// quotas is the controller that gives back to resource quotas what has ended, and fills
// in the status of those whose bounds have changed. Creates are charged without it. A
// status that others write stays until the next full count, as in 1.25.
type quotas struct {
	*cluster
	typ, pods, services, claims, definitions *Type
	queue                                    *queue[[2]string] // by namespace and name
	bounds                                   map[string]string // the bounds of quotas as they were seen, by key
}

func newQuotas(ctx context.Context, c *cluster) handler {
	q := &quotas{cluster: c, typ: c.find("", "resourcequotas"), pods: c.find("", "pods"), services: c.find("", "services"),
		claims: c.find("", "persistentvolumeclaims"), definitions: c.definitions(), bounds: map[string]string{}}
	q.queue = newQueue(ctx, ResourceQuota, parallel, c.Logger, q.sync)
	return q
}

// definitions is the type of the definitions of custom resources, or nil.
func (c *cluster) definitions() *Type {
	for _, t := range c.types {
		if t.Role == api.RoleDefinitions {
			return t
		}
	}
	return nil
}

func (q *quotas) wants(t *Type) bool { return t == q.typ }
func (q *quotas) reset()             { clear(q.bounds) }
func (q *quotas) close()             { q.queue.close() }

const (
	// definitionPause is the time after which the type of a changed definition is served.
	definitionPause = time.Second
	// correctionPause is the time after which a corrected status is checked: something else
	// may have written it meanwhile.
	correctionPause = time.Second
	// pollPause is the time after which objects of other servers are counted again.
	pollPause = 30 * time.Second
)

func (q *quotas) observe(_ context.Context, o *observation) {
	namespace, name := o.typ.split(o.key)
	switch {
	case o.typ == q.definitions && q.definitions != nil:
		for _, key := range q.Quotas.Incomplete() {
			q.queue.addAfter(key, definitionPause)
		}
	case o.typ == q.typ && o.op != store.OpDelete:
		if bounds, _ := document.Find(o.body, "spec", "hard"); o.op != store.OpUpdate || q.bounds[o.key] != string(bounds) {
			q.bounds[strings.Clone(o.key)] = string(bounds)
			q.queue.add([2]string{strings.Clone(namespace), strings.Clone(name)})
		}
	case o.op == store.OpDelete && o.typ.Namespaced:
		delete(q.bounds, o.key)
		fallthrough
	case o.op == store.OpUpdate && (o.typ == q.services || o.typ == q.pods && over(o.body) || o.typ == q.claims && changesClass(o.body)):
		for _, name := range q.Quotas.Counting(namespace, o.typ.Resource) {
			q.queue.add([2]string{strings.Clone(namespace), name})
		}
	}
}

// over reports whether a pod may have stopped using what it requests, or got the deadline
// by which other quotas bound it.
func over(body []byte) bool {
	if _, ends := document.Find(body, "spec", "activeDeadlineSeconds"); ends {
		return true
	}
	phase, _ := document.Find(body, "status", "phase")
	switch document.Unquote(phase) {
	case "Succeeded", "Failed":
		return true
	}
	return terminating(body)
}

// changesClass reports whether a claim may have left the scope of a class of attributes.
func changesClass(body []byte) bool {
	_, is := document.Find(body, "status", "currentVolumeAttributesClassName")
	_, wanted := document.Find(body, "spec", "volumeAttributesClassName")
	return is || wanted
}

func (q *quotas) sync(ctx context.Context, key [2]string) error {
	exists, right, err := q.Quotas.Recalculate(ctx, key[0], key[1])
	switch {
	case err != nil || !exists:
	case right && q.Quotas.Polled(key[0], key[1]):
		q.queue.addAfter(key, min(pollPause, q.QuotaResync))
	case right:
		q.queue.addAfter(key, q.QuotaResync)
	default:
		q.queue.addAfter(key, correctionPause)
	}
	return err
}
