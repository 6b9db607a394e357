package admission_test

import (
	"context"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// A pod that an agent makes of a static one names no objects: from 1.34 on none that its node reads from the server.
func TestMirrorPods(t *testing.T) {
	w := world{"nodes//a": `{"metadata":{"name":"a","uid":"7"}}`}
	for _, c := range []struct{ spec, before, now string }{
		{"serviceAccountName: s", "a service account", "serviceaccounts"},
		{"imagePullSecrets: [{name: s}]", "secrets", "secrets"},
		{"volumes: [{name: v, configMap: {name: m}}]", "configmaps", "configmaps"},
		{"volumes: [{name: v, configMap: {}}]", "", "configmaps (via configmap volumes)"},
		{"volumes: [{name: v, csi: {driver: d}}]", "", "csidrivers (via CSI volumes)"},
		{"volumes: [{name: v, ephemeral: {}}]", "", "persistentvolumeclaims (via ephemeral volumes)"},
		{"volumes: [{name: v, persistentVolumeClaim: {claimName: m}}]", "persistentvolumeclaims", "persistentvolumeclaims"},
		{"volumes: [{name: v, projected: {sources: [{downwardAPI: {}}, {serviceAccountToken: {path: t}}]}}]", "", "serviceaccounts (via projected volumes)"},
		{"volumes: [{name: v, projected: {sources: [{downwardAPI: {}}]}}]", "", ""},
		{"volumes: [{name: v, hostPath: {path: /}}, {name: e, emptyDir: {}}]", "", ""},
	} {
		for _, later := range []bool{false, true} {
			want := c.before
			if later {
				want = c.now
			}
			chain := admission.New(w, admission.Config{EnableAdmissionPlugins: []string{"NodeRestriction"}, DisableAdmissionPlugins: []string{"ServiceAccount", "Priority", "RuntimeClass"},
				Since: func(string) bool { return later }})
			res := resource(t, "pods")
			r := &admission.Request{Operation: admission.Create, Resource: res, Namespace: "shop", Name: "p", User: &authn.User{Name: "system:node:a", Groups: []string{"system:nodes"}}}
			r.Object = decode(t, res, "metadata: {name: p, annotations: {kubernetes.io/config.mirror: x}, ownerReferences: [{apiVersion: v1, kind: Node, name: a, uid: '7', controller: true}]}\nspec: {nodeName: a, "+c.spec+"}")
			err := chain.Admit(context.Background(), r)
			if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), `node "a" can not create pods that reference `+want) {
				t.Errorf("%s, later %v: %v, want %q", c.spec, later, err, want)
			}
		}
	}
}
