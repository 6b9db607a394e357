package admission

import (
	"errors"
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/internal/configfile"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/podsecurity"
)

// Settings are the configurations of plug-ins. The zero value has their defaults.
type Settings struct {
	PodSecurity PodSecurity
	// NodeSelectors are those of PodNodeSelector, by namespaces: the nodes that pods may
	// select, "key=value,key=value"; that of the whole cluster is a default.
	NodeSelectors  map[string]string
	PodTolerations PodTolerations
	Events         []EventLimit
	ImagePolicy    ImagePolicy
	// MutatingKubeconfig and ValidatingKubeconfig are client configurations with the
	// credentials for webhooks, by the names of their servers; "" for none.
	MutatingKubeconfig, ValidatingKubeconfig string
	LimitedResources                         []LimitedResource
	// OldForms are deprecated forms that the file uses, each with its line and the remedy.
	OldForms []error
}

// PodSecurity is the configuration of the plug-in PodSecurity.
type PodSecurity struct {
	Defaults                              podsecurity.Policy
	Usernames, Namespaces, RuntimeClasses []string // that are exempt
}

const configGroup = "apiserver.config." + profile.GroupSuffix

// settingReaders read the configurations of plug-ins. The plug-ins without one take none.
func settingReaders() map[string]func(s *Settings, v configfile.Value) error {
	return map[string]func(s *Settings, v configfile.Value) error{
		"PodSecurity":              readPodSecurity,
		"EventRateLimit":           readEventLimits,
		"ImagePolicyWebhook":       readImagePolicy,
		"PodNodeSelector":          readNodeSelectors,
		"PodTolerationRestriction": readPodTolerations,
		"ResourceQuota":            readQuotaLimits,
		mutatingWebhook: func(s *Settings, v configfile.Value) (err error) {
			s.MutatingKubeconfig, err = s.readWebhookAdmission(v)
			return err
		},
		"ValidatingAdmissionWebhook": func(s *Settings, v configfile.Value) (err error) {
			s.ValidatingKubeconfig, err = s.readWebhookAdmission(v)
			return err
		},
	}
}

// ReadSettings reads the file of --admission-control-config-file; "" has the defaults.
// Errors name file and line.
func ReadSettings(path string) (s Settings, err error) {
	if path == "" {
		return s, nil
	}
	v, err := configfile.Read(path)
	if err != nil {
		return s, fmt.Errorf("--admission-control-config-file: %w", err)
	}
	return s, s.read(v)
}

// pluginSettings is the configuration of a plug-in in the file.
type pluginSettings struct {
	Name          string `yaml:"name"`
	Path          string `yaml:"path"`
	Configuration any    `yaml:"configuration"`
}

func (s *Settings) read(v configfile.Value) error {
	if !v.At("kind").Exists() { // a file of before there were plug-ins with versions
		if v.At("imagePolicy").Exists() {
			return readImagePolicy(s, v)
		}
		if v.At("podNodeSelectorPluginConfig").Exists() {
			return readNodeSelectors(s, v)
		}
	}
	if err := s.is(v, "AdmissionConfiguration", "AdmissionConfiguration", "apiserver."+profile.GroupSuffix+"/v1alpha1", configGroup+"/v1alpha1"); err != nil {
		return err
	}
	var file struct {
		Plugins []pluginSettings `yaml:"plugins"`
	}
	if err := v.Decode(&file); err != nil {
		return err
	}
	var all []error
	for i, p := range file.Plugins {
		at := v.At("plugins", i)
		if find(p.Name) == nil {
			all = append(all, at.Wrong("there is no admission plug-in %q", p.Name))
			continue
		}
		if slices.IndexFunc(file.Plugins, func(other pluginSettings) bool { return other.Name == p.Name }) < i {
			all = append(all, at.Wrong("%s is configured above already", p.Name))
			continue
		}
		all = append(all, s.readOne(p.Name, at, p.Path))
	}
	return errors.Join(all...)
}

// readOne reads the configuration of a plug-in, in place or in a file of its own.
func (s *Settings) readOne(name string, at configfile.Value, path string) error {
	read, v := settingReaders()[name], at.At("configuration")
	if !v.Exists() && path != "" {
		var err error
		if v, err = configfile.Read(at.Beside(path)); err != nil {
			return at.WrongAt([]any{"path"}, "%v", err)
		}
	}
	if read == nil || !v.Exists() {
		return nil
	}
	return read(s, v)
}

