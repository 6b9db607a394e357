package command

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// A login link holds a token of a service account that is bound to a secret, the link's. The page
// requests a token that is bound to a second secret, the session's, and deletes the first: so the
// link counts once. Log-out deletes the second. Both secrets hold nothing: tokens end with them.

const (
	linkLife    = 10 * time.Minute
	sessionLife = 12 * time.Hour
	// sessionLabel marks the objects of links and sessions. Its value is their part: link or session.
	sessionLabel = "capstan-explorer"
	linkName     = "explorer-link-"
	sessionName  = "explorer-session-"
	rbacGroup    = "rbac.authorization." + profile.GroupSuffix
)

// account is a service account.
type account struct{ namespace, name string }

func (a account) String() string { return a.namespace + "/" + a.name }

// administrator is the account of links without another one.
var administrator = account{"kube-system", "explorer"}

// linkMaker makes a link of an account, as a client.
type linkMaker struct {
	rest *client.REST
	as   account
	now  time.Time
}

// The resources that a link needs.
var (
	secrets         = client.Row{Prefix: "/api/v1", Plural: "secrets", Namespaced: true}
	serviceAccounts = client.Row{Prefix: "/api/v1", Plural: "serviceaccounts", Namespaced: true}
	roles           = client.Row{Prefix: "/apis/" + rbacGroup + "/v1", Plural: "roles", Namespaced: true}
	roleBindings    = client.Row{Prefix: "/apis/" + rbacGroup + "/v1", Plural: "rolebindings", Namespaced: true}
	clusterBindings = client.Row{Prefix: "/apis/" + rbacGroup + "/v1", Plural: "clusterrolebindings"}
)

// linkObject is an object of a link: a secret, an account, a role, or a binding.
type linkObject struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Metadata   linkMeta      `json:"metadata"`
	Rules      []linkRule    `json:"rules,omitempty"`
	RoleRef    *linkRef      `json:"roleRef,omitempty"`
	Subjects   []linkSubject `json:"subjects,omitempty"`
}

type linkMeta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	CreationTimestamp time.Time         `json:"creationTimestamp,omitzero"`
	Labels            map[string]string `json:"labels,omitempty"`
	Owners            []boundObject     `json:"ownerReferences,omitempty"`
}

type linkRule struct {
	Groups    []string `json:"apiGroups"`
	Resources []string `json:"resources"`
	Names     []string `json:"resourceNames"`
	Verbs     []string `json:"verbs"`
}

