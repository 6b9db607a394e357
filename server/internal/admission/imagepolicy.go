package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/webhook"
)

// ImagePolicy is the configuration of the plug-in ImagePolicyWebhook.
type ImagePolicy struct {
	Kubeconfig          string        // the client configuration for the webhook; "" when the plug-in is not configured
	Allowed, Denied     time.Duration // for which an answer counts
	Retry               time.Duration // before the second attempt of a call
	AllowedWhileFailing bool
}

// imageReviewer asks the webhook that knows which images may run.
type imageReviewer struct {
	ImagePolicy
	webhook webhook.Caller
	answers *authn.Cache[imageAnswer]
}

// imageAnswer is an answer of the webhook until a time.
type imageAnswer struct {
	Allowed     bool              `json:"allowed"`
	Reason      string            `json:"reason,omitempty"`
	Annotations map[string]string `json:"auditAnnotations,omitempty"`

	until time.Time
}

type imageReview struct {
	Kind       string      `json:"kind"`
	APIVersion string      `json:"apiVersion"`
	Spec       imageSpec   `json:"spec"`
	Status     imageAnswer `json:"status"`
}

type imageSpec struct {
	Containers  []imageContainer  `json:"containers,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
}

type imageContainer struct {
	Image string `json:"image,omitempty"`
}

const (
	imagePolicy        = "image-policy." + profile.GroupSuffix + "/"
	imagePolicyTimeout = 30 * time.Second
	mostImageSpec      = 10000 // bytes of a question whose answer is kept
)

// awaitsImages reports whether the webhook may be asked about a write.
func awaitsImages(_ *Chain, o Operation, resource *api.Resource, subresource string) bool {
	return (o == Create || o == Update) && (subresource == "" || subresource == judgedSubresource) && resource.GV.Group == "" && resource.Plural == "pods"
}

// reviewImages asks the webhook about the images of a pod.
func (c *Chain) reviewImages(ctx context.Context, r *Request) error {
	if !awaitsImages(c, r.Operation, r.Resource, r.Subresource) {
		return nil
	}
	lists := []string{"containers", "initContainers"}
	if r.Subresource != "" {
		lists = []string{judgedContainers}
	}
	asked := imageSpec{Namespace: r.Namespace, Annotations: map[string]string{}}
	for container := range containersOf(r.Object.Get("spec"), lists...) {
		asked.Containers = append(asked.Containers, imageContainer{container.Get("image").Text()})
	}
	for key, v := range r.Object.At("metadata", "annotations").Members() {
		if strings.Contains(key, "."+imagePolicy) {
			asked.Annotations[key] = v.Text()
		}
	}
	answer, err := c.images.review(ctx, asked)
	switch {
	case err != nil && c.images.AllowedWhileFailing:
		r.Annotate("imagepolicywebhook."+imagePolicy+"failed-open", "true")
		r.Object.SetObject("metadata").SetObject("annotations").SetString("alpha."+imagePolicy+"failed-open", "true")
		return nil
	case err != nil:
		return r.forbidf("%v", err)
	}
	for key, value := range answer.Annotations {
		r.Annotate("imagepolicywebhook."+imagePolicy+key, value)
	}
	switch {
	case answer.Allowed:
		return nil
	case answer.Reason != "":
		return r.forbidf("image policy webhook backend denied one or more images: %s", answer.Reason)
	}
	return r.forbidf("one or more images rejected by webhook backend")
}

// review returns the webhook's answer, or the one that still counts.
func (v *imageReviewer) review(ctx context.Context, asked imageSpec) (answer imageAnswer, err error) {
	key, err := json.Marshal(asked)
	if err != nil {
		return answer, err
	}
	now := time.Now()
	if answer, ok := v.answers.Get(string(key)); ok && now.Before(answer.until) {
		return answer, nil
	}
	review := imageReview{Kind: "ImageReview", APIVersion: "imagepolicy." + profile.GroupSuffix + "/v1alpha1", Spec: asked}
	body, err := json.Marshal(review)
	if err != nil {
		return answer, err
	}
	text, err := webhook.Insist(ctx, v.webhook, webhook.Call{Body: body, Timeout: imagePolicyTimeout}, v.Retry)
	if err != nil {
		return answer, err
	}
	var got imageReview
	if err := json.Unmarshal(text, &got); err != nil || got.Kind != review.Kind || got.APIVersion != review.APIVersion {
		return answer, errors.New("the answer of the webhook is not an ImageReview")
	}
	life := v.Denied
	if got.Status.Allowed {
		life = v.Allowed
	}
	if got.Status.until = now.Add(life); len(key) < mostImageSpec {
		v.answers.Put(string(key), got.Status)
	}
	return got.Status, nil
}

// period reads a time of the configuration, in units: 0 for the usual one, -1 for none.
func period(n int64, unit, least, most, usual time.Duration) (time.Duration, error) {
	switch d := time.Duration(n) * unit; {
	case n == 0:
		return usual, nil
	case n == -1:
		return 0, nil
	case n < 0 || n > int64(most/unit) || d < least:
		return 0, fmt.Errorf("valid value is between %v and %v, got %v", least, most, n)
	default:
		return d, nil
	}
}
