package webhooks

import (
	"strings"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/webhook"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// configuration is the webhooks of one configuration object.
type configuration struct{ hooks []*hook }

// hook is one webhook of a configuration. It never changes.
type hook struct {
	name, configuration string
	constraints         matching.Constraints
	conditions          *matching.Conditions
	ignoresFailures     bool
	mutating            bool
	again               bool   // it wants to see later changes
	dryRun              bool   // it may be called for a dry run
	review              string // the version of the reviews: the first wanted one that is known; "" for none
	timeout             time.Duration
	connect             func() (*webhook.Client, error) // once
}

// read is the decoder of configurations.
func read(resolver webhook.Resolver, logins *webhook.Logins, mutating bool) func(obj document.Value) *configuration {
	return func(obj document.Value) *configuration {
		c := &configuration{}
		for _, v := range obj.Get("webhooks").Elements() {
			h := readHook(v, resolver, logins)
			h.configuration = strings.Clone(obj.At("metadata", "name").Text())
			h.mutating, h.again = mutating, v.Get("reinvocationPolicy").Equals("IfNeeded")
			h.conditions = matching.ReadConditions(v.Get("matchConditions"), false, metrics.Conditions{Name: h.name, Kind: "webhook", Type: h.kind()})
			c.hooks = append(c.hooks, h)
		}
		return c
	}
}

// kind is the kind of the webhook in metrics.
func (h *hook) kind() string {
	if h.mutating {
		return "admit"
	}
	return "validating"
}

func readHook(v document.Value, resolver webhook.Resolver, logins *webhook.Logins) *hook {
	h := &hook{
		name:            strings.Clone(v.Get("name").Text()),
		constraints:     matching.Read(v, "rules", ""),
		ignoresFailures: v.Get("failurePolicy").Equals("Ignore"),
		dryRun:          v.Get("sideEffects").Equals("None") || v.Get("sideEffects").Equals("NoneOnDryRun"),
		timeout:         defaultTimeout,
	}
	if seconds, ok := v.Get("timeoutSeconds").Int(); ok {
		h.timeout = time.Duration(seconds) * time.Second
	}
	for _, version := range v.Get("admissionReviewVersions").Texts() {
		if h.review == "" && (version == "v1" || version == "v1beta1") {
			h.review = version
		}
	}
	target := webhook.TargetOf(v.Get("clientConfig"))
	target.Credentials = logins.Of(target)
	h.connect = sync.OnceValues(func() (*webhook.Client, error) { return webhook.New(target, resolver) })
	return h
}

// defaultTimeout is that of a webhook without timeoutSeconds.
const defaultTimeout = 10 * time.Second

// close closes the connections of a configuration that is not in effect any more, when
// their last calls end.
func (c *configuration) close() {
	for _, h := range c.hooks {
		if client, err := h.connect(); err == nil {
			client.Close()
		}
	}
}
