package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
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
func (x *Endpoints) evict(r *request.Request) error {
	t := r.Target
	query, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	doc, err := x.receive(r, query, posted{kind: subKind(t), meta: objects.DropSystemFields, admit: x.asContent(r),
		check: func(eviction document.Value) error { return checkEviction(r, query, eviction) }})
	if err != nil {
		return err
	}
	defer doc.Release()
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
		return request.InvalidOptions("DeleteOptions", causes)
	}
	podDoc, err := document.ReadStored(t.Row.GV.Types(), t.Row.Type, entry.Body)
	if err != nil {
		return err
	}
	defer podDoc.Release()
	pod := podDoc.Root()
	guarded := "" // by this budget, which counts other pods only
	if disrupts(pod) {
		budget, err := x.disrupt(r.Context, t.Namespace, pod, opts.DryRun)
		if err != nil {
			return err
		}
		if budget != "" && opts.Revision == nil { // the pod as it is, not one that has become ready
			opts.Revision, guarded = objects.TextAt(pod, "metadata", "resourceVersion"), budget
		}
		if opts.UID == nil {
			opts.UID = objects.TextAt(pod, "metadata", "uid") // the pod that the budget allowed, not a later one
		}
	}
	opts.By, opts.Admitted = r.User, true
	ref := objects.Ref{Row: t.Row, Namespace: t.Namespace, Name: t.Name}
	if err = x.markEvicted(r.Context, ref, pod, &opts); err == nil {
		_, _, err = x.objects.DeleteObject(r.Context, ref, opts)
	}
	if err != nil {
		if guarded != "" && api.IsReason(err, api.ReasonConflict) {
			err = lagging(guarded)
		}
		return err
	}
	return x.env.RespondStatus(r, http.StatusCreated, codec.Success(http.StatusCreated))
}

// markEvicted notes in the status of a pod that an eviction ends it, in releases that say so. A pod that the preconditions of
// the deletion do not mean stays as it is. A precondition on the pod's revision moves on with the pod.
func (x *Endpoints) markEvicted(ctx context.Context, ref objects.Ref, pod document.Value, opts *objects.DeleteOptions) error {
	meta := pod.Get("metadata")
	if opts.DryRun || !x.features.On("PodDisruptionConditions") || opts.UID != nil && !meta.Get("uid").Equals(*opts.UID) ||
		opts.Revision != nil && !meta.Get("resourceVersion").Equals(*opts.Revision) {
		return nil
	}
	out, err := x.objects.Write(ctx, &objects.Write{Ref: ref, Steps: objects.DirectSteps, Change: objects.Editing(func(now document.Value) error {
		if !document.Equal(now.At("metadata", "uid"), meta.Get("uid")) ||
			opts.Revision != nil && !document.Equal(now.At("metadata", "resourceVersion"), meta.Get("resourceVersion")) {
			return api.Conflict(ref.Row.GroupResource(), ref.Name, "the pod has changed since the eviction looked at it; try again")
		}
		x.setPodCondition(now, api.Condition{Type: "DisruptionTarget", Status: "True", Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting"})
		return nil
	})})
	if err == nil && opts.Revision != nil {
		revision := strconv.FormatInt(int64(out.Entry.Revision), 10)
		opts.Revision = &revision
	}
	return err
}

// checkEviction checks the name and the options of an eviction. A dry run by the query is one of its own
// options too, as validating plug-ins see them.
func checkEviction(r *request.Request, query objects.Options, eviction document.Value) error {
	if eviction.At("metadata", "name").Text() != r.Target.Name {
		return api.BadRequest("name in URL does not match name in Eviction object")
	}
	sent := eviction.Get("deleteOptions")
	switch asked, own := r.Query.Values["dryRun"], sent.Get("dryRun").Texts(); {
	case !query.DryRun || !sent.Exists():
	case len(own) == 0:
		setTexts(sent, "dryRun", []string{"All"})
	case !slices.Equal(asked, own):
		return api.BadRequest("Non-matching dry-run options in request and content: %v and %v", asked, own)
	}
	return nil
}

// disrupts reports whether evicting the pod is a disruption: not if it does not run, or is
// being deleted already.
func disrupts(pod document.Value) bool {
	phase := pod.At("status", "phase")
	return !phase.Equals("Pending") && !phase.Equals("Succeeded") && !phase.Equals("Failed") &&
		!pod.At("metadata", "deletionTimestamp").Exists()
}

// disrupt takes one of the evictions that the pod's budget allows; a pod without a budget
// may always be evicted, and so may one that is not ready while the budget has all the ready
// ones that it wants. That budget is returned: it takes no part. Errors: 429 when there is none
// left, 403 and 500 for contradictory budgets.
func (x *Endpoints) disrupt(ctx context.Context, namespace string, pod document.Value, dryRun bool) (apart string, err error) {
	name, satisfied, err := x.budgetOf(ctx, namespace, selector.ReadLabels(pod.At("metadata", "labels")))
	switch {
	case err != nil || name == "":
		return "", err
	case satisfied && !isReady(pod):
		return name, nil
	}
	_, err = x.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: x.budgets(), Namespace: namespace, Name: name}, Opts: objects.Options{DryRun: dryRun},
		Steps: objects.DirectSteps, Change: objects.Editing(func(budget document.Value) error {
			if err := mayDisrupt(budget); err != nil {
				return err
			}
			status := budget.Get("status")
			allowed, _ := status.Get("disruptionsAllowed").Int()
			status.SetInt("disruptionsAllowed", allowed-1)
			if allowed == 1 {
				none := api.Condition{Type: "DisruptionAllowed", Status: "False", Reason: "InsufficientPods"}.Set(status.SetArray("conditions"), x.objects.Now())
				none.SetString("message", "")
				if seen, ok := status.Get("observedGeneration").Int(); ok {
					none.SetInt("observedGeneration", seen)
				}
			}
			// The controller does not count the pod until it has seen its deletion.
			status.SetObject("disruptedPods").SetString(pod.At("metadata", "name").Text(), x.objects.Now())
			return nil
		})})
	return "", err
}

