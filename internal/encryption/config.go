package encryption

import (
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/configfile"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// configText is a configuration file.
type configText struct {
	Resources []struct {
		Resources []string       `yaml:"resources"`
		Providers []providerText `yaml:"providers"`
	} `yaml:"resources"`
}

type providerText struct {
	AESGCM    *keysText    `yaml:"aesgcm"`
	AESCBC    *keysText    `yaml:"aescbc"`
	Secretbox *keysText    `yaml:"secretbox"`
	Identity  *yaml.Node   `yaml:"identity"`
	KMS       *serviceText `yaml:"kms"`
}

type keysText struct {
	Keys []struct {
		Name   string `yaml:"name"`
		Secret string `yaml:"secret"`
	} `yaml:"keys"`
}

type serviceText struct {
	APIVersion string         `yaml:"apiVersion"`
	Name       string         `yaml:"name"`
	CacheSize  *int           `yaml:"cachesize"`
	Endpoint   string         `yaml:"endpoint"`
	Timeout    *time.Duration `yaml:"timeout"`
}

// Read reads a configuration; nil for the path "". resource splits a key of the store.
// Errors begin with file and line, and never hold a secret.
func Read(path string, resource func(key string) (group, plural string, ok bool)) (*Cipher, error) {
	if path == "" {
		return nil, nil
	}
	c := &Cipher{path: path, resource: resource}
	now, err := c.read()
	if err != nil {
		return nil, err
	}
	c.now.Store(now)
	return c, nil
}

// read reads the file.
func (c *Cipher) read() (*configuration, error) {
	var text configText
	file, err := configfile.Load(c.path, &text, "EncryptionConfiguration", "apiserver.config."+profile.GroupSuffix+"/v1")
	if err != nil {
		return nil, err
	}
	if len(text.Resources) == 0 {
		return nil, file.Wrong("resources: name at least one")
	}
	next := &configuration{}
	for i, r := range text.Resources {
		at := file.At("resources", i)
		if len(r.Resources) == 0 || len(r.Providers) == 0 {
			return nil, at.Wrong("resources and providers: name at least one of each")
		}
		in := set{resources: r.Resources}
		for k, name := range r.Resources {
			if name == "" || name == "*" || strings.Contains(name, "/") || strings.Contains(name[1:], "*") && name != "*.*" {
				return nil, at.At("resources", k).Wrong("%q: write a resource like secrets or deployments.apps, *.GROUP for those of a group, *. for those of the core group, *.* for all", name)
			}
		}
		for k := range r.Providers {
			some, err := c.providers(next, at.At("providers", k), &r.Providers[k])
			if err != nil {
				return nil, err
			}
			in.providers = append(in.providers, some...)
		}
		next.sets = append(next.sets, in)
	}
	return next, nil
}

// providers makes the providers of an element, one for each key.
func (c *Cipher) providers(next *configuration, at configfile.Value, text *providerText) ([]provider, error) {
	var found []provider
	elements := 0
	for _, kind := range []struct {
		name  string
		keys  *keysText
		sizes []int
		make  func(key []byte) (algorithm, error)
	}{{"aesgcm", text.AESGCM, []int{16, 24, 32}, newGCM}, {"aescbc", text.AESCBC, []int{16, 24, 32}, newCBC}, {"secretbox", text.Secretbox, []int{32}, newBox}} {
		if kind.keys == nil {
			continue
		}
		elements++
		if len(kind.keys.Keys) == 0 {
			return nil, at.At(kind.name).Wrong("keys: at least one is needed")
		}
		for i, k := range kind.keys.Keys {
			in := at.At(kind.name, "keys", i)
			secret, err := base64.StdEncoding.DecodeString(k.Secret)
			id := kind.name + ":v1:" + k.Name
			switch {
			case k.Name == "":
				return nil, in.Wrong("name: the key needs one")
			case slices.ContainsFunc(found, func(p provider) bool { return p.id() == id }):
				return nil, in.Wrong("name: there are two keys %q", k.Name)
			case k.Secret == "" || err != nil:
				return nil, in.Wrong("secret: the key is needed in base64")
			case !slices.Contains(kind.sizes, len(secret)):
				return nil, in.Wrong("secret: the key has %d bytes, it needs one of %v", len(secret), kind.sizes)
			}
			made, err := kind.make(secret)
			if err != nil {
				return nil, in.Wrong("secret: %v", err)
			}
			found = append(found, &local{id, made})
		}
	}
	if text.Identity != nil || at.At("identity").Exists() {
		elements++
		found = append(found, nil)
	}
	if text.KMS != nil {
		elements++
		s, err := c.service(next, at.At("kms"), text.KMS)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	if elements != 1 {
		return nil, at.Wrong("a provider is one of aesgcm, aescbc, secretbox, kms, identity; this element has %d", elements)
	}
	return found, nil
}

// defaultTimeout is that of calls of a service.
const defaultTimeout = 3 * time.Second

// service makes the provider of a key management service; one that is named twice is the
// same, and so is one of the present configuration.
func (c *Cipher) service(next *configuration, at configfile.Value, text *serviceText) (*service, error) {
	timeout := defaultTimeout
	if text.Timeout != nil {
		timeout = *text.Timeout
	}
	version := map[string]int{"": 1, "v1": 1, "v2": 2}[text.APIVersion]
	path, unix := strings.CutPrefix(text.Endpoint, "unix://")
	switch {
	case version == 0:
		return nil, at.WrongAt([]any{"apiVersion"}, "apiVersion: %q is neither v1 nor v2", text.APIVersion)
	case text.Name == "" || strings.Contains(text.Name, ":"):
		return nil, at.WrongAt([]any{"name"}, "name: %q: a name without ':' is needed", text.Name)
	case !unix || path == "":
		return nil, at.WrongAt([]any{"endpoint"}, "endpoint: %q: the path of a socket is needed, unix:///run/kms.sock", text.Endpoint)
	case timeout <= 0:
		return nil, at.WrongAt([]any{"timeout"}, "timeout: %s is not positive", timeout)
	}
	path = strings.TrimPrefix(path, "/@")
	if len(path) != len(strings.TrimPrefix(text.Endpoint, "unix://")) {
		path = "@" + path
	}
	s := newService(text.Name, version, path, timeout)
	s.changed = func() { c.generation.Add(1) }
	if now := c.now.Load(); now != nil {
		for _, known := range now.services {
			if known.id() == s.id() && known.path == path && known.timeout == timeout {
				s = known
			}
		}
	}
	for _, known := range next.services {
		if known.id() == s.id() {
			return nil, at.WrongAt([]any{"name"}, "name: there are two services %q; name the resources of one together", text.Name)
		}
	}
	next.services = append(next.services, s)
	return s, nil
}
