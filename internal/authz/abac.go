package authz

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// attributePolicy is one line of a policy file: it allows a user or a group requests for
// a resource or a path. "*" stands for all, as a user or a group for all authenticated
// users; readPolicy writes their group in its place.
type attributePolicy struct {
	User            string `json:"user"`
	Group           string `json:"group"`
	Readonly        bool   `json:"readonly"` // verbs get, list and watch only
	APIGroup        string `json:"apiGroup"`
	Resource        string `json:"resource"`
	Namespace       string `json:"namespace"`
	NonResourcePath string `json:"nonResourcePath"`
}

// attributePolicies are the policies of a file, in its order.
type attributePolicies []attributePolicy

// Attribute-based policies have this version; a line without one is of an older form,
// in which missing members stand for all.
const policyVersion = "abac.authorization." + profile.LabelDomain + "/v1beta1"

// maxPolicyLine bounds a line of a policy file, in bytes.
const maxPolicyLine = 1 << 20

// readPolicies reads a policy file: a JSON object in each line, empty lines and those
// that begin with # left out. Errors name the file and the line.
func readPolicies(path string) (attributePolicies, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var all attributePolicies
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxPolicyLine)
	n := 0
	for lines.Scan() {
		n++
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		policy, err := readPolicy(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		all = append(all, policy)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s, line %d: %w", path, n+1, err)
	}
	return all, nil
}

func readPolicy(line []byte) (p attributePolicy, err error) {
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(line, &head); err != nil {
		return p, fmt.Errorf("not a JSON object: %w", err)
	}
	switch {
	case head.APIVersion == "" && head.Kind == "":
		if err := unmarshalStrict(line, &p); err != nil {
			return p, err
		}
		return p.ofFirstForm(), nil
	case head.APIVersion != policyVersion || head.Kind != "Policy":
		return p, fmt.Errorf("%s %q is not known; use %s Policy", head.APIVersion, head.Kind, policyVersion)
	}
	var versioned struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Spec       attributePolicy `json:"spec"`
	}
	if err := unmarshalStrict(line, &versioned); err != nil {
		return p, err
	}
	return versioned.Spec.ofAuthenticated(), nil
}

// ofAuthenticated is the policy for all authenticated users, if "*" is its user or its
// group: anonymous requests are not meant, and the other of both does not count, as in 1.25.
func (p attributePolicy) ofAuthenticated() attributePolicy {
	if p.User == "*" || p.Group == "*" {
		p.User, p.Group = "", authn.GroupAuthenticated
	}
	return p
}

// unmarshalStrict refuses unknown members and anything behind the object: a policy that is
// misspelt must not be taken for another one.
func unmarshalStrict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON object")
	}
	return nil
}

// ofFirstForm is the policy that a line without a version stands for.
func (p attributePolicy) ofFirstForm() attributePolicy {
	everywhere := p.Namespace == "" && p.Resource == ""
	if p.User == "" && p.Group == "" {
		p.Group = authn.GroupAuthenticated
	}
	if p.Namespace == "" {
		p.Namespace = "*"
	}
	if p.Resource == "" {
		p.Resource = "*"
	}
	p.APIGroup, p.NonResourcePath = "*", ""
	if everywhere {
		p.NonResourcePath = "*"
	}
	return p.ofAuthenticated()
}

// covers reports whether a pattern, "*" or a text, covers a text.
func covers(pattern, text string) bool { return pattern == "*" || pattern == text }

// isFor reports whether the policy is about a user. One that names neither a user nor a
// group is about nobody.
func (p *attributePolicy) isFor(user *authn.User) bool {
	if p.User != "" && p.User != user.Name || p.Group != "" && !isIn(user, p.Group) {
		return false
	}
	return p.User != "" || p.Group != ""
}

func (p *attributePolicy) allows(a *Attributes) bool {
	if !p.isFor(a.User) || p.Readonly && a.Verb != "get" && a.Verb != "list" && a.Verb != "watch" {
		return false
	}
	if a.ResourceRequest {
		return covers(p.Namespace, a.Namespace) && covers(p.Resource, a.Resource) && covers(p.APIGroup, a.Group)
	}
	path := p.NonResourcePath
	return covers(path, a.Path) || strings.HasSuffix(path, "*") && strings.HasPrefix(a.Path, strings.TrimRight(path, "*"))
}

// Authorize implements Authorizer.
func (all attributePolicies) Authorize(_ context.Context, a *Attributes) (Decision, string, error) {
	for i := range all {
		if a.User != nil && all[i].allows(a) {
			return Allow, "", nil
		}
	}
	return NoOpinion, "No policy matched.", nil
}

// Rules implements RuleLister.
func (all attributePolicies) Rules(_ context.Context, user *authn.User, namespace string) (rules Rules, err error) {
	for i := range all {
		p := &all[i]
		if user == nil || !p.isFor(user) || !covers(p.Namespace, namespace) {
			continue
		}
		verbs := []string{"*"}
		if p.Readonly {
			verbs = []string{"get", "list", "watch"}
		}
		if p.Resource != "" {
			rules.Resources = append(rules.Resources, ResourceRule{Verbs: verbs, Groups: []string{p.APIGroup}, Resources: []string{p.Resource}})
		}
		if p.NonResourcePath != "" {
			rules.Paths = append(rules.Paths, PathRule{Verbs: verbs, Paths: []string{p.NonResourcePath}})
		}
	}
	return rules, nil
}
