package admission

import (
	"errors"
	"time"

	"github.com/capstan-dev/capstan/internal/configfile"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

func readEventLimits(s *Settings, v configfile.Value) error {
	if err := v.Is("Configuration", "eventratelimit.admission."+profile.GroupSuffix+"/v1alpha1"); err != nil {
		return err
	}
	var file struct {
		Limits []EventLimit `yaml:"limits"`
	}
	if err := v.Decode(&file); err != nil {
		return err
	}
	if len(file.Limits) == 0 {
		return v.WrongAt([]any{"limits"}, "limits: must not be empty")
	}
	var all []error
	for i := range file.Limits {
		if member, why := file.Limits[i].mistake(); why != "" {
			all = append(all, v.WrongAt([]any{"limits", i, member}, "%s: %s", member, why))
		}
	}
	s.Events = file.Limits
	return errors.Join(all...)
}

func readImagePolicy(s *Settings, v configfile.Value) error {
	var file struct {
		Policy struct {
			Kubeconfig string `yaml:"kubeConfigFile"`
			Allow      int64  `yaml:"allowTTL"`
			Deny       int64  `yaml:"denyTTL"`
			Retry      int64  `yaml:"retryBackoff"`
			Open       bool   `yaml:"defaultAllow"`
		} `yaml:"imagePolicy"`
	}
	if err := v.Decode(&file); err != nil {
		return err
	}
	f, p := &file.Policy, &s.ImagePolicy
	if f.Kubeconfig == "" {
		return v.WrongAt([]any{"imagePolicy", "kubeConfigFile"}, "kubeConfigFile: name the client configuration for the webhook")
	}
	p.Kubeconfig, p.AllowedWhileFailing = f.Kubeconfig, f.Open
	var all []error
	for _, m := range [...]struct {
		name                     string
		n                        int64
		unit, least, most, usual time.Duration
		into                     *time.Duration
	}{
		{"retryBackoff", f.Retry, time.Millisecond, time.Millisecond, 5 * time.Minute, 500 * time.Millisecond, &p.Retry},
		{"allowTTL", f.Allow, time.Second, time.Second, 30 * time.Minute, 5 * time.Minute, &p.Allowed},
		{"denyTTL", f.Deny, time.Second, time.Second, 30 * time.Minute, 30 * time.Second, &p.Denied},
	} {
		var err error
		if *m.into, err = period(m.n, m.unit, m.least, m.most, m.usual); err != nil {
			all = append(all, v.WrongAt([]any{"imagePolicy", m.name}, "%s: %v", m.name, err))
		}
	}
	return errors.Join(all...)
}

func readNodeSelectors(s *Settings, v configfile.Value) error {
	var file struct {
		Selectors map[string]string `yaml:"podNodeSelectorPluginConfig"`
	}
	if err := v.Decode(&file); err != nil {
		return err
	}
	var all []error
	for namespace, text := range file.Selectors {
		if _, err := parseSelector(text); err != nil {
			all = append(all, v.WrongAt([]any{"podNodeSelectorPluginConfig", namespace}, "%v", err))
		}
	}
	s.NodeSelectors = file.Selectors
	return errors.Join(all...)
}

func readPodTolerations(s *Settings, v configfile.Value) error {
	if err := v.Is("Configuration", "podtolerationrestriction.admission."+profile.GroupSuffix+"/v1alpha1"); err != nil {
		return err
	}
	var file struct {
		Default []writtenToleration `yaml:"default"`
		Allowed []writtenToleration `yaml:"whitelist"`
	}
	if err := v.Decode(&file); err != nil {
		return err
	}
	var all []error
	read := func(name string, from []writtenToleration) (into []toleration) {
		for i := range from {
			one := from[i].read()
			if why := one.mistake(); why != "" {
				all = append(all, v.At(name, i).Wrong("%s", why))
			}
			into = append(into, one)
		}
		return into
	}
	s.PodTolerations = PodTolerations{read("default", file.Default), read("whitelist", file.Allowed)}
	return errors.Join(all...)
}
