package load

import "github.com/capstan-dev/capstan/generator/internal/model"

// promises reads the gates, metrics and flags that clients and operators count on.
func (r *reader) promises(name string) *model.Promises {
	n, _, ok := r.file(name)
	if !ok || !r.wellFormed(n, "promises") {
		return nil
	}
	p := &model.Promises{Gates: map[string]model.Gate{}, Metrics: map[string]model.Metric{}, Flags: map[string]model.Flag{}}
	r.object(n, r.promiseKeys(p))
	return p
}

func (r *reader) promiseKeys(p *model.Promises) map[string]func(node) {
	return map[string]func(node){
		"featureGates": func(n node) {
			for _, e := range r.entries(n) {
				g := model.Gate{Pos: e.at.pos()}
				r.object(e.value, r.gateKeys(&g))
				p.Gates[e.key] = g
			}
		},
		"metrics": func(n node) {
			for _, e := range r.entries(n) {
				m := model.Metric{Pos: e.at.pos()}
				r.object(e.value, r.metricKeys(&m))
				p.Metrics[e.key] = m
			}
		},
		"flags": func(n node) {
			for _, e := range r.entries(n) {
				f := model.Flag{Pos: e.at.pos()}
				r.object(e.value, r.flagKeys(&f))
				p.Flags[e.key] = f
			}
		},
	}
}

func (r *reader) gateKeys(g *model.Gate) map[string]func(node) {
	return map[string]func(node){"stage": r.text(&g.Stage), "enabled": r.optionalBool(&g.Enabled), "locked": r.optionalBool(&g.Locked), "since": r.text(&g.Since),
		"needs": r.texts(&g.Needs), "wasStable": r.boolean(&g.WasStable), "lifecycle": r.readLifecycle(&g.Lifecycle)}
}

func (r *reader) metricKeys(m *model.Metric) map[string]func(node) {
	return map[string]func(node){"type": r.text(&m.Type), "stability": r.text(&m.Stability), "labels": r.texts(&m.Labels), "buckets": r.texts(&m.Buckets),
		"deprecated": r.text(&m.Deprecated)}
}

func (r *reader) flagKeys(f *model.Flag) map[string]func(node) {
	return map[string]func(node){"default": r.text(&f.Default), "deprecated": r.text(&f.Deprecated)}
}
