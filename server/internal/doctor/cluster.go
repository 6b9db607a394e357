package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/status"
)

// Bounds of questions to the server.
const (
	connectLimit = 5 * time.Second
	mostBytes    = 64 << 20 // of an answer
)

// connect finds the running server of a subject; nil when none answers. It is a finding when a
// kubeconfig was named, or a server answers that does not know the administrator.
func connect(ctx context.Context, s *Subject) (server *client.REST, url string, all []Finding) {
	file := s.Kubeconfig
	if file == "" {
		file = filepath.Join(s.DataDir, "admin.kubeconfig")
		if _, err := os.Stat(file); err != nil {
			return nil, "", nil
		}
	}
	fail := func(remedy, format string, args ...any) (*client.REST, string, []Finding) {
		f := problem(remedy, format, args...)
		f.Check = "server"
		return nil, "", []Finding{f}
	}
	server, config, err := status.Dial(file)
	if err != nil {
		return fail("name another one with --kubeconfig", "%v", err)
	}
	limited, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	_, err = server.Get(limited, "/api", 1<<20)
	var refused *client.Error
	switch {
	case err == nil:
		return server, config.Host, nil
	case errors.As(err, &refused):
		return fail("name a kubeconfig of an administrator with --kubeconfig", "%s answers %d: %v", config.Host, refused.Code, err)
	case s.Kubeconfig == "" && !strings.Contains(err.Error(), "certificate"):
		return nil, "", nil // it does not run
	}
	return fail("start the server, or name its kubeconfig with --kubeconfig", "%s does not answer: %v", config.Host, err)
}

// read asks the server for objects. A refusal is a finding that names the path.
func read(ctx context.Context, server *client.REST, path string, into any) []Finding {
	text, err := server.Get(ctx, path, mostBytes)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	var refused *client.Error
	switch {
	case err == nil, client.IsNotFound(err): // a server without that group
		return nil
	case errors.As(err, &refused) && refused.Code == 403:
		return []Finding{warning("use an administrator's kubeconfig, or give this user the right", "this was not looked at: %v", err)}
	}
	return []Finding{problem("look into the log of the server", "%s: %v", path, err)}
}

// checkReadiness lists the checks of the server's own that fail.
func checkReadiness(ctx context.Context, _ *Subject, server *client.REST) (all []Finding) {
	text, err := server.Get(ctx, "/readyz?verbose", 1<<20)
	var refused *client.Error
	if errors.As(err, &refused) {
		text = []byte(refused.Answer)
	} else if err != nil {
		return []Finding{problem("look into the log of the server", "/readyz: %v", err)}
	}
	for _, name := range status.FailingChecks(text) {
		all = append(all, problem("the log of the server says why: look for this name there", "the server is not ready: %s fails", name))
	}
	return all
}

// condition is a condition of an object's status.
type condition struct{ Type, Status, Reason, Message string }

// conditionOf is the condition of a type, empty for none.
func conditionOf(all []condition, typ string) condition {
	for _, c := range all {
		if c.Type == typ {
			return c
		}
	}
	return condition{}
}

// definition is the part of a custom resource definition that is looked at.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Versions []struct {
			Name            string
			Storage, Served bool
		}
	}
	Status struct {
		Conditions     []condition
		StoredVersions []string
	}
}

// checkDefinitions lists the definitions whose kinds are not served, and those with objects in old versions.
func checkDefinitions(ctx context.Context, _ *Subject, server *client.REST) []Finding {
	var list struct{ Items []definition }
	all := read(ctx, server, "/apis/apiextensions."+profile.GroupSuffix+"/v1/customresourcedefinitions", &list)
	for i := range list.Items {
		d := &list.Items[i]
		if names := conditionOf(d.Status.Conditions, "NamesAccepted"); names.Status == "False" {
			all = append(all, problem("choose other names, or delete the definition that has them", "the definition %s: %s", d.Metadata.Name, names.Message))
		} else if c := conditionOf(d.Status.Conditions, "Established"); c.Status != "True" {
			all = append(all, problem("wait some seconds; if it stays so, look at its conditions: kubectl describe crd "+d.Metadata.Name,
				"the definition %s is not established, so its objects are not served", d.Metadata.Name))
		}
		if c := conditionOf(d.Status.Conditions, "NonStructuralSchema"); c.Status == "True" {
			all = append(all, warning("correct the schema", "the schema of %s is not structural: %s", d.Metadata.Name, c.Message))
		}
		if len(d.Status.StoredVersions) > 1 {
			all = append(all, warning("rewrite them in the storage version (capstan store migrate), then leave the others out of status.storedVersions",
				"%s may have objects stored in the versions %s", d.Metadata.Name, strings.Join(d.Status.StoredVersions, ", ")))
		}
	}
	return all
}

// checkExtensions lists the API services whose servers do not answer.
func checkExtensions(ctx context.Context, _ *Subject, server *client.REST) []Finding {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Spec     struct {
				Service *struct{ Namespace, Name string }
			}
			Status struct{ Conditions []condition }
		}
	}
	all := read(ctx, server, "/apis/apiregistration."+profile.GroupSuffix+"/v1/apiservices", &list)
	for _, a := range list.Items {
		if c := conditionOf(a.Status.Conditions, "Available"); a.Spec.Service != nil && c.Status == "False" {
			all = append(all, problem(fmt.Sprintf("start the server behind the service %s/%s, or delete the API service", a.Spec.Service.Namespace, a.Spec.Service.Name),
				"the API service %s is not available: %s: %s", a.Metadata.Name, c.Reason, c.Message))
		}
	}
	return all
}

// checkDeprecated lists the deprecated versions that clients have asked for since the server began.
func checkDeprecated(ctx context.Context, _ *Subject, server *client.REST) (all []Finding) {
	text, err := server.Get(ctx, "/metrics", mostBytes)
	if err != nil {
		return nil // the reading of figures is a right of its own
	}
	for line := range strings.Lines(string(text)) {
		labels, ok := strings.CutPrefix(line, "apiserver_requested_deprecated_apis{")
		if !ok {
			continue
		}
		of := func(name string) string {
			_, rest, _ := strings.Cut(labels, name+`="`)
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
		remedy := "have them use a newer version"
		if removed := of("removed_release"); removed != "" {
			remedy += "; release " + removed + " does not have it"
		}
		all = append(all, warning(remedy, "clients use %s in the deprecated version %s", of("resource"), strings.TrimPrefix(of("group")+"/"+of("version"), "/")))
	}
	return all
}
