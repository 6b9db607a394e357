// Package nodes authorizes the agents of nodes: an agent may read the objects that the
// pods on its node need, and do what every agent may.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/identity/rbac"
	"github.com/capstan-dev/capstan/server/internal/live"
)

const (
	storageGroup      = "storage." + profile.GroupSuffix
	coordinationGroup = "coordination." + profile.GroupSuffix
	resourceGroup     = "resource." + profile.GroupSuffix
	certificatesGroup = "certificates." + profile.GroupSuffix
	leases            = "kube-node-lease" // the namespace of the leases of nodes
	role              = "system:node"     // of every cluster: the rights of all agents
)

// Config holds the dependencies of an Authorizer.
type Config struct {
	Store   store.Store
	Catalog *catalog.Catalog
	Logger  *slog.Logger
	// Release is the release of the built-in kinds, with its features.
	Release bootstrap.Release
	// OwnOnly has agents read their own node and the pods on it only, by the selectors of their requests.
	OwnOnly bool
}

// Authorizer decides on requests of the agents of nodes, with the reasons of the release. It is
// an authz.Authorizer that allows or has no opinion, and an authz.RuleLister. A change of
// a pod, or of another object that the graph is made of, counts before its write is
// acknowledged.
type Authorizer struct {
	sources *live.Collection[*source]
	graph   *graph
	rules   rbac.Rules // for the resources that the graph does not decide on
	release bootstrap.Release
	ownOnly bool
}

// origin is a resource whose objects are sources.
type origin struct {
	group, plural string
	read          func(document.Value) *source
	later         bool // a cluster may be without it
}

// origins are the resources that the graph of a cluster is made of.
func (c *Config) origins() []origin {
	pods := func(pod document.Value) *source { return readPod(pod, c.OwnOnly, c.Release.Has("1.28")) }
	all := []origin{{plural: "pods", read: pods}, {plural: "persistentvolumes", read: readVolume},
		{group: storageGroup, plural: "volumeattachments", read: readAttachment}}
	if c.Release.Has("1.30", "DynamicResourceAllocation") {
		all = append(all, origin{resourceGroup, "resourceslices", readSlice, true})
	}
	if c.Release.Has("1.34", "PodCertificateRequest") {
		all = append(all, origin{certificatesGroup, "podcertificaterequests", readRequest, true})
	}
	return all
}

// Open reads the objects that agents depend on, and follows them until Close.
func Open(ctx context.Context, cfg Config) (*Authorizer, error) {
	a := &Authorizer{graph: newGraph(), release: cfg.Release, ownOnly: cfg.OwnOnly}
	var err error
	if a.rules, err = fixedRules(cfg.Release); err != nil {
		return nil, err
	}
	snapshot := cfg.Catalog.Snapshot()
	var prefixes []string
	decoders := map[string]func(e *store.Entry) (*source, error){}
	for _, of := range cfg.origins() {
		row := snapshot.Stored(of.group, of.plural)
		if row == nil && of.later {
			continue
		}
		if row == nil {
			return nil, fmt.Errorf("the authorization mode Node needs the resource %s: regenerate from documents that have it, or leave the mode out", of.plural)
		}
		prefixes = append(prefixes, row.Prefix(""))
		decoders[row.Prefix("")] = live.Read(row, of.read)
	}
	decode := func(e *store.Entry) (*source, error) {
		for _, prefix := range prefixes {
			if strings.HasPrefix(e.Key, prefix) {
				return decoders[prefix](e)
			}
		}
		return nil, nil
	}
	a.sources, err = live.Open(ctx, live.Config[*source]{Store: cfg.Store, Logger: cfg.Logger, Decode: decode, Prefixes: prefixes})
	if err != nil {
		return nil, err
	}
	live.Derive(a.sources, func(_ *graph, changes []live.Change[*source]) *graph {
		a.graph.apply(changes)
		return a.graph
	})
	return a, nil
}