type linkRef struct {
	Group string `json:"apiGroup"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

type linkSubject struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (o *linkObject) GetName() string            { return o.Metadata.Name }
func (o *linkObject) GetNamespace() string       { return o.Metadata.Namespace }
func (o *linkObject) GetResourceVersion() string { return o.Metadata.ResourceVersion }
func (o *linkObject) SetKind()                   {} // each has its own

// at is the client of a resource, in the namespace of the account.
func (l *linkMaker) at(row client.Row) *client.Resource[*linkObject] {
	return client.NewResource[*linkObject](l.rest, row, l.as.namespace)
}

// subject is the account in a binding.
func (l *linkMaker) subject() []linkSubject {
	return []linkSubject{{Kind: "ServiceAccount", Namespace: l.as.namespace, Name: l.as.name}}
}

// possible is the refusal of a server without service accounts: one of other kinds only.
func (l *linkMaker) possible(ctx context.Context, page string) error {
	text, err := l.rest.Get(ctx, serviceAccounts.Prefix, 1<<20)
	if err != nil && !client.IsNotFound(err) {
		return err
	}
	var served struct{ Resources []struct{ Name string } }
	if err == nil {
		if err := json.Unmarshal(text, &served); err != nil {
			return fmt.Errorf("%s: %w", serviceAccounts.Prefix, err)
		}
	}
	for _, r := range served.Resources {
		if r.Name == serviceAccounts.Plural {
			return nil
		}
	}
	return fmt.Errorf("this server has no service accounts, as which links log in; open %s and log in there with a token (serve --token-auth-file), "+
		"or with the certificate of an administrator or of 'kubeconfig --user NAME'", page)
}

// removeOld deletes the secrets of links and sessions whose time is over, and what belongs to
// them. Users who may not list secrets leave that to others.
func (l *linkMaker) removeOld(ctx context.Context) error {
	list, err := l.at(secrets).List(ctx, client.ListOptions{LabelSelector: sessionLabel})
	if err != nil {
		if client.IsForbidden(err) || client.IsNotFound(err) {
			return nil
		}
		return err
	}
	for _, secret := range list.Items {
		life := sessionLife
		if secret.Metadata.Labels[sessionLabel] == "link" {
			life = linkLife
		}
		if l.now.Sub(secret.Metadata.CreationTimestamp) < life {
			continue
		}
		for _, row := range []client.Row{roleBindings, roles, secrets} {
			if err := l.at(row).Delete(ctx, secret.Metadata.Name, client.DeleteOptions{}); err != nil && !client.IsNotFound(err) && !client.IsForbidden(err) {
				return err
			}
		}
	}
	return nil
}

// prepare makes the administrator's account and its binding, if they are missing. The server lets
// only those bind cluster-admin who may do everything themselves. Another account has to exist.
func (l *linkMaker) prepare(ctx context.Context) error {
	if l.as != administrator {
		return nil
	}
	meta := linkMeta{Name: l.as.name, Namespace: l.as.namespace}
	if err := l.ensure(ctx, serviceAccounts, &linkObject{APIVersion: "v1", Kind: "ServiceAccount", Metadata: meta}); err != nil {
		return err
	}
	err := l.ensure(ctx, clusterBindings, &linkObject{APIVersion: rbacGroup + "/v1", Kind: "ClusterRoleBinding", Metadata: linkMeta{Name: "capstan:explorer"},
		RoleRef: &linkRef{rbacGroup, "ClusterRole", "cluster-admin"}, Subjects: l.subject()})
	if client.IsForbidden(err) {
		err = fmt.Errorf("the page would act as an administrator, which these credentials are not; name an account with fewer rights (--service-account): %w", err)
	}
	return err
}

// ensure creates an object if it is missing.
func (l *linkMaker) ensure(ctx context.Context, row client.Row, o *linkObject) error {
	_, err := l.at(row).Get(ctx, o.Metadata.Name, client.GetOptions{})
	if client.IsNotFound(err) || client.IsForbidden(err) {
		if _, err = l.at(row).Create(ctx, o, client.WriteOptions{}); client.IsAlreadyExists(err) {
			return nil
		}
	}
	return err
}

// token makes the secrets of a link, and its token.
func (l *linkMaker) token(ctx context.Context) (string, error) {
	id := strings.ToLower(rand.Text()[:12])
	session, err := l.secret(ctx, sessionName+id, "session")
	if err != nil {
		return "", err
	}
	if l.as != administrator {
		if err := l.permit(ctx, id, session); err != nil {
			return "", err
		}
	}
	link, err := l.secret(ctx, linkName+id, "link")
	if err != nil {
		return "", err
	}
	r := tokenRequest{APIVersion: "authentication." + profile.GroupSuffix + "/v1", Kind: "TokenRequest"}
	r.Spec.ExpirationSeconds, r.Spec.BoundObjectRef = int64(linkLife/time.Second), link
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	answer, err := l.rest.Post(ctx, "/api/v1/namespaces/"+l.as.namespace+"/serviceaccounts/"+l.as.name+"/token", body)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(answer, &r); err != nil || r.Status.Token == "" {
		return "", errors.New("the server's answer has no token")
	}
	return r.Status.Token, nil
}

// secret makes a secret, to which tokens are bound.
func (l *linkMaker) secret(ctx context.Context, name, part string) (*boundObject, error) {
	made, err := l.at(secrets).Create(ctx, &linkObject{APIVersion: "v1", Kind: "Secret",
		Metadata: linkMeta{Name: name, Namespace: l.as.namespace, Labels: map[string]string{sessionLabel: part}}}, client.WriteOptions{})
	if err != nil {
		return nil, err
	}
	return &boundObject{APIVersion: "v1", Kind: "Secret", Name: name, UID: made.Metadata.UID}, nil
}

// permit gives an account the rights of the protocol: to request tokens of itself, and to delete
// the two secrets. They end with the session.
func (l *linkMaker) permit(ctx context.Context, id string, session *boundObject) error {
	meta := linkMeta{Name: session.Name, Namespace: l.as.namespace, Labels: map[string]string{sessionLabel: "session"}, Owners: []boundObject{*session}}
	_, err := l.at(roles).Create(ctx, &linkObject{APIVersion: rbacGroup + "/v1", Kind: "Role", Metadata: meta, Rules: []linkRule{
		{Groups: []string{""}, Resources: []string{"secrets"}, Names: []string{linkName + id, session.Name}, Verbs: []string{"delete"}},
		{Groups: []string{""}, Resources: []string{"serviceaccounts/token"}, Names: []string{l.as.name}, Verbs: []string{"create"}},
	}}, client.WriteOptions{})
	if err != nil {
		return err
	}
	_, err = l.at(roleBindings).Create(ctx, &linkObject{APIVersion: rbacGroup + "/v1", Kind: "RoleBinding", Metadata: meta,
		RoleRef: &linkRef{rbacGroup, "Role", session.Name}, Subjects: l.subject()}, client.WriteOptions{})
	return err
}
