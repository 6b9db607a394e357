package background

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
	"github.com/capstan-dev/capstan/server/internal/kinds/addresses"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// KeepOwnService creates the server's own service, its endpoints and the config map for
// extension servers, and repairs them.
func (c *Controllers) KeepOwnService(ctx context.Context) error {
	ranges, err := addresses.Ranges(c.cfg.ServiceClusterIPRange)
	if err != nil {
		return err
	}
	port, err := c.ownPort(ctx)
	if err != nil {
		return fmt.Errorf("port of service %s: %w", addresses.OwnService, err)
	}
	ports, err := json.Marshal([]any{map[string]any{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}})
	if err != nil {
		return err
	}
	service := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"component":"apiserver","provider":%q}},"spec":{"type":"ClusterIP",
		"clusterIP":%q,"ipFamilyPolicy":"SingleStack","sessionAffinity":"None","ports":%s}}`, addresses.OwnService, profile.MediaTypeWord, allocate.First(ranges[0]), ports)
	err = c.keep(ctx, c.services.Row, "default", addresses.OwnService, service, func(have, want document.Value) {
		have.Get("spec").Put("ports", want.At("spec", "ports"))
	})
	if err != nil {
		return fmt.Errorf("service %s: %w", addresses.OwnService, err)
	}
	address, err := c.advertised(ranges[0])
	if err != nil {
		c.log.Debug("the service of the server has no endpoints", "error", err)
		return nil
	}
	servers, err := c.servers(ctx, address)
	if err != nil {
		return fmt.Errorf("the servers of the cluster: %w", err)
	}
	var ips, ends []string
	for _, server := range servers {
		ips = append(ips, fmt.Sprintf(`{"ip":%q}`, server))
		ends = append(ends, fmt.Sprintf(`{"addresses":[%q],"conditions":{"ready":true}}`, server))
	}
	endpoints := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%q:"true"}},"subsets":[{"addresses":[%s],"ports":[{"name":"https","port":%d,"protocol":"TCP"}]}]}`,
		addresses.OwnService, "endpointslice."+profile.LabelDomain+"/skip-mirror", strings.Join(ips, ","), port)
	if err := c.keepOwn(ctx, "v1", "Endpoints", endpoints, "subsets"); err != nil {
		return err
	}
	slice := fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%q:%q}},"addressType":%q,"endpoints":[%s],
		"ports":[{"name":"https","port":%d,"protocol":"TCP"}]}`, addresses.OwnService, profile.LabelDomain+"/service-name", addresses.OwnService, allocate.Family(address), strings.Join(ends, ","), port)
	if err := c.keepOwn(ctx, "discovery."+profile.GroupSuffix+"/v1", "EndpointSlice", slice, "endpoints", "ports", "addressType"); err != nil {
		return err
	}
	c.portKept.Store(true)
	return nil
}

// ownPort is the port in the server's own service and its endpoints: the one of this server. Servers that share the
// store, with different ports, would correct each other for ever. So each of them corrects the port once, after its
// start, and leaves it as it is afterwards, as kube-apiserver does.
func (c *Controllers) ownPort(ctx context.Context) (int, error) {
	row := c.catalog.Snapshot().Core("endpoints")
	if c.cfg.Sharing == nil || row == nil || !c.portKept.Load() {
		return c.cfg.Port, nil
	}
	entry, err := c.store.Get(ctx, row.Key("default", addresses.OwnService))
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return c.cfg.Port, err
	}
	doc, err := document.ReadStored(row.GV.Types(), row.Type, entry.Body)
	if err != nil {
		return 0, err
	}
	defer doc.Release()
	for _, subset := range doc.Root().Get("subsets").Elements() {
		for _, p := range subset.Get("ports").Elements() {
			if n, ok := p.Get("port").Int(); ok {
				return int(n), nil
			}
		}
	}
	return c.cfg.Port, nil
}

// servers are the addresses of all servers that share the store, with that of this one.
func (c *Controllers) servers(ctx context.Context, own netip.Addr) ([]string, error) {
	row := c.catalog.Snapshot().Core("endpoints")
	if c.cfg.Sharing == nil || row == nil {
		return []string{own.String()}, nil
	}
	doc, err := c.objects.DecodeOwn(row, fmt.Appendf(nil, `{"subsets":[{"addresses":[{"ip":%q}]}]}`, own))
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	v, err := stored.Seal(row, doc.Root(), new(stored.Space))
	if err != nil {
		return nil, err
	}
	return c.cfg.Sharing.Store.Present(ctx, own.String(), v)
}

// keepOwn is keep for an object with the service's name. Labels and members get their
// values from text. A kind that is not served is skipped.
func (c *Controllers) keepOwn(ctx context.Context, apiVersion, kind, text string, members ...string) error {
	res := c.catalog.Snapshot().Kind(apiVersion, kind)
	if res == nil {
		return nil
	}
	err := c.keep(ctx, res, "default", addresses.OwnService, text, func(have, want document.Value) {
		for key, v := range want.At("metadata", "labels").Members() {
			have.Get("metadata").SetObject("labels").Put(key, v)
		}
		for _, name := range members {
			have.Put(name, want.Get(name))
		}
	})
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, addresses.OwnService, err)
	}
	return nil
}

// keep creates an object from text. An existing one is repaired: repair copies the
// required values from want to have.
func (c *Controllers) keep(ctx context.Context, res *catalog.Row, namespace, name, text string, repair func(have, want document.Value)) error {
	entry, err := c.store.Get(ctx, res.Key(namespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return c.provide(ctx, res, bootstrap.Object{Namespace: namespace, Name: name, JSON: []byte(text)})
	}
	if err != nil {
		return err
	}
	want, err := c.objects.DecodeOwn(res, []byte(text))
	if err != nil {
		return err
	}
	defer want.Release()
	doc, err := document.ReadStored(res.GV.Types(), res.Type, entry.Body)
	if err != nil {
		return err
	}
	defer doc.Release()
	if repair(doc.Root(), want.Root()); bytes.Equal(doc.Root().AppendJSON(nil), entry.Body) {
		return nil
	}
	_, err = c.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: res, Namespace: namespace, Name: name},
		Change: objects.Editing(func(obj document.Value) error {
			repair(obj, want.Root())
			return nil
		})})
	if err == nil {
		c.log.Info("mended an object that every cluster has", "kind", res.Kind, "namespace", namespace, "name", name)
	}
	return err
}

// advertised is the address by which clients inside the cluster reach the server: the
// configured one, or the one that it listens on, or one of the machine, of the family of
// the services if there is one. Other machines cannot reach a loopback address.
func (c *Controllers) advertised(services netip.Prefix) (netip.Addr, error) {
	if a, err := netip.ParseAddr(c.cfg.AdvertiseAddress); err == nil {
		return a, nil
	}
	if a, err := netip.ParseAddr(c.cfg.BindAddress); err == nil && !a.IsUnspecified() && !a.IsLoopback() {
		return a.Unmap(), nil
	}
	var other netip.Addr
	for _, text := range pki.MachineAddresses() {
		a, err := netip.ParseAddr(text)
		switch {
		case err != nil:
		case a.Is4() == services.Addr().Is4():
			return a, nil
		default:
			other = a
		}
	}
	if !other.IsValid() {
		return other, errors.New("the machine has loopback addresses only; name one that others reach with --advertise-address")
	}
	return other, nil
}