func isReady(pod document.Value) bool {
	return pod.At("status", "conditions").ElementBy("type", "Ready").Get("status").Equals("True")
}

// budgetOf finds the budget that protects a pod with these labels, "" for none, and
// whether there are as many ready pods as it wants.
func (x *Endpoints) budgetOf(ctx context.Context, namespace string, labels selector.Labels) (name string, satisfied bool, err error) {
	reader, err := x.store.At(ctx, 0)
	if err != nil {
		return "", false, err
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
			wanted := figureOf(doc.Root(), "desiredHealthy")
			satisfied = wanted > 0 && figureOf(doc.Root(), "currentHealthy") >= wanted
		}
		return true
	})
	switch {
	case err != nil || failed != nil:
		return "", false, errors.Join(err, failed)
	case len(found) == 0:
		return "", false, nil
	case len(found) > 1:
		return "", false, api.Internal("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
	}
	return found[0], satisfied, nil
}

// figureOf is a number in the status of a budget.
func figureOf(budget document.Value, field string) int64 {
	n, _ := budget.At("status", field).Int()
	return n
}

// overdrawn is the refusal of an eviction.
func overdrawn(retryAfter int, why string) error {
	return &api.Error{Code: http.StatusTooManyRequests, Reason: api.ReasonTooManyRequests, HasDetails: true, RetryAfter: retryAfter,
		Message: "Cannot evict pod as it would violate the pod's disruption budget.", Causes: []api.Cause{{Reason: causeOfDisruption, Message: why}}}
}

// lagging is the refusal while the status of a budget is older than what it counts.
func lagging(budget string) error {
	return overdrawn(budgetRetryAfter, "The disruption budget "+budget+" is still being processed by the server.")
}

// mayDisrupt returns the reason why a budget allows no eviction.
func mayDisrupt(budget document.Value) error {
	name := budget.At("metadata", "name").Text()
	forbid := func(why string) error {
		return api.Forbidden(api.GroupResource{Group: "policy", Resource: "poddisruptionbudget"}, name, why) // in the singular, as in 1.25
	}
	generation, _ := budget.At("metadata", "generation").Int()
	switch allowed := figureOf(budget, "disruptionsAllowed"); {
	case figureOf(budget, "observedGeneration") < generation:
		return lagging(name)
	case allowed < 0:
		return forbid("pdb disruptions allowed is negative")
	case budget.At("status", "disruptedPods").Len() > maxDisruptedPods:
		return forbid("DisruptedPods map too big - too many evictions not confirmed by PDB controller")
	case allowed == 0:
		return overdrawn(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", name, figureOf(budget, "desiredHealthy"),
			figureOf(budget, "currentHealthy")))
	}
	return nil
}

// budgets is the row of disruption budgets.
func (x *Endpoints) budgets() *catalog.Row {
	return x.catalog.Snapshot().Stored("policy", "poddisruptionbudgets")
}
