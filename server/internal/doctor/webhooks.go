package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// dialLimit bounds an attempt to reach a webhook.
const dialLimit = 3 * time.Second

// place is where a webhook is: a URL, or a service.
type place struct {
	URL      string
	CABundle string
	Service  *struct {
		Namespace, Name string
		Port            int
	}
}

// webhook is the part of a webhook's configuration that is looked at.
type webhook struct {
	Name          string
	FailurePolicy string
	ClientConfig  place
}

// checkWebhooks tries to reach all webhooks that objects name.
func checkWebhooks(ctx context.Context, _ *Subject, server *client.REST) []Finding {
	return append(checkAdmission(ctx, server), checkConversion(ctx, server)...)
}

// checkAdmission tries to reach the webhooks of admission, from this machine: by their service's endpoints,
// or by their URL.
func checkAdmission(ctx context.Context, server *client.REST) (all []Finding) {
	for _, plural := range []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"} {
		var list struct {
			Items []struct {
				Metadata struct{ Name string }
				Webhooks []webhook
			}
		}
		all = append(all, read(ctx, server, "/apis/admissionregistration."+profile.GroupSuffix+"/v1/"+plural, &list)...)
		for _, configuration := range list.Items {
			for _, w := range configuration.Webhooks {
				err := w.ClientConfig.reach(ctx, server)
				if err == nil {
					continue
				}
				f := warning("start it, or delete its configuration: kubectl delete "+plural+" "+configuration.Metadata.Name,
					"the webhook %s (%s) cannot be reached from here: %v", w.Name, configuration.Metadata.Name, err)
				if w.FailurePolicy != "Ignore" { // then what it reviews cannot be written
					f.Severity = Problem
				}
				all = append(all, f)
			}
		}
	}
	return all
}

// conversion is the part of a custom resource definition that names its webhook.
type conversion struct {
	Metadata struct{ Name string }
	Spec     struct {
		Versions   []struct{ Name string }
		Conversion struct {
			Strategy string
			Webhook  struct{ ClientConfig place }
		}
	}
}

// checkConversion tries to reach the webhooks that convert custom objects. Without its webhook a kind can be read and
// written in the version in which its objects are stored, and in no other.
func checkConversion(ctx context.Context, server *client.REST) []Finding {
	var list struct{ Items []conversion }
	all := read(ctx, server, "/apis/apiextensions."+profile.GroupSuffix+"/v1/customresourcedefinitions", &list)
	for i := range list.Items {
		d := &list.Items[i]
		if d.Spec.Conversion.Strategy != "Webhook" {
			continue
		}
		err := d.Spec.Conversion.Webhook.ClientConfig.reach(ctx, server)
		if err == nil {
			continue
		}
		f := problem("start it; objects can be read and written only in the version in which they are stored until then",
			"the webhook that converts %s cannot be reached from here: %v", d.Metadata.Name, err)
		if len(d.Spec.Versions) == 1 {
			f.Severity = Warning
			f.Remedy = "start it, or set spec.conversion.strategy to None: with one version there is nothing to convert"
		}
		all = append(all, f)
	}
	return all
}

// reach connects to the webhook as the server does.
func (w *place) reach(ctx context.Context, server *client.REST) error {
	address, name := "", ""
	if s := w.Service; s != nil {
		var err error
		if address, err = endpointOf(ctx, server, s.Namespace, s.Name, cmp.Or(s.Port, 443)); err != nil {
			return err
		}
		name = s.Name + "." + s.Namespace + ".svc"
	} else {
		u, err := url.Parse(w.URL)
		if err != nil {
			return err
		}
		name = u.Hostname()
		if address = u.Host; u.Port() == "" {
			address = net.JoinHostPort(name, "443")
		}
	}
	config := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if w.CABundle != "" {
		text, err := base64.StdEncoding.DecodeString(w.CABundle)
		if err != nil {
			return fmt.Errorf("its caBundle is not in base64: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return fmt.Errorf("its caBundle has no certificate")
		}
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialLimit}, Config: config}
	limited, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	conn, err := dialer.DialContext(limited, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// endpointOf is an address of a ready endpoint of a service's port.
func endpointOf(ctx context.Context, server *client.REST, namespace, name string, port int) (string, error) {
	var service struct {
		Spec struct {
			Ports []struct {
				Name string
				Port int
			}
		}
	}
	path := "/api/v1/namespaces/" + url.PathEscape(namespace)
	if all := read(ctx, server, path+"/services/"+url.PathEscape(name), &service); len(all) > 0 || len(service.Spec.Ports) == 0 {
		return "", fmt.Errorf("there is no service %s in the namespace %s", name, namespace)
	}
	called := ""
	for _, p := range service.Spec.Ports {
		if p.Port == port {
			called = p.Name
		}
	}
	var endpoints struct {
		Subsets []struct {
			Addresses []struct{ IP string }
			Ports     []struct {
				Name string
				Port int
			}
		}
	}
	read(ctx, server, path+"/endpoints/"+url.PathEscape(name), &endpoints)
	for _, s := range endpoints.Subsets {
		for _, p := range s.Ports {
			if p.Name == called && len(s.Addresses) > 0 {
				return net.JoinHostPort(s.Addresses[0].IP, strconv.Itoa(p.Port)), nil
			}
		}
	}
	return "", fmt.Errorf("the service %s in the namespace %s has no ready endpoint: no pod of it runs", name, namespace)
}