// is refuses a value that is not a configuration of a kind, and notes one in an older form.
func (s *Settings) is(v configfile.Value, kind, oldKind string, oldVersions ...string) error {
	err := v.Is(kind, configGroup+"/v1")
	if err == nil || v.Is(oldKind, oldVersions...) != nil {
		return err
	}
	s.OldForms = append(s.OldForms, v.Wrong("this form is deprecated; write kind: %s and apiVersion: %s/v1", kind, configGroup))
	return nil
}

func (s *Settings) readWebhookAdmission(v configfile.Value) (string, error) {
	var file struct {
		Path string `yaml:"kubeConfigFile"`
	}
	if err := s.is(v, "WebhookAdmissionConfiguration", "WebhookAdmission", configGroup+"/v1alpha1"); err != nil {
		return "", err
	}
	if err := v.Decode(&file); err != nil {
		return "", err
	}
	if file.Path == "" || v.Beside(file.Path) != file.Path {
		return "", v.WrongAt([]any{"kubeConfigFile"}, "%q is not an absolute path", file.Path)
	}
	return file.Path, nil
}

func readPodSecurity(s *Settings, v configfile.Value) error {
	const group = "pod-security.admission.config." + profile.GroupSuffix
	if err := v.Is("PodSecurityConfiguration", group+"/v1", group+"/v1beta1", group+"/v1alpha1"); err != nil {
		return err
	}
	var file struct {
		Defaults struct {
			Enforce        string `yaml:"enforce"`
			EnforceVersion string `yaml:"enforce-version"`
			Audit          string `yaml:"audit"`
			AuditVersion   string `yaml:"audit-version"`
			Warn           string `yaml:"warn"`
			WarnVersion    string `yaml:"warn-version"`
		} `yaml:"defaults"`
		Exemptions struct {
			Usernames      []string `yaml:"usernames"`
			Namespaces     []string `yaml:"namespaces"`
			RuntimeClasses []string `yaml:"runtimeClasses"`
		} `yaml:"exemptions"`
	}
	if err := v.Decode(&file); err != nil {
		return err
	}
	d, all := &file.Defaults, []error(nil)
	for _, m := range [...]struct {
		name, level, version string
		rules                *podsecurity.Rules
	}{
		{"enforce", d.Enforce, d.EnforceVersion, &s.PodSecurity.Defaults.Enforce},
		{"audit", d.Audit, d.AuditVersion, &s.PodSecurity.Defaults.Audit},
		{"warn", d.Warn, d.WarnVersion, &s.PodSecurity.Defaults.Warn},
	} {
		var err error
		if m.level != "" {
			if m.rules.Level, err = podsecurity.ParseLevel(m.level); err != nil {
				all = append(all, v.WrongAt([]any{"defaults", m.name}, "defaults.%s: %q %v", m.name, m.level, err))
			}
		}
		if m.version != "" {
			if m.rules.Version, err = podsecurity.ParseVersion(m.version); err != nil {
				all = append(all, v.WrongAt([]any{"defaults", m.name + "-version"}, "defaults.%s-version: %q %v", m.name, m.version, err))
			}
		}
	}
	e := &file.Exemptions
	s.PodSecurity.Usernames, s.PodSecurity.Namespaces, s.PodSecurity.RuntimeClasses = e.Usernames, e.Namespaces, e.RuntimeClasses
	return errors.Join(append(all, s.PodSecurity.checkExemptions(v)...)...)
}

func (p *PodSecurity) checkExemptions(v configfile.Value) (all []error) {
	for _, l := range [...]struct {
		name, format string
		list         []string
	}{{"usernames", "", p.Usernames}, {"namespaces", "dns1123-label", p.Namespaces}, {"runtimeClasses", "dns1123-subdomain", p.RuntimeClasses}} {
		for i, name := range l.list {
			at := v.At("exemptions", l.name, i)
			switch {
			case name == "" || l.format != "" && document.CheckFormat(l.format, name) != nil:
				all = append(all, at.Wrong("exemptions.%s: %q is not a valid name", l.name, name))
			case slices.Index(l.list, name) < i:
				all = append(all, at.Wrong("exemptions.%s: %q is there twice", l.name, name))
			}
		}
	}
	return all
}
