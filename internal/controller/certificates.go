package controller

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/signing"
	"github.com/capstan-dev/capstan/internal/store"
)

// Certificates is the part of the configuration about certificate signing requests.
type Certificates struct {
	// Authority returns the authority of a built-in signer, nil for none: then nothing
	// is signed.
	Authority func(signer string) *signing.Authority
	// Longest is the life of a certificate whose request asks for nothing shorter.
	Longest time.Duration
	// Permitted reports whether the author of a request, given as its spec, may have the
	// certificate of a node without an approver's decision; asks is the subresource that
	// stands for it, nodeclient or selfnodeclient.
	Permitted func(ctx context.Context, spec []byte, asks string) (bool, error)
	// Cleaning are the periods of the cleaner.
	Cleaning CleaningTimes
}

// CleaningTimes are the times after which certificate signing requests are deleted.
type CleaningTimes struct {
	Interval time.Duration // between two looks at all requests
	Pending  time.Duration // after the creation of one without a decision
	Decided  time.Duration // after the decision, or the failure
}

// signingRequest is the part of a certificate signing request that its controllers read.
type signingRequest struct {
	Metadata struct {
		Name, UID         string
		CreationTimestamp time.Time
	}
	Spec struct {
		Request           []byte
		SignerName        string
		Usages            []string
		Username          string
		ExpirationSeconds int64
	}
	Status struct {
		Certificate []byte
		Conditions  []signingCondition
	}
}

// signingCondition is a condition of a certificate signing request.
type signingCondition struct {
	Type, Status   string
	LastUpdateTime time.Time
}

// Conditions of certificate signing requests.
const (
	conditionApproved = "Approved"
	conditionDenied   = "Denied"
	conditionFailed   = "Failed"
)

// condition returns the condition of a type, nil for none.
func (r *signingRequest) condition(kind string) *signingCondition {
	for i := range r.Status.Conditions {
		if c := &r.Status.Conditions[i]; c.Type == kind {
			return c
		}
	}
	return nil
}

// open reports whether a request has neither a decision nor a certificate.
func (r *signingRequest) open() bool {
	return len(r.Status.Certificate) == 0 && r.condition(conditionApproved) == nil && r.condition(conditionDenied) == nil
}

// signable reports whether a request is approved, and neither signed nor failed.
func (r *signingRequest) signable() bool {
	failed := r.condition(conditionFailed)
	return len(r.Status.Certificate) == 0 && r.condition(conditionApproved) != nil && r.condition(conditionDenied) == nil &&
		(failed == nil || failed.Status != "True" && failed.Status != "")
}

// requests is a controller that works on single certificate signing requests.
type requests struct {
	*cluster
	typ     *Type
	pending func(*signingRequest) bool // whether there is something to do
	queue   *queue[string]             // by name
}

func newRequests(ctx context.Context, c *cluster, name string, pending func(*signingRequest) bool,
	work func(context.Context, *signingRequest, []byte) error) *requests {
	r := &requests{cluster: c, typ: c.signingRequests(), pending: pending}
	r.queue = newQueue(ctx, name, parallel, c.Logger, func(ctx context.Context, name string) error {
		e, err := r.Store.Get(ctx, r.typ.key("", name))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		request, err := readSigningRequest(e.Body)
		if err != nil || !pending(request) {
			return err
		}
		return ignoreNotFound(work(ctx, request, e.Body))
	})
	return r
}

func (c *cluster) signingRequests() *Type {
	return c.find(requestsGroup, "certificatesigningrequests")
}

func (r *requests) wants(t *Type) bool { return t == r.typ }
func (r *requests) reset()             {}
func (r *requests) close()             { r.queue.close() }

func (r *requests) observe(_ context.Context, o *observation) {
	if o.typ != r.typ || o.op == store.OpDelete {
		return
	}
	if request, err := readSigningRequest(o.body); err == nil && r.pending(request) {
		_, name := r.typ.split(o.key)
		r.queue.add(strings.Clone(name))
	}
}

