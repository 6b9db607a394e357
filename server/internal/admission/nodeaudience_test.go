package admission_test

import (
	"context"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// may permits some rights.
type may struct {
	world
	resource string
}

func (m may) May(_ context.Context, _ *authn.User, r admission.Right) (bool, string, error) {
	return r == admission.Right{Verb: "request-serviceaccounts-token-audience", Version: "v1", Resource: m.resource, Namespace: "shop", Name: "web"}, "", nil
}

// An agent gets tokens for the audiences that the volumes of a pod name, their drivers, or that it has a right to.
func TestAudiencesOfAgents(t *testing.T) {
	pod := func(volume string) string {
		return `{"metadata":{"name":"p","uid":"1"},"spec":{"nodeName":"a","volumes":[` + volume + `]}}`
	}
	w := world{
		"csidrivers//d":                     `{"spec":{"tokenRequests":[{"audience":"vault"}]}}`,
		"csidrivers//ebs.csi.aws.com":       `{"spec":{"tokenRequests":[{"audience":"aws"}]}}`,
		"persistentvolumeclaims/shop/data":  `{"spec":{"volumeName":"v"}}`,
		"persistentvolumeclaims/shop/p-e":   `{"spec":{"volumeName":"old"}}`,
		"persistentvolumeclaims/shop/loose": `{"spec":{}}`,
		"persistentvolumes//v":              `{"spec":{"csi":{"driver":"d"}}}`,
		"persistentvolumes//old":            `{"spec":{"awsElasticBlockStore":{}}}`,
	}
	const forbidden = `serviceaccounts "web" is forbidden: `
	for name, c := range map[string]struct{ volume, audiences, refusal string }{
		"default of a volume":    {`{"projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}`, "", ""},
		"named by a volume":      {`{"projected":{"sources":[{"serviceAccountToken":{"audience":"x"}}]}}`, "x", ""},
		"no default":             {``, "", forbidden + `audience "" not found in pod spec volume, system:node:a is not authorized to request tokens for this audience`},
		"not named":              {`{"configMap":{"name":"m"}}`, "x", forbidden + `audience "x" not found in pod spec volume, system:node:a is not authorized`},
		"two":                    {``, "x, y", forbidden + `node may only request 0 or 1 audiences`},
		"a right":                {``, "granted", ""},
		"of a driver":            {`{"csi":{"driver":"d"}}`, "vault", ""},
		"not of a driver":        {`{"csi":{"driver":"d"}}`, "x", `audience "x" not found`},
		"of a claim's driver":    {`{"persistentVolumeClaim":{"claimName":"data"}}`, "vault", ""},
		"of an older volume":     {`{"name":"e","ephemeral":{"volumeClaimTemplate":{}}}`, "aws", ""},
		"of a volume in the pod": {`{"awsElasticBlockStore":{"volumeID":"i"}}`, "aws", ""},
		"a missing claim": {`{"persistentVolumeClaim":{"claimName":"gone"}}`, "x",
			`error validating audience "x": persistentvolumeclaim "gone" not found`},
		"an unbound claim, a missing driver": {`{"persistentVolumeClaim":{"claimName":"loose"}},{"csi":{"driver":"gone"}}`, "x",
			`error validating audience "x": [csidriver.storage.k8s.io "gone" not found, persistentvolume "" not found]`},
		"one of two found": {`{"persistentVolumeClaim":{"claimName":"gone"}},{"csi":{"driver":"d"}}`, "vault", ""},
	} {
		w["pods/shop/p"] = pod(c.volume)
		for _, on := range []bool{true, false} {
			chain := admission.New(may{w, "granted"}, admission.Config{EnableAdmissionPlugins: []string{"NodeRestriction"}, Gate: func(string) bool { return on }})
			res := resource(t, "serviceaccounts")
			r := &admission.Request{Operation: admission.Create, Resource: res, Subresource: "token", Namespace: "shop", Name: "web",
				User: &authn.User{Name: "system:node:a", Groups: []string{"system:nodes"}}}
			r.Object = decodeBody(t, res, "token", "spec: {audiences: ["+c.audiences+"], boundObjectRef: {apiVersion: v1, kind: Pod, name: p, uid: '1'}}")
			err := chain.Admit(context.Background(), r)
			if refused := on && c.refusal != ""; (err != nil) != refused || refused && !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("%s: %v, want %q", name, err, c.refusal)
			}
		}
	}
}
