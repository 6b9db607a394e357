package admission

import (
	"context"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// A service account may limit its pods to the secrets that it lists. The limit holds for
// every place of a pod that names a secret. Refusals have the words of 1.25 where it has some.

// limitsSecrets reports whether pods with the account may use its own secrets only.
func limitsSecrets(account document.Value) bool {
	limits, _ := strconv.ParseBool(account.At("metadata", "annotations").Get(profile.LabelDomain + "/enforce-mountable-secrets").Text())
	return limits
}

// secretLimit is the limit of a pod's account.
type secretLimit struct {
	*Request
	account document.Value
}

func (l secretLimit) lists(secret string) bool {
	return l.account.Get("secrets").ElementBy("name", secret).Exists()
}

// refuse is the refusal of a place, which the format begins with.
func (l secretLimit) refuse(secret, what, format string, args ...any) error {
	account := l.account.At("metadata", "name").Text()
	return l.forbidf(format+`"%s" is not allowed because service account %s does not reference that %s`, append(args, secret, account, what)...)
}

// pod refuses a pod with secrets that its account does not name.
func (l secretLimit) pod(spec document.Value) error {
	for _, v := range spec.Get("volumes").Elements() {
		if err := l.volume(v); err != nil {
			return err
		}
	}
	if err := l.containers(spec, "init container", "initContainers"); err != nil {
		return err
	}
	if err := l.containers(spec, "container", "containers"); err != nil {
		return err
	}
	for i, ref := range spec.Get("imagePullSecrets").Elements() {
		if pull := ref.Get("name").Text(); !l.account.Get("imagePullSecrets").ElementBy("name", pull).Exists() {
			return l.refuse(pull, "imagePullSecret", "imagePullSecrets[%d].name=", i)
		}
	}
	return nil
}

func (l secretLimit) volume(v document.Value) error {
	if secret := v.At("secret", "secretName").Text(); given(v.Get("secret")) && !l.lists(secret) {
		return l.refuse(secret, "secret", "volume with secret.secretName=")
	}
	if secret, found := l.unlisted(v, kinds.NamesOfVolume); found {
		return l.refuse(secret, "secret", "volume %s referencing secret.secretName=", v.Get("name").Text())
	}
	return nil
}

func (l secretLimit) containers(spec document.Value, kind, list string) error {
	for c := range containersOf(spec, list) {
		name := c.Get("name").Text()
		for _, env := range c.Get("env").Elements() {
			ref := env.At("valueFrom", "secretKeyRef")
			if secret := ref.Get("name").Text(); given(ref) && !l.lists(secret) {
				return l.refuse(secret, "secret", "%s %s with envVar %s referencing secret.secretName=", kind, name, env.Get("name").Text())
			}
		}
		if secret, found := l.unlisted(c, kinds.NamesOfContainer); found {
			return l.refuse(secret, "secret", "%s %s with envFrom referencing secret.secretName=", kind, name)
		}
	}
	return nil
}

// unlisted is the first secret in a part of a pod that the account does not name.
func (l secretLimit) unlisted(part document.Value, names func(document.Value, func(kinds.NamedKind, string))) (secret string, found bool) {
	names(part, func(kind kinds.NamedKind, name string) {
		if kind == kinds.Secret && !found && !l.lists(name) {
			secret, found = name, true
		}
	})
	return secret, found
}

// limitLateSecrets limits the containers that a running pod gets.
func (c *Chain) limitLateSecrets(ctx context.Context, r *Request) error {
	spec := r.Object.Get("spec")
	name := spec.Get("serviceAccountName").Text()
	if name == "" {
		return r.forbidf("no service account specified for pod %s/%s", r.Namespace, r.Name)
	}
	account, release, err := c.accountOf(ctx, r, name)
	defer release()
	if err != nil || !limitsSecrets(account) {
		return err
	}
	return secretLimit{r, account}.containers(spec, "ephemeral container", judgedContainers)
}
