// Package kubeconfig is the form of client configurations: servers, users, and contexts
// that name one of each.
package kubeconfig

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/capstan-dev/capstan/internal/yaml"
)

// File is a client configuration, in which Exec describes a credential plug-in.
type File[Exec any] struct {
	Current  string `json:"current-context"`
	Clusters []struct {
		Name    string  `json:"name"`
		Cluster Cluster `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		Name string     `json:"name"`
		User User[Exec] `json:"user"`
	} `json:"users"`
	Contexts []struct {
		Name    string  `json:"name"`
		Context Context `json:"context"`
	} `json:"contexts"`
}

// Cluster is a server.
type Cluster struct {
	Server             string `json:"server"`
	ServerName         string `json:"tls-server-name"`
	Insecure           bool   `json:"insecure-skip-tls-verify"`
	CA                 string `json:"certificate-authority"`
	CAData             []byte `json:"certificate-authority-data"`
	ProxyURL           string `json:"proxy-url"`
	DisableCompression bool   `json:"disable-compression"`
	Extensions         []struct {
		Name      string          `json:"name"`
		Extension json.RawMessage `json:"extension"`
	} `json:"extensions"`
}

// User has the credentials of a user.
type User[Exec any] struct {
	Certificate     string              `json:"client-certificate"`
	CertificateData []byte              `json:"client-certificate-data"`
	Key             string              `json:"client-key"`
	KeyData         []byte              `json:"client-key-data"`
	Token           string              `json:"token"`
	TokenFile       string              `json:"tokenFile"`
	Username        string              `json:"username"`
	Password        string              `json:"password"`
	As              string              `json:"as"`
	AsUID           string              `json:"as-uid"`
	AsGroups        []string            `json:"as-groups"`
	AsExtra         map[string][]string `json:"as-user-extra"`
	Exec            *Exec               `json:"exec"`
	AuthProvider    json.RawMessage     `json:"auth-provider"` // not supported
}

// Context names a cluster and a user of the file, and the usual namespace.
type Context struct {
	Cluster   string `json:"cluster"`
	User      string `json:"user"`
	Namespace string `json:"namespace"`
}

// Parse reads a file (YAML or JSON). The error does not show the text, which may hold
// secrets.
func Parse[Exec any](text []byte) (*File[Exec], error) {
	var f File[Exec]
	if err := yaml.Unmarshal(text, &f); err != nil {
		return nil, errors.New("not a client configuration (kubeconfig)")
	}
	return &f, nil
}

// Find returns a context with its cluster and its user, each nil when it is missing.
func (f *File[Exec]) Find(context string) (in *Context, at *Cluster, as *User[Exec]) {
	for i := range f.Contexts {
		if f.Contexts[i].Name == context {
			in = &f.Contexts[i].Context
			break
		}
	}
	if in == nil {
		return nil, nil, nil
	}
	for i := range f.Clusters {
		if f.Clusters[i].Name == in.Cluster {
			at = &f.Clusters[i].Cluster
		}
	}
	for i := range f.Users {
		if f.Users[i].Name == in.User {
			as = &f.Users[i].User
		}
	}
	return in, at, as
}

// Folder is the one of a file, to which paths in it are relative; "" is the working
// directory.
type Folder string

// Path makes a path in the file one of this process.
func (d Folder) Path(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(string(d), path)
}

// Content is data, or else the content of the file at a path; nil for neither. Errors:
// those of os.ReadFile.
func (d Folder) Content(data []byte, path string) ([]byte, error) {
	if len(data) > 0 || path == "" {
		return data, nil
	}
	return os.ReadFile(d.Path(path))
}
