package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
)

// hasOtherKey reports whether the graph has the object of a reference under another key
// than the reference's.
func (gc *collector) hasOtherKey(r *ownerReference) bool {
	gc.graph.mu.Lock()
	defer gc.graph.mu.Unlock()
	return gc.graph.nodes[parseUID([]byte(r.uid))] != nil
}

// reportOwner records an event for an object whose owner is in another namespace, which
// is not allowed. There is one event for each reference.
func (gc *collector) reportOwner(ctx context.Context, o *subject, r *ownerReference) {
	events := gc.find("", "events")
	if events == nil || events.Off {
		return
	}
	namespace := o.namespace
	if namespace == "" {
		namespace = "default"
	}
	digest := sha256.Sum256([]byte(o.uid + " " + r.uid))
	now := gc.Now().UTC().Format(time.RFC3339)
	message := fmt.Sprintf("ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
		r.kind.APIVersion, r.kind.Kind, o.namespace, r.name, r.uid, o.namespace)
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{"name": o.name + "." + hex.EncodeToString(digest[:8]), "namespace": namespace},
		"involvedObject": map[string]any{"apiVersion": o.typ.GV.APIVersion(), "kind": o.typ.Kind, "name": o.name,
			"namespace": o.namespace, "uid": o.uid},
		"reason": "OwnerRefInvalidNamespace", "message": message, "type": "Warning",
		"source":         map[string]any{"component": "garbage-collector-controller"},
		"firstTimestamp": now, "lastTimestamp": now, "count": 1,
	})
	if err == nil {
		err = gc.Cluster.Create(ctx, events.Resource, namespace, body)
	}
	if err != nil && !hasReason(err, api.ReasonAlreadyExists) {
		gc.Logger.Debug("event not written", "reason", "OwnerRefInvalidNamespace", "object", o.key, "error", err)
	}
}
