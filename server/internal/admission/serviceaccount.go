package admission

import (
	"context"
	"math/rand/v2"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

const (
	mirrorAnnotation = profile.LabelDomain + "/config.mirror"
	defaultAccount   = "default"
	tokenVolume      = "kube-api-access-" // and five characters
	tokenMountPath   = "/var/run/secrets/" + profile.LabelDomain + "/serviceaccount"
	// tokenSources are the files at the mount path: a token that the node renews, the
	// certificates to trust, and the pod's namespace.
	tokenSources = `{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},` +
		`{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},` +
		`{"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}],` +
		`"defaultMode":420}`
)

// awaitsAccount reports whether a write may have to wait for the account of a pod, which
// may be created a moment later.
func awaitsAccount(_ *Chain, o Operation, resource *api.Resource, subresource string) bool {
	return (o == Create && subresource == "" || o == Update && subresource == judgedSubresource) && resource.GV.Group == "" && resource.Plural == "pods"
}

// serviceAccount gives a new pod an existing account, and its credentials.
func (c *Chain) serviceAccount(ctx context.Context, r *Request) error {
	if r.Operation == Update && r.Subresource == judgedSubresource && r.Resource.GroupResource() == (api.GroupResource{Resource: "pods"}) {
		return c.limitLateSecrets(ctx, r)
	}
	if r.Operation != Create || !r.is("", "pods") {
		return nil
	}
	spec := r.Object.SetObject("spec")
	if r.Object.At("metadata", "annotations").Get(mirrorAnnotation).Exists() {
		return mirrorPod(r, spec)
	}
	name := spec.Get("serviceAccountName").Text()
	if name == "" {
		name = defaultAccount
		spec.SetString("serviceAccountName", name)
		spec.SetString("serviceAccount", name)
	}
	account, release, err := c.accountOf(ctx, r, name)
	defer release()
	if err != nil {
		return err
	}
	if automount(account, spec) {
		if err := mountToken(spec); err != nil {
			return err
		}
	}
	if secrets := account.Get("imagePullSecrets"); spec.Get("imagePullSecrets").Len() == 0 && secrets.Len() > 0 {
		spec.Put("imagePullSecrets", secrets)
	}
	if limitsSecrets(account) {
		return secretLimit{r, account}.pod(spec)
	}
	return nil
}

func (c *Chain) accountOf(ctx context.Context, r *Request, name string) (account document.Value, release func(), err error) {
	account, release, err = c.objects.GetSoon(ctx, "", "serviceaccounts", r.Namespace, name)
	if api.IsReason(err, api.ReasonNotFound) {
		err = r.forbidf("error looking up service account %s/%s: serviceaccount %q not found", r.Namespace, name, name)
	}
	return account, release, err
}

// mirrorPod checks a pod that only represents a static pod of a node: it must not use the
// namespace's secrets.
func mirrorPod(r *Request, spec document.Value) error {
	if spec.Get("serviceAccountName").Text() != "" {
		return r.forbidf("a mirror pod may not reference service accounts")
	}
	secrets := false
	kinds.NamesOf(r.Object, func(kind kinds.NamedKind, _ string) { secrets = secrets || kind == kinds.Secret })
	if secrets {
		return r.forbidf("a mirror pod may not reference secrets")
	}
	for _, v := range spec.Get("volumes").Elements() {
		for _, source := range v.At("projected", "sources").Elements() {
			if source.Get("serviceAccountToken").Exists() {
				return r.forbidf("a mirror pod may not use ServiceAccountToken volume projections")
			}
		}
	}
	return nil
}

// automount reports whether a pod gets the account's token: the pod's setting goes before
// the account's.
func automount(account, spec document.Value) bool {
	for _, v := range [...]document.Value{spec.Get("automountServiceAccountToken"), account.Get("automountServiceAccountToken")} {
		if v.Kind() == document.Bool {
			return v.Bool()
		}
	}
	return true
}

// mountToken mounts the token in every container without another volume at its path.
func mountToken(spec document.Value) error {
	name, there := "", false
	for _, v := range spec.Get("volumes").Elements() {
		if text := v.Get("name").Text(); strings.HasPrefix(text, tokenVolume) {
			name, there = text, true
			break
		}
	}
	if name == "" {
		name = tokenVolume + suffix()
	}
	needed := false
	for _, list := range [...]string{"initContainers", "containers"} {
		for _, container := range spec.Get(list).Elements() {
			if mounts := container.Get("volumeMounts"); mounts.ElementBy("mountPath", tokenMountPath).Exists() {
				continue
			}
			m := container.SetArray("volumeMounts").AppendObject()
			m.SetString("name", name)
			m.SetBool("readOnly", true)
			m.SetString("mountPath", tokenMountPath)
			needed = true
		}
	}
	if !needed || there {
		return nil
	}
	volume := spec.SetArray("volumes").AppendObject()
	volume.SetString("name", name)
	return volume.SetRaw("projected", []byte(tokenSources))
}

// suffix makes names distinct; it has no vowels, so that it spells no words.
func suffix() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789"
	b := make([]byte, 5)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}
