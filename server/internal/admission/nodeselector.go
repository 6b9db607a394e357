package admission

import (
	"context"
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

const (
	selectorAnnotation = "scheduler.alpha." + profile.LabelDomain + "/node-selector"
	usualSelector      = "clusterDefaultNodeSelector" // among the namespaces of the configuration
)

// selectNodes gives a new pod the node selector of its namespace.
func (c *Chain) selectNodes(ctx context.Context, r *Request) error {
	if r.Operation != Create || !r.is("", "pods") {
		return nil
	}
	_, wanted, err := c.selectors(r)
	if err != nil {
		return err
	}
	if len(wanted) > 0 {
		own := r.Object.Get("spec").SetObject("nodeSelector")
		for key, value := range wanted {
			own.SetString(key, value)
		}
	}
	return c.checkSelector(ctx, r)
}

// checkSelector refuses a new pod that selects other nodes than its namespace may use.
func (c *Chain) checkSelector(_ context.Context, r *Request) error {
	if r.Operation != Create || !r.is("", "pods") {
		return nil
	}
	own, _, err := c.selectors(r)
	if err != nil {
		return err
	}
	allowed, err := parseSelector(c.config.Settings.NodeSelectors[r.Namespace])
	if err != nil {
		return forbidSelector(r, err.Error())
	}
	for key, v := range own.Members() {
		if value, ok := allowed[key]; len(allowed) > 0 && (!ok || value != v.Text()) {
			return forbidSelector(r, "pod node label selector labels conflict with its namespace whitelist")
		}
	}
	return nil
}

// forbidSelector refuses a pod, without a name if that is yet to be generated.
func forbidSelector(r *Request, why string) error {
	return api.Forbidden(r.Resource.GroupResource(), r.Name, why)
}

// selectors are the node selector of a pod and that of its namespace. Errors: they have
// different values for a label.
func (c *Chain) selectors(r *Request) (own document.Value, wanted map[string]string, err error) {
	if wanted, err = c.namespaceSelector(r); err != nil {
		return own, nil, err
	}
	own = r.Object.At("spec", "nodeSelector")
	for key, v := range own.Members() {
		if value, ok := wanted[key]; ok && value != v.Text() {
			return own, nil, forbidSelector(r, "pod node label selector conflicts with its namespace node label selector")
		}
	}
	return own, wanted, nil
}

// namespaceSelector is the node selector of the pod's namespace, or the cluster's where it
// has none.
func (c *Chain) namespaceSelector(r *Request) (map[string]string, error) {
	text := c.config.Settings.NodeSelectors[usualSelector]
	if ns := c.objects.Namespace(r.Namespace); ns != nil && ns.Annotations[selectorAnnotation] != nil {
		text = *ns.Annotations[selectorAnnotation]
	}
	selector, err := parseSelector(text)
	if err != nil {
		return nil, forbidSelector(r, err.Error())
	}
	return selector, nil
}

// parseSelector reads "key=value,key=value".
func parseSelector(text string) (map[string]string, error) {
	if text == "" {
		return nil, nil
	}
	selector := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || strings.Contains(value, "=") {
			return nil, fmt.Errorf("invalid selector: %s", strings.Split(part, "="))
		}
		if wrong := append(document.CheckFormat("qualified-name", key), document.CheckFormat("label-value", value)...); wrong != nil {
			return nil, fmt.Errorf("invalid selector: [%s]: %s", part, strings.Join(wrong, "; "))
		}
		selector[key] = value
	}
	return selector, nil
}
