package admission_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// podSpec is the part of a pod that depends on its account.
type podSpec struct {
	ServiceAccountName, ServiceAccount string
	ImagePullSecrets                   []map[string]string
	Volumes                            []podVolume
	Containers, InitContainers         []struct {
		Name         string
		VolumeMounts []map[string]any
	}
}

type podVolume struct {
	Name      string
	Projected json.RawMessage
}

// TestPodsGetAccounts: the five steps of the specification for a new pod (Service account
// details), each with its exceptions.
func TestPodsGetAccounts(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.DisableAdmissionPlugins = nil })
	const ns, place = "/api/v1/namespaces/shop", "/var/run/secrets/kubernetes.io/serviceaccount"
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	n := 0
	create := func(spec string) (p podSpec, got harness.Reply) {
		n++
		got = h.Post(ns+"/pods", fmt.Sprintf(`{"metadata":{"name":"p%d"},"spec":{%s}}`, n, spec))
		var pod struct{ Spec podSpec }
		if err := json.Unmarshal(got.Body, &pod); err != nil {
			t.Fatal(err)
		}
		return pod.Spec, got
	}
	const one = `"containers":[{"name":"c","image":"i"}]`

	// 2. A missing account, default included, is a reason to refuse.
	for _, spec := range []string{one, one + `,"serviceAccountName":"nobody"`} {
		if _, got := create(spec); got.Code != 403 || !strings.Contains(string(got.Body), "not found") {
			t.Errorf("without the account: %d %s", got.Code, got.Body)
		}
	}
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"default"},"imagePullSecrets":[{"name":"pull"}]}`)
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"quiet"},"automountServiceAccountToken":false}`)
	h.Create(ns+"/serviceaccounts", `{"metadata":{"name":"loud"},"automountServiceAccountToken":true}`)

	// 1. An account that is not set is default; 5. its secrets for images are the pod's.
	p, _ := create(one)
	if p.ServiceAccountName != "default" || p.ServiceAccount != "default" || !cmp.Equal(p.ImagePullSecrets, []map[string]string{{"name": "pull"}}) {
		t.Errorf("%+v", p)
	}
	if p, _ := create(one + `,"imagePullSecrets":[{"name":"own"}]`); !cmp.Equal(p.ImagePullSecrets, []map[string]string{{"name": "own"}}) {
		t.Errorf("own secrets: %+v", p)
	}

	// 3. The volume has three sources.
	const sources = `{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},` +
		`{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],"defaultMode":420}`
	if len(p.Volumes) != 1 || string(p.Volumes[0].Projected) != sources {
		t.Errorf("%+v", p.Volumes)
	}
	for name, c := range map[string]struct {
		spec    string
		volumes int
	}{
		"the pod says no":                 {`"automountServiceAccountToken":false`, 0},
		"the account says no":             {`"serviceAccountName":"quiet"`, 0},
		"both say no":                     {`"serviceAccountName":"quiet","automountServiceAccountToken":false`, 0},
		"the pod goes before":             {`"serviceAccountName":"quiet","automountServiceAccountToken":true`, 1},
		"the pod goes before, to a no":    {`"serviceAccountName":"loud","automountServiceAccountToken":false`, 0},
		"the account says yes":            {`"serviceAccountName":"loud"`, 1},
		"the pod has such a volume":       {`"volumes":[{"name":"kube-api-access-mine","projected":{"sources":[]}}]`, 1},
		"the pod has another volume":      {`"volumes":[{"name":"v","emptyDir":{}}]`, 2},
		"a volume of that name, no token": {`"volumes":[{"name":"kube-api-access-mine","emptyDir":{}}]`, 1}, // as in 1.25
	} {
		if p, got := create(one + "," + c.spec); got.Code != 201 || len(p.Volumes) != c.volumes || c.volumes == 0 && p.Containers[0].VolumeMounts != nil {
			t.Errorf("%s: %d %+v", name, got.Code, p)
		}
	}

	// 4. It is mounted in every container, except those with a mount at its place.
	p, got := create(`"volumes":[{"name":"v","emptyDir":{}}],"initContainers":[{"name":"i","image":"i"}],"containers":[{"name":"c","image":"i"},
		{"name":"own","image":"i","volumeMounts":[{"name":"v","mountPath":"` + place + `"}]},{"name":"below","image":"i","volumeMounts":[{"name":"v","mountPath":"` + place + `/x"}]}]`)
	at := slices.IndexFunc(p.Volumes, func(v podVolume) bool { return strings.HasPrefix(v.Name, "kube-api-access-") })
	if at < 0 || len(p.Containers) != 3 {
		t.Fatalf("%s", got.Body)
	}
	token := map[string]any{"name": p.Volumes[at].Name, "readOnly": true, "mountPath": place}
	own, below := map[string]any{"name": "v", "mountPath": place}, map[string]any{"name": "v", "mountPath": place + "/x"}
	for name, pair := range map[string][2][]map[string]any{
		"init":      {p.InitContainers[0].VolumeMounts, {token}},
		"plain":     {p.Containers[0].VolumeMounts, {token}},
		"own mount": {p.Containers[1].VolumeMounts, {own}},
		"below":     {p.Containers[2].VolumeMounts, {below, token}},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
