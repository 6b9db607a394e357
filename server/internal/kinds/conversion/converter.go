package conversion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/internal/webhook"
)

// group has the type of the reviews.
const group = "apiextensions." + profile.GroupSuffix

// timeout bounds a call of a webhook: no request, and no watch, waits longer.
const timeout = 30 * time.Second

// Converter converts the objects of one definition. It implements api.Converter; every
// failure is an answer with the code 500 and the words of 1.25, those of the webhook
// included.
type Converter struct {
	versions map[string]bool // those of the definition, as "group/version"
	review   string          // the version of the reviews: the first wanted one that is known; "" for none
	client   *webhook.Client
	wrong    error // of the webhook's configuration, instead of a client
}

// NewConverter makes a converter from the spec of a definition with the strategy Webhook. It
// connects with the first conversion.
func NewConverter(spec document.Value, services webhook.Resolver) *Converter {
	c := &Converter{versions: map[string]bool{}}
	for _, version := range spec.Get("versions").Elements() {
		c.versions[spec.Get("group").Text()+"/"+version.Get("name").Text()] = true
	}
	hook := spec.At("conversion", "webhook")
	for _, version := range hook.Get("conversionReviewVersions").Elements() {
		if name := version.Text(); c.review == "" && (name == "v1" || name == "v1beta1") {
			c.review = name
		}
	}
	c.client, c.wrong = webhook.New(webhook.TargetOf(hook.Get("clientConfig")), services)
	return c
}

// Close closes the connections when the last call has ended.
func (c *Converter) Close() error {
	if c.client != nil {
		c.client.Close()
	}
	return nil
}

// Convert implements api.Converter, with one call.
func (c *Converter) Convert(ctx context.Context, to *api.Resource, objects [][]byte) ([][]byte, error) {
	sent := make([]*original, 0, len(objects))
	defer func() {
		for _, o := range sent {
			o.doc.Release()
		}
	}()
	for _, text := range objects {
		o, err := readOriginal(text)
		if err != nil {
			return nil, err
		}
		sent = append(sent, o)
		if version := o.apiVersion(); !c.versions[version] {
			return nil, failure("request to convert CR from an invalid group/version: %s", version)
		}
	}
	if len(sent) == 0 {
		return nil, nil
	}
	answer, err := c.ask(ctx, to, objects)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return nil, ctx.Err() // the client has gone
		}
		return nil, sent[0].failed("failed: %v", err)
	}
	if len(answer) != len(objects) {
		return nil, sent[0].failed("returned %d objects, expected %d", len(answer), len(objects))
	}
	made := make([][]byte, len(answer))
	for i, text := range answer {
		if made[i], err = sent[i].restore(text, to.GV.APIVersion()); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// ask sends objects in a review, and returns those of the answer.
func (c *Converter) ask(ctx context.Context, to *api.Resource, objects [][]byte) ([][]byte, error) {
	switch {
	case c.review == "":
		return nil, errors.New("no supported conversion review versions")
	case c.wrong != nil:
		return nil, c.wrong
	}
	r := review{Kind: "ConversionReview", APIVersion: group + "/" + c.review}
	uid := uuid.NewString()
	var body bytes.Buffer
	fmt.Fprintf(&body, `{"kind":%q,"apiVersion":%q,"request":{"uid":%q,"desiredAPIVersion":%q,"objects":[`, r.Kind, r.APIVersion, uid, to.GV.APIVersion())
	for i, text := range objects {
		if i > 0 {
			body.WriteByte(',')
		}
		body.Write(text)
	}
	body.WriteString("]}}")
	ctx, span := tracing.Start(ctx, "Call conversion webhook")
	defer span.End()
	span.Text("desired-api-version", to.GV.APIVersion())
	span.Number("object-count", len(objects))
	span.Text("UID", uid)
	answer, err := c.client.Call(ctx, webhook.Call{Body: body.Bytes(), Timeout: timeout, MaxAnswer: webhook.MaxAnswer + growth*body.Len()})
	if err != nil {
		return nil, err
	}
	return r.read(answer, uid)
}

// growth is how many times longer than the objects an answer may be, in addition to the
// usual bound: a version may write more than another.
const growth = 3

// failure is an error with a message of its own, as 1.25 answers errors of conversions.
func failure(format string, args ...any) error {
	return &api.Error{Code: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...)}
}

// Unreachable stands for all webhooks where no server runs that could call them.
type Unreachable struct{}

// Convert implements api.Converter.
func (Unreachable) Convert(context.Context, *api.Resource, [][]byte) ([][]byte, error) {
	return nil, failure("only a running server calls the conversion webhook: migrate while it runs")
}
