package nodes

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// mirrorAnnotation marks a pod that represents a static pod of a node. It gives no access:
// the agent of the node creates it.
const mirrorAnnotation = profile.LabelDomain + "/config.mirror"

// add adds a target, once.
func (n *names) add(k kind, namespace, name string) {
	if t := (target{k, namespace, name}); !slices.Contains(n.targets, t) {
		t.name = strings.Clone(name)
		n.targets = append(n.targets, t)
	}
}

// source is the names as a source; nil if there are none.
func (n *names) source() *source {
	if len(n.targets) == 0 {
		return nil
	}
	return &source{read: n}
}

// readPod reads a pod; nil for one that gives no node access to anything. itself has the node read the pod, devices its claims on
// devices.
func readPod(obj document.Value, itself, devices bool) *source {
	on := obj.At("spec", "nodeName").Text()
	if on == "" {
		return nil
	}
	n := &names{node: strings.Clone(on)}
	namespace := strings.Clone(obj.At("metadata", "namespace").Text())
	if itself {
		n.add(pod, namespace, obj.At("metadata", "name").Text())
	}
	if !obj.At("metadata", "annotations").Get(mirrorAnnotation).Exists() {
		kinds.NamesOf(obj, func(k kinds.NamedKind, name string) { n.add(kind(k), namespace, name) })
		if devices {
			kinds.DeviceClaimsOf(obj, func(name string) { n.add(device, namespace, name) })
		}
	}
	return n.source()
}

// readVolume reads a persistent volume; nil for one without a claim.
func readVolume(v document.Value) *source {
	ref := v.At("spec", "claimRef")
	if !ref.Exists() {
		return nil
	}
	n := &names{claim: target{claim, strings.Clone(ref.Get("namespace").Text()), strings.Clone(ref.Get("name").Text())}}
	n.add(volume, "", v.At("metadata", "name").Text())
	kinds.SecretsOf(v, func(namespace, name string) { n.add(secret, strings.Clone(namespace), name) })
	return n.source()
}

// readAttachment reads a volume attachment.
func readAttachment(a document.Value) *source { return readOwn(attachment, a) }

// readSlice reads a slice of devices; nil for one that is not of a node.
func readSlice(s document.Value) *source { return readOwn(slice, s) }

// readRequest reads a request for the certificate of a pod.
func readRequest(r document.Value) *source { return readOwn(certified, r) }

// readOwn reads an object that names the node which may use the object itself; nil for one that names none.
func readOwn(k kind, obj document.Value) *source {
	on := obj.At("spec", "nodeName").Text()
	if on == "" {
		on = obj.Get("nodeName").Text() // of a slice in 1.30
	}
	if on == "" {
		return nil
	}
	n := &names{node: strings.Clone(on)}
	n.add(k, strings.Clone(obj.At("metadata", "namespace").Text()), obj.At("metadata", "name").Text())
	return n.source()
}