func readSigningRequest(body []byte) (*signingRequest, error) {
	r := &signingRequest{}
	return r, json.Unmarshal(body, r)
}

// edit changes the status of a request while the request is as it was judged.
func (r *requests) edit(ctx context.Context, request *signingRequest, subresource string, change func(status document.Value)) error {
	return r.Cluster.Edit(ctx, r.typ.Resource, "", request.Metadata.Name, subresource, func(obj document.Value) {
		var now signingRequest
		text := obj.AppendJSON(nil)
		if json.Unmarshal(text, &now) == nil && now.Metadata.UID == request.Metadata.UID && r.pending(&now) {
			change(obj.SetObject("status"))
		}
	})
}

// addCondition adds a condition to the status of a request.
func addCondition(status document.Value, kind, reason, message string) {
	c := status.SetArray("conditions").AppendObject()
	c.SetString("type", kind)
	c.SetString("status", "True")
	c.SetString("reason", reason)
	c.SetString("message", message)
}

// newApprover is the controller that approves the requests of nodes for their client
// certificates, where the authors have the permission for it.
func newApprover(ctx context.Context, c *cluster) handler {
	var r *requests
	r = newRequests(ctx, c, Approver, (*signingRequest).open, func(ctx context.Context, request *signingRequest, body []byte) error {
		return r.approve(ctx, request, body)
	})
	return r
}

func (r *requests) approve(ctx context.Context, request *signingRequest, body []byte) error {
	parsed, err := signing.ParseRequest(request.Spec.Request)
	if err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	if request.Spec.SignerName != signing.NodeClientSigner || signing.CheckNodeClient(parsed, request.Spec.Usages) != nil {
		return nil
	}
	spec, _ := document.Find(body, "spec")
	for _, way := range []struct{ asks, message string }{
		{"selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."},
		{"nodeclient", "Auto approving kubelet client certificate after SubjectAccessReview."},
	} {
		if way.asks == "selfnodeclient" && parsed.Subject.CommonName != request.Spec.Username {
			continue
		}
		permitted, err := r.Certificates.Permitted(ctx, spec, way.asks)
		if err != nil {
			return err
		}
		if permitted {
			return r.edit(ctx, request, "approval", func(status document.Value) {
				addCondition(status, conditionApproved, "AutoApproved", way.message)
			})
		}
	}
	return errors.New("the author has no permission for the client certificate of a node") // later perhaps
}

// newSigner is the controller that signs approved requests for the built-in signers.
func newSigner(ctx context.Context, c *cluster) handler {
	pending := func(request *signingRequest) bool {
		return request.signable() && signing.BuiltIn(request.Spec.SignerName)
	}
	var r *requests
	r = newRequests(ctx, c, Signer, pending, func(ctx context.Context, request *signingRequest, _ []byte) error {
		return r.sign(ctx, request)
	})
	return r
}

func (r *requests) sign(ctx context.Context, request *signingRequest) error {
	authority := r.Certificates.Authority(request.Spec.SignerName)
	if authority == nil {
		return nil
	}
	spec := &request.Spec
	parsed, err := signing.ParseRequest(spec.Request)
	if err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	if broken := signing.Check(spec.SignerName, parsed, spec.Usages); broken != nil {
		return r.edit(ctx, request, "status", func(status document.Value) {
			addCondition(status, conditionFailed, "SignerValidationFailure", broken.Error())
		})
	}
	certificate, err := authority.Issue(parsed, spec.Usages, signing.Life(spec.ExpirationSeconds, r.Certificates.Longest), r.Now())
	if err != nil {
		r.Logger.Warn("a certificate cannot be signed", "request", request.Metadata.Name, "error", err)
		return err
	}
	return r.edit(ctx, request, "status", func(status document.Value) {
		status.SetString("certificate", base64.StdEncoding.EncodeToString(certificate))
	})
}
