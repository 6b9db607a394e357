package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// phase is one part of the life of the cluster, with its cost for the server.
type phase struct {
	Name     string        `json:"name"`
	Wall     time.Duration `json:"wall"`
	CPU      time.Duration `json:"cpu"`
	Etcd     time.Duration `json:"etcd"` // the part of CPU that is etcd's
	Peak     int64         `json:"peak"` // bytes of resident memory since the start
	Requests float64       `json:"requests"`
	Latency  latencies     `json:"latency"`
}

// measured is a cluster's whole life.
type measured struct {
	Kind   string  `json:"kind"`
	Phases []phase `json:"phases"`
}

func readMeasured(path string) (m measured, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// live leads the cluster through its phases, and writes phases.json.
func (c *cluster) live(ctx context.Context) error {
	m := measured{Kind: c.inside}
	var requests []count
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"nodes join", c.join},
		{"pods start", func(ctx context.Context) error { return c.client.scale(ctx, c.deployments, c.pods, 1) }},
		{"they roll over", func(ctx context.Context) error { return c.client.scale(ctx, c.deployments, c.pods, 2) }},
		{"rest", c.idle},
		{"they go", func(ctx context.Context) error {
			if err := c.client.scale(ctx, c.deployments, 0, 2); err != nil {
				return err
			}
			return c.client.emptied(ctx)
		}},
	} {
		p, counts, err := c.spend(ctx, step.name, step.do)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		m.Phases, requests = append(m.Phases, p), append(requests, counts...)
		fmt.Printf("%-12s %-15s wall %6.1f s  CPU %6.2f s (etcd %5.2f)  %6.0f requests  peak %5d MiB\n",
			c.inside, p.Name, p.Wall.Seconds(), p.CPU.Seconds(), p.Etcd.Seconds(), p.Requests, p.Peak>>20)
	}
	if err := writeCounts(filepath.Join(c.dir, "requests.md"), requests); err != nil {
		return err
	}
	if err := c.drawLife(requests); err != nil {
		return err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, "phases.json"), text, 0o600)
}

// spend measures one phase.
func (c *cluster) spend(ctx context.Context, name string, do func(context.Context) error) (p phase, counts []count, err error) {
	before, err := c.observe(ctx)
	if err != nil {
		return p, nil, err
	}
	ended := c.beginProfile(ctx, name)
	cpu, etcd := c.cpu()
	began := time.Now()
	if err := do(ctx); err != nil {
		return p, nil, err
	}
	p = phase{Name: name, Wall: time.Since(began), Peak: c.peak()}
	p.CPU, p.Etcd = c.cpu()
	p.CPU, p.Etcd = p.CPU-cpu, p.Etcd-etcd
	spent, err := ended()
	if err != nil {
		return p, nil, err
	}
	after, err := c.observe(ctx)
	if err != nil {
		return p, nil, err
	}
	p.Latency = latenciesOf(before.clients, after.clients)
	counts = countsOf(name, before.requests, after.requests, spent)
	for _, n := range counts {
		p.Requests += n.requests
	}
	return p, counts, nil
}

// join makes the namespaces of the deployments and the nodes, and waits until all nodes are ready, for 20 seconds at least.
func (c *cluster) join(ctx context.Context) error {
	settled := time.After(20 * time.Second)
	if err := c.client.makeNamespaces(ctx, c.deployments); err != nil {
		return err
	}
	for i := range c.nodes {
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n-%d",
"labels":{"kubernetes.io/hostname":"n-%[1]d","kubernetes.io/os":"linux"}},"status":{"allocatable":{"cpu":"32","memory":"256Gi","pods":"110"},"capacity":{"cpu":"32","memory":"256Gi","pods":"110"}}}`, i)
		if _, err := c.client.do(ctx, http.MethodPost, address+"/api/v1/nodes", "application/json", body); err != nil {
			return err
		}
	}
	// A node without conditions makes the controller manager of 1.25 panic after a time.
	if err := await(ctx, 2*time.Second, func() (bool, error) { return c.client.nodesReady(ctx, c.nodes) }); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-settled:
		return nil
	}
}

// idle lets the cluster rest.
func (c *cluster) idle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.rest):
		return nil
	}
}
