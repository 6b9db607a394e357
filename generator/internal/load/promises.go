package load

import "github.com/capstan-dev/capstan/generator/internal/model"

// promises reads the gates, metrics and flags that clients and operators count on.
func (r *reader) promises(name string) *model.Promises {
	n, _, ok := r.file(name)
	if !ok {
		return nil
	}
	p := &model.Promises{Gates: map[string]model.Gate{}, Metrics: map[string]model.Metric{}, Flags: map[string]model.Flag{}}
	r.object(n, "the promises", map[string]func(node){
		"featureGates": func(n node) {
			for _, e := range r.entries(n) {
				g := model.Gate{Pos: e.at.pos()}
				r.object(e.value, "a feature gate", map[string]func(node){
					"stage": r.word(&g.Stage, "stage", "alpha", "beta", "stable", "deprecated"), "enabled": r.optionalBool(&g.Enabled), "since": r.text(&g.Since),
					"wasStable": r.boolean(&g.Locked),
				})
				if g.Stage == "" {
					r.fail(g.Pos, "add stage: alpha, beta, stable or deprecated", "the feature gate %s has no stage", e.key)
				}
				p.Gates[e.key] = g
			}
		},
		"metrics": func(n node) {
			for _, e := range r.entries(n) {
				m := model.Metric{Pos: e.at.pos()}
				r.object(e.value, "a metric", map[string]func(node){
					"type": r.word(&m.Type, "type", "counter", "gauge", "histogram"), "stability": r.word(&m.Stability, "stability", "alpha", "stable"),
					"labels": r.texts(&m.Labels), "buckets": r.texts(&m.Buckets), "deprecated": r.text(&m.Deprecated),
				})
				if m.Type == "" || m.Stability == "" {
					r.fail(m.Pos, "add what is missing", "the metric %s needs type and stability", e.key)
				}
				p.Metrics[e.key] = m
			}
		},
		"flags": func(n node) {
			for _, e := range r.entries(n) {
				f := model.Flag{Pos: e.at.pos()}
				r.object(e.value, "a flag", map[string]func(node){"default": r.text(&f.Default), "deprecated": r.text(&f.Deprecated)})
				p.Flags[e.key] = f
			}
		},
	})
	return p
}
