package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/openapi"
)

// Exec is a program that makes credentials (a credential plug-in).
type Exec struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	// APIVersion is the version of the objects that are exchanged with the program:
	// client.authentication.k8s.io/v1, or v1beta1.
	APIVersion string `json:"apiVersion"`
	// InstallHint is shown when the program is missing.
	InstallHint string `json:"installHint"`
	// ProvideClusterInfo tells the program about the server.
	ProvideClusterInfo bool `json:"provideClusterInfo"`
	// InteractiveMode says whether the program gets the standard input: Never, IfAvailable
	// (when it is a terminal) or Always. Required in v1; IfAvailable by default in v1beta1.
	InteractiveMode string `json:"interactiveMode"`

	cluster *execCluster
}

var (
	execGroup     = "client.authentication." + openapi.GroupSuffix() + "/"
	execExtension = execGroup + "exec" // of a cluster, for the program
)

const execInfo = "KUBERNETES_EXEC_INFO"

// execCluster describes the server to the program.
type execCluster struct {
	Server             string          `json:"server"`
	ServerName         string          `json:"tls-server-name,omitempty"`
	Insecure           bool            `json:"insecure-skip-tls-verify,omitempty"`
	CAData             []byte          `json:"certificate-authority-data,omitempty"`
	ProxyURL           string          `json:"proxy-url,omitempty"`
	DisableCompression bool            `json:"disable-compression,omitempty"`
	Config             json.RawMessage `json:"config,omitempty"`
}

// execCredential is the object that the program gets in its environment, and writes to its
// standard output.
type execCredential struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Spec       struct {
		Cluster     *execCluster `json:"cluster,omitempty"`
		Interactive bool         `json:"interactive"`
	} `json:"spec"`
	Status *execStatus `json:"status,omitempty"`
}

type execStatus struct {
	Expires     time.Time `json:"expirationTimestamp"`
	Token       string    `json:"token"`
	Certificate string    `json:"clientCertificateData"`
	Key         string    `json:"clientKeyData"`
}

// Validate reports a mistake in the description of the program.
func (e *Exec) Validate() error {
	modes := []string{"Never", "IfAvailable", "Always"}
	switch {
	case e.Command == "":
		return errors.New("exec: command is missing")
	case e.APIVersion != execGroup+"v1" && e.APIVersion != execGroup+"v1beta1":
		return fmt.Errorf("exec: apiVersion %q: want %sv1 or %[2]sv1beta1", e.APIVersion, execGroup)
	case e.InteractiveMode == "" && e.APIVersion == execGroup+"v1":
		return fmt.Errorf("exec: interactiveMode is missing; use one of %s", strings.Join(modes, ", "))
	case e.InteractiveMode != "" && !slices.Contains(modes, e.InteractiveMode):
		return fmt.Errorf("exec: interactiveMode %q; use one of %s", e.InteractiveMode, strings.Join(modes, ", "))
	}
	return nil
}

// run runs the program; terminal reports whether the standard input is one. Errors do not
// show its output.
func (e *Exec) run(ctx context.Context, terminal bool) (*credentials, error) {
	ask := execCredential{Kind: "ExecCredential", APIVersion: e.APIVersion}
	ask.Spec.Cluster, ask.Spec.Interactive = e.cluster, terminal && e.InteractiveMode != "Never"
	if e.InteractiveMode == "Always" && !terminal {
		return nil, errors.New("exec: the program needs a terminal, and standard input is not a terminal")
	}
	info, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, e.Command, e.Args...)
	cmd.Env = os.Environ()
	for _, v := range e.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Env = append(cmd.Env, execInfo+"="+string(info))
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &output, os.Stderr, time.Second
	if ask.Spec.Interactive {
		cmd.Stdin = os.Stdin
	}
	if err := cmd.Run(); err != nil {
		if (errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)) && e.InstallHint != "" {
			return nil, fmt.Errorf("exec: %w\n\n%s", err, e.InstallHint)
		}
		return nil, fmt.Errorf("exec: %s: %w", e.Command, err)
	}
	return e.read(output.Bytes())
}

// read reads the output of the program.
func (e *Exec) read(output []byte) (*credentials, error) {
	var answer execCredential
	if err := json.Unmarshal(output, &answer); err != nil || answer.Kind != "ExecCredential" {
		return nil, fmt.Errorf("exec: %s wrote something else than an ExecCredential", e.Command)
	}
	s := answer.Status
	switch {
	case answer.APIVersion != e.APIVersion:
		return nil, fmt.Errorf("exec: %s is configured for %s, and wrote %q", e.Command, e.APIVersion, answer.APIVersion)
	case s == nil || s.Token == "" && s.Certificate == "" && s.Key == "":
		return nil, fmt.Errorf("exec: %s wrote neither a token nor a certificate", e.Command)
	case (s.Certificate == "") != (s.Key == ""):
		return nil, fmt.Errorf("exec: %s wrote only one of certificate and key", e.Command)
	}
	c := &credentials{token: s.Token, until: s.Expires}
	if s.Certificate != "" {
		pair, err := tls.X509KeyPair([]byte(s.Certificate), []byte(s.Key))
		if err != nil {
			return nil, fmt.Errorf("exec: %s: certificate: %w", e.Command, err)
		}
		c.certificate = &pair
	}
	return c, nil
}

// isTerminal reports whether the standard input is a terminal.
func isTerminal() bool {
	input, err := os.Stdin.Stat()
	if err != nil || input.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(input, null)
}
