package policies

import (
	"context"
	"errors"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// mostParams bounds the parameters of a binding that are read at a time.
const mostParams = 10_000

// about is the version in which a policy sees a write, nil if it is not for it, and the
// resource of the policy's parameters. Errors: the policy cannot be applied.
func (p *Policies) about(ctx context.Context, of *policy, subject *matching.Subject) (in *api.Resource, row *catalog.Row, err error) {
	if in, err = subject.Match(ctx, &of.constraints); err == nil && in != nil {
		row, err = p.paramRow(of)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("failed to configure policy: %w", err)
	}
	return in, row, nil
}

// paramRow is the resource of a policy's parameters; nil for a policy without.
func (p *Policies) paramRow(of *policy) (*catalog.Row, error) {
	if of.params == nil {
		return nil, nil
	}
	row := p.cfg.Matcher.Catalog.Snapshot().Kind(of.params.apiVersion, of.params.kind)
	if row == nil || !row.Stored {
		return nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", of.params)
	}
	return row, nil
}

// collect reads the parameters of a binding for a write in a namespace, each of which the
// policy is evaluated with: nothing once where there are none to read.
func (p *Policies) collect(ctx context.Context, row *catalog.Row, ref *paramRef, namespace string) (params []document.Value, release func(), err error) {
	var docs []*document.Document
	release = func() {
		for _, doc := range docs {
			doc.Release()
		}
	}
	if row == nil || ref == nil {
		return []document.Value{{}}, release, nil
	}
	switch {
	case !row.Namespaced && ref.namespace != "":
		return nil, release, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !row.Namespaced:
		namespace = ""
	case ref.namespace != "":
		namespace = ref.namespace
	case namespace == "":
		return nil, release, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	if ref.byLabels {
		docs, err = p.labelled(ctx, row, ref, namespace)
	} else {
		var doc *document.Document
		if doc, err = p.cfg.Objects.In(ctx, row, namespace, ref.name); err == nil {
			docs = append(docs, doc)
		}
		if known := (*api.Error)(nil); errors.As(err, &known) && known.Reason == api.ReasonNotFound {
			err = nil
		}
	}
	if err == nil && len(docs) == 0 && ref.needed {
		err = errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	for _, doc := range docs {
		params = append(params, doc.Root())
	}
	return params, release, err
}

// labelled reads the parameters with the labels of a reference.
func (p *Policies) labelled(ctx context.Context, row *catalog.Row, ref *paramRef, namespace string) (docs []*document.Document, err error) {
	var failed error
	err = p.cfg.Objects.EachIn(ctx, row, namespace, func(obj document.Value) bool {
		if !ref.labels.Match(selector.ReadLabels(obj.At("metadata", "labels"))) {
			return true
		}
		if len(docs) == mostParams {
			failed = fmt.Errorf("more than %d parameters are selected", mostParams)
			return false
		}
		doc, err := document.DecodeAny(obj.AppendJSON(nil), document.Limits{})
		if err != nil {
			failed = err
			return false
		}
		docs = append(docs, doc)
		return true
	})
	return docs, errors.Join(err, failed)
}
