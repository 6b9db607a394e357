package exec

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

//go:embed data/crds.yaml
var crds []byte

// Group is the API group of the tool's custom resources.
const Group = "differ.example.com"

// Install creates the tool's custom resources on both servers and waits until they are
// served and described. It reports whether both serve them; a server without custom
// resources is tested on the rest.
func (r *Runner) Install(ctx context.Context) (bool, error) {
	var list []map[string]any
	if err := yaml.Unmarshal(crds, &list); err != nil {
		return false, err
	}
	const base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for _, s := range []Server{r.Want, r.Got} {
		for _, c := range list {
			a, err := s.Do(ctx, &scenario.Step{Method: "POST", Path: base, Body: c}, nil)
			if err != nil {
				return false, err
			}
			if a.Status != 201 && a.Status != 409 && s == r.Want {
				return false, fmt.Errorf("custom resource definition: %d %.300s", a.Status, a.Body)
			}
		}
	}
	paths := []string{"/apis/" + Group + "/v1/namespaces/default/gadgets", "/apis/" + Group + "/v1/blobs",
		"/apis/" + Group + "/v1beta1/namespaces/default/gadgets"}
	for _, p := range append(paths, "/openapi/v3/apis/"+Group+"/v1") {
		if err := wait(ctx, r.Want, p, 30*time.Second); err != nil {
			return false, err
		}
	}
	for _, p := range paths {
		if err := wait(ctx, r.Got, p, 5*time.Second); err != nil {
			return false, ctx.Err()
		}
	}
	return true, nil
}

func wait(ctx context.Context, s Server, path string, limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		a, err := s.Do(ctx, &scenario.Step{Method: "GET", Path: path}, nil)
		if err != nil {
			return err
		}
		if a.Status == 200 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s is not served", path)
}
