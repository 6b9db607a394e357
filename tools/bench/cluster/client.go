package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// client is the administrator's.
type client struct{ http http.Client }

func newClient() *client {
	// The server's certificate is its own, and the connection does not leave the namespace.
	return &client{http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}}
}

// do sends a request, and returns the body of its answer. An answer below 200 or above 299 is an error.
func (c *client) do(ctx context.Context, method, url, media, body string) ([]byte, error) {
	q, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+token)
	if media != "" {
		q.Header.Set("Content-Type", media)
	}
	answer, err := c.http.Do(q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // was read
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %.300s", method, url, answer.Status, text)
	}
	return text, err
}

// await asks again every interval until the condition holds.
func await(ctx context.Context, interval time.Duration, holds func() (bool, error)) error {
	for t := time.NewTicker(interval); ; {
		if done, err := holds(); done || err != nil {
			t.Stop()
			return err
		}
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}

// ready waits for the server.
func (c *client) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return await(ctx, 50*time.Millisecond, func() (bool, error) {
		_, err := c.do(ctx, http.MethodGet, address+"/readyz", "", "")
		return err == nil, nil
	})
}

// nodesReady reports whether n nodes are ready.
func (c *client) nodesReady(ctx context.Context, n int) (bool, error) {
	text, err := c.do(ctx, http.MethodGet, address+"/api/v1/nodes?resourceVersion=0", "", "")
	if err != nil {
		return false, err
	}
	var all struct {
		Items []struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	err = json.Unmarshal(text, &all)
	for _, node := range all.Items {
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" {
				n--
			}
		}
	}
	return n == 0, err
}

// deployment has the fields that a phase waits for.
type deployment struct {
	Metadata struct {
		Generation int `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
	Status struct {
		Observed int `json:"observedGeneration"`
		Replicas int `json:"replicas"`
		Updated  int `json:"updatedReplicas"`
		Ready    int `json:"readyReplicas"`
	} `json:"status"`
}

// done reports whether all pods are there, of the newest version, and ready.
func (d *deployment) done() bool {
	s := d.Status
	return s.Observed == d.Metadata.Generation && s.Replicas == d.Spec.Replicas && s.Updated == d.Spec.Replicas && s.Ready == d.Spec.Replicas
}

const deploymentsURL = address + "/apis/apps/v1/deployments"

// namespaceOf is the namespace of the i-th deployment.
func namespaceOf(i int) string { return fmt.Sprintf("n-%d", i) }

// makeNamespaces makes the namespaces of n deployments.
func (c *client) makeNamespaces(ctx context.Context, n int) error {
	for i := range n {
		body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, namespaceOf(i))
		if _, err := c.do(ctx, http.MethodPost, address+"/api/v1/namespaces", "application/json", body); err != nil {
			return err
		}
	}
	return nil
}

// scale applies n deployments with a number of pods in all and a version, and waits until all pods are ready.
func (c *client) scale(ctx context.Context, n, pods, version int) error {
	for i := range n {
		body := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":%d,
"strategy":{"rollingUpdate":{"maxSurge":"10%%","maxUnavailable":"10%%"}},"selector":{"matchLabels":{"app":"d"}},"template":{"metadata":{"labels":{"app":"d","v":"%d"}},
"spec":{"containers":[{"name":"c","image":"i:%[2]d","resources":{"requests":{"cpu":"10m"}}}]}}}}`, pods*(i+1)/n-pods*i/n, version)
		url := address + "/apis/apps/v1/namespaces/" + namespaceOf(i) + "/deployments/d?fieldManager=cluster&force=true"
		if _, err := c.do(ctx, http.MethodPatch, url, "application/apply-patch+yaml", body); err != nil {
			return err
		}
	}
	return await(ctx, 500*time.Millisecond, func() (bool, error) {
		text, err := c.do(ctx, http.MethodGet, deploymentsURL, "", "")
		if err != nil {
			return false, err
		}
		var all struct{ Items []deployment }
		err = json.Unmarshal(text, &all)
		return !slices.ContainsFunc(all.Items, func(d deployment) bool { return !d.done() }), err
	})
}

// emptied waits until no pod is left.
func (c *client) emptied(ctx context.Context) error {
	return await(ctx, 500*time.Millisecond, func() (bool, error) {
		text, err := c.do(ctx, http.MethodGet, address+"/api/v1/pods?limit=1", "", "")
		return err == nil && !bytes.Contains(text, []byte(`"uid"`)), err
	})
}

// series are the values of one metric, by its labels as they are written.
type series map[string]float64

// scrape reads a metric of a process.
func (c *client) scrape(ctx context.Context, url, metric string) (series, error) {
	text, err := c.do(ctx, http.MethodGet, url+"/metrics", "", "")
	if err != nil {
		return nil, err
	}
	found := series{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), metric+"{")
		labels, value, whole := strings.Cut(rest, "} ")
		if !ok || !whole {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", metric, labels, err)
		}
		found[labels] += n
	}
	return found, nil
}

// label is the value of a label; "" for none.
func label(labels, name string) string {
	_, rest, _ := strings.Cut(","+labels, ","+name+`="`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
