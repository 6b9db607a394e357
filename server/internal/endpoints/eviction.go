package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// Limits of a budget's record of evictions, and the seconds after which a client should
// retry when that lags behind.
const (
	maxDisruptedPods  = 2000
	budgetRetryAfter  = 10
	causeOfDisruption = "DisruptionBudget"
)

// evict is POST on a pod's eviction subresource: a delete that the pod's
// disruption budget may refuse.
func (x *Endpoints) evict(r *front.Request) error {
	t := r.Target
	query, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	doc, err := x.front.ReadObject(r, subKind(t), query.Validation)
	if err != nil {
		return err
	}
	defer doc.Release()
	if err := x.admitEviction(r, query, doc.Root()); err != nil {
		return err
	}
	var opts objects.DeleteOptions
	causes := opts.Read(doc.Root().Get("deleteOptions"))
	opts.DryRun = opts.DryRun || query.DryRun

	entry, err := x.store.Get(r.Context, r.Key())
	if errors.Is(err, store.ErrNotFound) {
		return api.NotFound(t.Row.GroupResource(), t.Name)
	}
	if err != nil {
		return err
	}
	if len(causes) > 0 {
		return front.InvalidOptions("DeleteOptions", causes)
	}
	podDoc, err := document.ReadStored(t.Row.GV.Types(), t.Row.Type, entry.Body)
	if err != nil {
		return err
	}
	defer podDoc.Release()
	pod := podDoc.Root()
	if disrupts(pod) {
		if err := x.disrupt(r.Context, t.Namespace, pod, opts.DryRun); err != nil {
			return err
		}
		if opts.UID == nil {
			opts.UID = objects.TextAt(pod, "metadata", "uid") // the pod that the budget allowed, not a later one
		}
	}
	opts.By, opts.Admitted = r.User, true
	if _, _, err := x.objects.DeleteObject(r.Context, objects.Ref{Row: t.Row, Namespace: t.Namespace, Name: t.Name}, opts); err != nil {
		return err
	}
	return x.front.RespondStatus(r, http.StatusCreated, codec.Success(http.StatusCreated))
}

// admitEviction runs admission on an eviction. A dry run by the query is one of its own
// options too, as validating plug-ins see them.
func (x *Endpoints) admitEviction(r *front.Request, query objects.Options, eviction document.Value) error {
	t, meta := r.Target, eviction.SetObject("metadata")
	objects.DropSystemFields(meta)
	if err := objects.MatchNamespace(t.Row, meta, t.Namespace); err != nil {
		return err
	}
	if err := x.ownBody(t, eviction, query); err != nil {
		return err
	}
	body := objects.NewBody(t.Ref, query, eviction)
	if err := x.objects.AdmitContent(r.Context, body); err != nil {
		return err
	}
	if eviction.At("metadata", "name").Text() != t.Name {
		return api.BadRequest("name in URL does not match name in Eviction object")
	}
	if sent := eviction.Get("deleteOptions"); query.DryRun && sent.Exists() && sent.Get("dryRun").Len() == 0 {
		setTexts(sent, "dryRun", []string{"All"})
	}
	return x.objects.CheckBody(r.Context, body)
}

// disrupts reports whether evicting the pod is a disruption: not if it does not run, or is
// being deleted already.
func disrupts(pod document.Value) bool {
	phase := pod.At("status", "phase")
	return !phase.Equals("Pending") && !phase.Equals("Succeeded") && !phase.Equals("Failed") &&
		!pod.At("metadata", "deletionTimestamp").Exists()
}

// disrupt takes one of the evictions that the pod's budget allows; a pod without a budget
// may always be evicted. Errors: 429 when there is none left, 403 and 500 for
// contradictory budgets.
func (x *Endpoints) disrupt(ctx context.Context, namespace string, pod document.Value, dryRun bool) error {
	name, err := x.budgetOf(ctx, namespace, selector.ReadLabels(pod.At("metadata", "labels")))
	if err != nil || name == "" {
		return err
	}
	_, err = x.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: x.budgets(), Namespace: namespace, Name: name}, Opts: objects.Options{DryRun: dryRun}, Steps: objects.DirectSteps, Change: objects.Editing(func(budget document.Value) error {
		if err := mayDisrupt(budget); err != nil {
			return err
		}
		status := budget.Get("status")
		allowed, _ := status.Get("disruptionsAllowed").Int()
		status.SetInt("disruptionsAllowed", allowed-1)
		// The controller does not count the pod until it has seen its deletion.
		status.SetObject("disruptedPods").SetString(pod.At("metadata", "name").Text(), x.objects.Now())
		return nil
	})})
	return err
}

// budgetOf finds the budget that protects a pod with these labels; "" for none.
func (x *Endpoints) budgetOf(ctx context.Context, namespace string, labels selector.Labels) (string, error) {
	reader, err := x.store.At(ctx, 0)
	if err != nil {
		return "", err
	}
	defer reader.Close()
	var found []string
	var failed error
	err = reader.Scan(ctx, x.budgets().Prefix(namespace), "", func(e *store.Entry) bool {
		doc, err := document.ReadStored(x.budgets().GV.Types(), x.budgets().Type, e.Body)
		if failed = err; failed != nil {
			return false
		}
		defer doc.Release()
		if sel := doc.Root().At("spec", "selector"); sel.Exists() && selector.ReadRequirements(sel).Match(labels) {
			_, name := x.budgets().SplitKey(strings.Clone(e.Key))
			found = append(found, name)
		}
		return true
	})
	switch {
	case err != nil || failed != nil:
		return "", errors.Join(err, failed)
	case len(found) == 0:
		return "", nil
	case len(found) > 1:
		return "", api.Internal("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
	}
	return found[0], nil
}

// mayDisrupt returns the reason why a budget allows no eviction.
func mayDisrupt(budget document.Value) error {
	name := budget.At("metadata", "name").Text()
	status := budget.Get("status")
	figure := func(field string) int64 { n, _ := status.Get(field).Int(); return n }
	refuse := func(retryAfter int, why string) error {
		return &api.Error{Code: http.StatusTooManyRequests, Reason: api.ReasonTooManyRequests, HasDetails: true, RetryAfter: retryAfter,
			Message: "Cannot evict pod as it would violate the pod's disruption budget.", Causes: []api.Cause{{Reason: causeOfDisruption, Message: why}}}
	}
	forbid := func(why string) error {
		return api.Forbidden(api.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}, name, why)
	}
	generation, _ := budget.At("metadata", "generation").Int()
	switch allowed := figure("disruptionsAllowed"); {
	case figure("observedGeneration") < generation:
		return refuse(budgetRetryAfter, "The disruption budget "+name+" is still being processed by the server.")
	case allowed < 0:
		return forbid("pdb disruptions allowed is negative")
	case status.Get("disruptedPods").Len() > maxDisruptedPods:
		return forbid("DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case allowed == 0:
		return refuse(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", name, figure("desiredHealthy"), figure("currentHealthy")))
	}
	return nil
}

// budgets is the row of disruption budgets.
func (x *Endpoints) budgets() *catalog.Row {
	return x.catalog.Snapshot().Stored("policy", "poddisruptionbudgets")
}
