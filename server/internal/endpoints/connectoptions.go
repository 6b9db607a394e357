package endpoints

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// admitConnection runs admission on the options of a connection, before anything is
// connected, and returns them as plug-ins have changed them. The caller releases them.
func (x *Endpoints) admitConnection(r *request.Request) (*document.Document, error) {
	if r.Query.Has("dryRun") {
		return nil, api.BadRequest("dryRun is not supported")
	}
	doc, err := connectionOptions(r)
	if err != nil {
		return nil, err
	}
	connection := objects.NewConnection(r.Target.Ref, objects.Options{User: r.User, Author: r}, doc.Root())
	if err = x.objects.AdmitBody(r.Context, connection); err == nil {
		err = x.objects.CheckBody(r.Context, connection)
	}
	if err != nil {
		doc.Release()
		return nil, err
	}
	return doc, nil
}

// connectionOptions makes the options of a connection, an object of the kind that its
// subresource has, from the query and, for proxies, the rest of the path.
func connectionOptions(r *request.Request) (*document.Document, error) {
	sub := r.Target.Sub
	doc := document.New(sub.Table, sub.Type)
	obj := doc.Root()
	for _, f := range sub.Table.Types[sub.Type].Fields {
		if !r.Query.Has(f.Name) {
			continue
		}
		values := r.Query.Values[f.Name]
		switch of := sub.Table.Types[f.Type]; {
		case of.Kind == schema.Boolean:
			obj.SetBool(f.Name, isTrue(values[0]))
		case of.Kind == schema.String:
			obj.SetString(f.Name, values[0])
		case of.Kind == schema.List && sub.Table.Types[of.Elem].Kind == schema.String:
			setTexts(obj, f.Name, values)
		case of.Kind == schema.List:
			if err := setPorts(obj, f.Name, values); err != nil {
				doc.Release()
				return nil, err
			}
		}
	}
	obj.SetString("kind", sub.Kind)
	version := api.GroupVersion{Group: sub.Group, Version: sub.Version}
	obj.SetString("apiVersion", version.APIVersion())
	if sub.Endpoint.Proxies() {
		obj.SetString("path", proxyPath(r))
	}
	obj.DropZeros()
	return doc, nil
}

// isTrue reads a switch in a query.
func isTrue(text string) bool { return text != "0" && !strings.EqualFold(text, "false") }

// setPorts writes a list of ports, of which a value of the query may have several.
func setPorts(obj document.Value, name string, values []string) error {
	text := []byte{'['}
	for i, one := range strings.Split(strings.Join(values, ","), ",") {
		port, err := strconv.ParseUint(one, 10, 16)
		if err != nil {
			return api.BadRequest("query parameter %s: %q is not a port; write numbers from 0 to 65535 with commas between them", name, one)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendUint(text, port, 10)
	}
	return obj.SetRaw(name, append(text, ']'))
}

// proxyPath is the part of a request's path below the proxy subresource: "/healthz" of
// /api/v1/nodes/n/proxy/healthz.
func proxyPath(r *request.Request) string {
	steps := 5 // api, v1, nodes, n, proxy
	if r.Target.Namespace != "" {
		steps += 2
	}
	below := ""
	if parts := strings.SplitN(strings.TrimPrefix(r.HTTP.URL.Path, "/"), "/", steps+1); len(parts) > steps {
		below = "/" + parts[steps]
	}
	if sent, _, _ := strings.Cut(r.HTTP.RequestURI, "?"); strings.HasSuffix(sent, "/") { // routing drops it
		below += "/"
	}
	return below
}
