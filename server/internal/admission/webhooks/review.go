package webhooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
)

// reviewGroup has the type of the reviews.
const reviewGroup = "admission." + profile.GroupSuffix

// ask makes the question about a write for a webhook that knows the version of a row.
func ask(ctx context.Context, r *admission.Request, in *api.Resource) (*matching.Question, error) {
	seen, err := matching.See(ctx, r, in)
	if err != nil {
		return nil, err
	}
	defer seen.Release()
	q := matching.Ask(r, in)
	q.UID, q.Object, q.OldObject = uuid.NewString(), textOf(seen.Object), textOf(seen.Old)
	return q, nil
}

func textOf(obj document.Value) []byte {
	if !obj.Exists() {
		return []byte("null")
	}
	return obj.AppendJSON(nil)
}

// reviewText is the review with the question. The objects, which may be large, are not
// read again.
func reviewText(q *matching.Question, version string) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(len(q.Object) + len(q.OldObject) + 1024)
	fmt.Fprintf(&b, `{"kind":"AdmissionReview","apiVersion":"%s/%s","request":{"object":`, reviewGroup, version)
	b.Write(q.Object)
	b.WriteString(`,"oldObject":`)
	b.Write(q.OldObject)
	at := b.Len()
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(q); err != nil {
		return nil, err
	}
	b.Bytes()[at] = ',' // for the brace of the question
	b.WriteByte('}')
	return b.Bytes(), nil
}

// answer is the response of a review.
type answer struct {
	UID       string   `json:"uid"`
	Allowed   bool     `json:"allowed"`
	Status    *status  `json:"status"`
	Patch     []byte   `json:"patch"`
	PatchType *string  `json:"patchType"`
	Warnings  []string `json:"warnings"`

	AuditAnnotations map[string]string `json:"auditAnnotations"`
}

// status is the explanation of a refusal.
type status struct {
	Message string     `json:"message"`
	Reason  api.Reason `json:"reason"`
	Code    int32      `json:"code"`
	Details *struct {
		Name, Group, Kind, UID string
		Causes                 []struct{ Reason, Message, Field string }
		RetryAfterSeconds      int32
	} `json:"details"`
}

// readAnswer reads the answer to a question. In v1beta1 its kind and uid do not matter.
func readAnswer(text []byte, version, uid string, mutating bool) (*answer, error) {
	var r struct {
		Kind       string  `json:"kind"`
		APIVersion string  `json:"apiVersion"`
		Response   *answer `json:"response"`
	}
	syntax := (*json.SyntaxError)(nil)
	switch err := json.Unmarshal(text, &r); {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	case err != nil:
		return nil, err
	}
	strict := version == "v1"
	switch a := r.Response; {
	case a == nil:
		return nil, invalid(errors.New("webhook response was absent"))
	case strict && a.UID != uid:
		return nil, invalid(fmt.Errorf("expected response.uid=%q, got %q", uid, a.UID))
	case strict && (r.Kind != "AdmissionReview" || r.APIVersion != reviewGroup+"/v1"):
		return nil, invalid(fmt.Errorf("expected webhook response of %s/v1, Kind=AdmissionReview, got %s, Kind=%s", reviewGroup, cmp.Or(r.APIVersion, "/"), r.Kind))
	}
	return r.Response, r.Response.checkPatch(strict, mutating)
}

// checkPatch checks the patch of an answer. In v1beta1 its type does not matter.
func (a *answer) checkPatch(strict, mutating bool) error {
	switch {
	case !mutating && strict && len(a.Patch) > 0:
		return invalid(errors.New("validating webhook may not return response.patch"))
	case !mutating && strict && a.PatchType != nil:
		return invalid(errors.New("validating webhook may not return response.patchType"))
	case !mutating || !strict:
		return nil
	case len(a.Patch) > 0 && a.PatchType == nil:
		return invalid(errors.New("webhook returned response.patch but not response.patchType"))
	case len(a.Patch) == 0 && a.PatchType != nil:
		return invalid(errors.New("webhook returned response.patchType but not response.patch"))
	case len(a.Patch) > 0 && *a.PatchType == "":
		return invalid(errors.New(`webhook returned invalid response.patchType of ""`))
	case len(a.Patch) > 0 && *a.PatchType != "JSONPatch":
		var operations []json.RawMessage // a patch that is none is not a failed call, as in 1.25
		if json.Unmarshal(a.Patch, &operations) == nil && len(operations) > 0 {
			return fmt.Errorf("unsupported patch type %q", *a.PatchType)
		}
	}
	return nil
}

// invalidAnswer is the error about an answer that could be read.
type invalidAnswer struct{ error }

func invalid(err error) error { return invalidAnswer{err} }