// Close ends following.
func (a *Authorizer) Close() { a.sources.Close() }

// fixedRules are the rules of the role of all agents, as every cluster of a release has it.
func fixedRules(of bootstrap.Release) (rbac.Rules, error) {
	all, err := bootstrap.Objects(profile.GroupSuffix, profile.LabelDomain, of)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if o.Kind != "ClusterRole" || o.Name != role {
			continue
		}
		doc, err := document.DecodeAny(o.JSON, document.Limits{})
		if err != nil {
			return nil, err
		}
		defer doc.Release()
		return rbac.ReadRules(doc.Root()), nil
	}
	return nil, fmt.Errorf("the cluster role %s is missing", role)
}

// Rules implements authz.RuleLister: the rights of an agent are not listed.
func (a *Authorizer) Rules(_ context.Context, user *authn.User, _ string) (authz.Rules, error) {
	if _, is := authn.NodeOf(user); is {
		return authz.Rules{Incomplete: true}, errors.New("node authorizer does not support user rule resolution")
	}
	return authz.Rules{}, nil
}

// Authorize implements authz.Authorizer.
func (a *Authorizer) Authorize(_ context.Context, r *authz.Attributes) (authz.Decision, string, error) {
	name, is := authn.NodeOf(r.User)
	if !is {
		return authz.NoOpinion, "", nil
	}
	if name == "" {
		return authz.NoOpinion, fmt.Sprintf("unknown node for user %q", r.User.Name), nil
	}
	reason, decided := a.refuses(name, r)
	if reason == refused {
		return authz.NoOpinion, "", nil
	}
	if decided && reason == "" || !decided && a.rules.Allow(r) {
		return authz.Allow, "", nil
	}
	return authz.NoOpinion, reason, nil
}

// refuses returns the reason against a request, "" if it is allowed. It is not decided
// for resources that every agent may use alike.
func (a *Authorizer) refuses(node string, r *authz.Attributes) (reason string, decided bool) {
	if !r.ResourceRequest {
		return "", false
	}
	switch r.Group {
	case "":
		switch r.Resource {
		case "secrets":
			return a.mayRead(node, secret, r), true
		case "configmaps":
			return a.mayRead(node, configMap, r), true
		case "persistentvolumeclaims":
			if r.Subresource == "status" {
				return a.mayUpdateStatus(node, r), true
			}
			return a.mayGet(node, claim, r), true
		case "persistentvolumes":
			return a.mayGet(node, volume, r), true
		case "serviceaccounts":
			return a.mayUseAccount(node, r), true
		case "nodes":
			if a.ownOnly {
				return mayUseNode(node, r), true
			}
		case "pods":
			if a.ownOnly {
				return a.mayUsePod(node, r), true
			}
		}
	case storageGroup:
		switch r.Resource {
		case "volumeattachments":
			return a.mayGet(node, attachment, r), true
		case "csinodes":
			return mayUseCSINode(node, r), true
		}
	case coordinationGroup:
		if r.Resource == "leases" {
			return mayUseLease(node, r), true
		}
	default:
		return a.refusesLater(node, r)
	}
	return "", false
}

// refusesLater is refuses for the groups of later releases.
func (a *Authorizer) refusesLater(node string, r *authz.Attributes) (reason string, decided bool) {
	switch {
	case r.Group == resourceGroup && r.Resource == "resourceclaims" && a.release.Has("1.28"):
		return a.mayGet(node, device, r), true
	case r.Group == resourceGroup && r.Resource == "resourceslices" && a.release.Has("1.31"):
		return a.mayUseSlice(node, r), true
	case r.Group == resourceGroup && r.Resource == "resourceslices" && a.release.Has("1.30"):
		return a.mayUseOldSlice(node, r), true
	case r.Group == certificatesGroup && r.Resource == "podcertificaterequests" && a.release.Has("1.34"):
		return a.mayUseRequest(node, r), true
	}
	return "", false
}
