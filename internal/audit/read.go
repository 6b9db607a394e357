package audit

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/capstan-dev/capstan/internal/configfile"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

const (
	suffix     = profile.GroupSuffix
	apiVersion = "audit." + suffix + "/v1" // of policies and events
)

// policyText is a policy file.
type policyText struct {
	Metadata   yaml.Node  `yaml:"metadata"`
	Rules      []ruleText `yaml:"rules"`
	OmitStages []string   `yaml:"omitStages"`
	OmitFields bool       `yaml:"omitManagedFields"`
}

type ruleText struct {
	Level      string      `yaml:"level"`
	Users      []string    `yaml:"users"`
	Groups     []string    `yaml:"userGroups"`
	Verbs      []string    `yaml:"verbs"`
	Resources  []groupText `yaml:"resources"`
	Namespaces []string    `yaml:"namespaces"`
	Paths      []string    `yaml:"nonResourceURLs"`
	OmitStages []string    `yaml:"omitStages"`
	OmitFields *bool       `yaml:"omitManagedFields"`
}

type groupText struct {
	Group     string   `yaml:"group"`
	Resources []string `yaml:"resources"`
	Names     []string `yaml:"resourceNames"`
}

// readPolicy reads a policy, in YAML or JSON. Errors begin with the file and the line.
func readPolicy(path string) (*Policy, error) {
	var text policyText
	file, err := configfile.Load(path, &text, "Policy", apiVersion)
	if err != nil {
		return nil, err
	}
	if len(text.Rules) == 0 {
		return nil, file.WrongAt([]any{"rules"}, "the policy has no rules; a rule with the level Metadata alone records every request")
	}
	always, err := readStages(file.At("omitStages"), text.OmitStages)
	if err != nil {
		return nil, err
	}
	p := &Policy{}
	for i := range text.Rules {
		r, err := readRule(file.At("rules", i), &text.Rules[i])
		if err != nil {
			return nil, err
		}
		r.Omit |= always
		if text.Rules[i].OmitFields == nil {
			r.OmitManagedFields = text.OmitFields
		}
		p.rules = append(p.rules, r)
	}
	return p, nil
}

func readRule(at configfile.Value, text *ruleText) (Rule, error) {
	r := Rule{users: text.Users, groups: text.Groups, verbs: text.Verbs, namespaces: text.Namespaces, paths: text.Paths,
		OmitManagedFields: text.OmitFields != nil && *text.OmitFields}
	level := slices.Index(levelNames, text.Level)
	if level < 0 {
		return r, at.WrongAt([]any{"level"}, "the level %q is none of %s", text.Level, strings.Join(levelNames, ", "))
	}
	r.Level = Level(level)
	var err error
	if r.Omit, err = readStages(at.At("omitStages"), text.OmitStages); err != nil {
		return r, err
	}
	for i, g := range text.Resources {
		if in := at.At("resources", i); g.Group != "" && len(validation.IsDNS1123Subdomain(g.Group)) > 0 {
			return r, in.WrongAt([]any{"group"}, "%q is not the name of a group: it has no version, and \"\" is the core group", g.Group)
		} else if len(g.Names) > 0 && len(g.Resources) == 0 {
			return r, in.Wrong("resourceNames need at least one resource")
		}
		r.resources = append(r.resources, resources{group: g.Group, names: g.Resources, objects: g.Names})
	}
	for i, path := range text.Paths {
		if start := strings.TrimSuffix(path, "*"); path != "*" && (!strings.HasPrefix(start, "/") || strings.Contains(start, "*")) {
			return r, at.At("nonResourceURLs", i).Wrong("%q: a path begins with / and has no * before its end", path)
		}
	}
	if len(r.paths) > 0 && (len(r.resources) > 0 || len(r.namespaces) > 0) {
		return r, at.At("nonResourceURLs").Wrong("a rule is about resources or about nonResourceURLs; make two of it")
	}
	return r, nil
}

func readStages(at configfile.Value, names []string) (all Stages, err error) {
	for i, name := range names {
		stage := slices.Index(stageNames, name)
		if stage < 0 {
			return all, at.At(i).Wrong("the stage %q is none of %s", name, strings.Join(stageNames, ", "))
		}
		all |= 1 << stage
	}
	return all, nil
}
