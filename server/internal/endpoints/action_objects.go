package endpoints

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// The code of an action reads and writes stored objects as the server's own steps do: the right to the action is
// that to what its code does. The rules of each kind, admission and quotas hold for its writes as for all.

// ref is the target of a read or a write of a call. A call in a namespace stays in it: a name that comes from its body
// leads to no other one.
func (c *actionCall) ref(of api.ActionObject) (objects.Ref, error) {
	if of == c.Itself() && c.target.Sub != nil {
		return c.target, nil
	}
	row := c.catalog.Snapshot().Kind(of.APIVersion, of.Kind)
	switch {
	case row == nil || row.Off || !row.Stored || row.Definition != nil:
		return objects.Ref{}, fmt.Errorf("the action %s asks for objects of %s %s, which this server does not store", actionName(c.target), of.APIVersion, of.Kind)
	case !row.Namespaced:
		of.Namespace = ""
	case c.target.Namespace != "" && of.Namespace != c.target.Namespace:
		return objects.Ref{}, fmt.Errorf("the action %s, called in the namespace %s, asks for %s in the namespace %q", actionName(c.target), c.target.Namespace,
			row.Plural, of.Namespace)
	}
	return objects.Whole(row, of.Namespace, of.Name), nil
}

// named is ref for one object, with its method begun: under.Done has to be called.
func (c *actionCall) named(of api.ActionObject, writes bool) (objects.Ref, error) {
	t, err := c.ref(of)
	switch {
	case err != nil:
		return t, err
	case writes && !c.target.Action().Writes:
		return t, errors.New("the action only reads, as its document says")
	case of.Name == "" || t.Row.Namespaced && t.Namespace == "":
		return t, fmt.Errorf("the action %s names no object of %s: the name or the namespace is empty", actionName(c.target), t.Row.Plural)
	}
	return t, c.enter()
}

// Get implements api.ActionCall.
func (c *actionCall) Get(ctx context.Context, of api.ActionObject) ([]byte, error) {
	t, err := c.named(of, false)
	if err != nil {
		return nil, err
	}
	defer c.under.Done()
	doc, err := c.objects.Reader.In(ctx, t.Row, t.Namespace, t.Name)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	return doc.Root().AppendJSON(nil), nil
}

// pageBytes is the length of the texts of a page of objects.
const pageBytes = 1 << 20

// Page implements api.ActionCall.
func (c *actionCall) Page(ctx context.Context, of api.ActionObject, after api.ActionPage) (page api.ActionPage, err error) {
	t, err := c.ref(of)
	if err == nil {
		err = c.enter()
	}
	if err != nil {
		return page, err
	}
	defer c.under.Done()
	page.Objects, page.Next, page.Revision, err = c.objects.Reader.PageIn(ctx, t.Row, t.Namespace, after.Next, after.Revision, pageBytes)
	return page, err
}

// Create implements api.ActionCall.
func (c *actionCall) Create(ctx context.Context, of api.ActionObject, object []byte) ([]byte, error) {
	of.Name = "-" // that of the new object is in its metadata, or generated
	t, err := c.named(of, true)
	if err != nil {
		return nil, err
	}
	defer c.under.Done()
	t.Sub, t.Name = nil, ""
	decode := func() (*document.Document, error) { return c.objects.DecodeOwn(t.Row, object) }
	return c.write(ctx, &objects.Write{Ref: t, Opts: c.opts, Change: objects.NewObject(nil, decode), Creates: true})
}

// Update implements api.ActionCall.
func (c *actionCall) Update(ctx context.Context, of api.ActionObject, change func(object []byte) ([]byte, error)) ([]byte, error) {
	t, err := c.named(of, true)
	if err != nil {
		return nil, err
	}
	defer c.under.Done()
	return c.write(ctx, &objects.Write{Ref: t, Opts: c.opts, Change: func(e *objects.Evaluation) (document.Value, error) {
		if e.Shown == nil {
			return document.Value{}, api.NotFound(e.Row.GroupResource(), e.Name)
		}
		now := slices.Clone(e.Shown.Body)
		text, err := c.apart(func() ([]byte, error) { return change(now) })
		if err != nil {
			return document.Value{}, err
		}
		doc, err := c.objects.DecodeOwn(e.Row, text)
		if err != nil {
			return document.Value{}, err
		}
		return e.Keep(doc), nil
	}})
}

func (c *actionCall) write(ctx context.Context, w *objects.Write) ([]byte, error) {
	out, err := c.objects.Write(ctx, w)
	if err != nil {
		return nil, err
	}
	return stored.Served(ctx, w.Row.Resource, out.Body)
}

// Delete implements api.ActionCall.
func (c *actionCall) Delete(ctx context.Context, of api.ActionObject) error {
	t, err := c.named(of, true)
	if err != nil {
		return err
	}
	defer c.under.Done()
	if err := objects.CheckProtected(t.Row.Resource, t.Name); err != nil {
		return err
	}
	_, _, err = c.objects.DeleteObject(ctx, objects.Ref{Row: t.Row, Namespace: t.Namespace, Name: t.Name},
		objects.DeleteOptions{DryRun: c.opts.DryRun, By: c.opts.User, Author: c.opts.Author})
	return err
}
