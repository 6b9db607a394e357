// Package authorizers reads the file that names the authorizers of a server, and asks those that it names at the time.
//
// The file is an AuthorizationConfiguration of kube-apiserver. Each text of the file is checked when it is read, at the start and at each
// change, with the words of kube-apiserver. Authorizers that have a state of their own (roles, nodes, policies of a file) are those of
// the start; webhooks are made anew.
package authorizers

import (
	"errors"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/configfile"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// configuration is the content of a file.
type configuration struct {
	Authorizers []authorizer `yaml:"authorizers"`
}

type authorizer struct {
	Type    string   `yaml:"type"`
	Name    string   `yaml:"name"`
	Webhook *webhook `yaml:"webhook"`
}

type webhook struct {
	AuthorizedTTL                            duration    `yaml:"authorizedTTL"`
	CacheAuthorizedRequests                  *bool       `yaml:"cacheAuthorizedRequests"`
	UnauthorizedTTL                          duration    `yaml:"unauthorizedTTL"`
	CacheUnauthorizedRequests                *bool       `yaml:"cacheUnauthorizedRequests"`
	Timeout                                  duration    `yaml:"timeout"`
	SubjectAccessReviewVersion               string      `yaml:"subjectAccessReviewVersion"`
	MatchConditionSubjectAccessReviewVersion string      `yaml:"matchConditionSubjectAccessReviewVersion"`
	FailurePolicy                            string      `yaml:"failurePolicy"`
	ConnectionInfo                           connection  `yaml:"connectionInfo"`
	MatchConditions                          []condition `yaml:"matchConditions"`

	compiled *conditions // of the match conditions, after validate
}

// connection has no names in JSON: a refusal shows those of the fields, as kube-apiserver does.
type connection struct {
	Type           string  `yaml:"type"`
	KubeConfigFile *string `yaml:"kubeConfigFile"`
}

type condition struct {
	Expression string `yaml:"expression"`
}

// duration is a text like 30s.
type duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	parsed, err := time.ParseDuration(n.Value)
	switch {
	case n.Tag == "!!null":
		return nil
	case n.Tag != "!!str":
		err = errors.New("a duration is a text with a unit, like 30s")
	}
	if err != nil {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %v", n.Line, err)}}
	}
	*d = duration(parsed)
	return nil
}

// read reads the text of a file of a release.
func read(path string, text []byte, since func(string) bool) (c configuration, err error) {
	versions := configfile.Versions("apiserver.config."+profile.GroupSuffix, since, "1.30", "1.32")
	v, err := configfile.LoadText(path, text, &c, "AuthorizationConfiguration", versions...)
	if err != nil {
		return c, err
	}
	for i, a := range c.Authorizers {
		if a.Webhook == nil {
			continue
		}
		for _, name := range [...]string{"cacheAuthorizedRequests", "cacheUnauthorizedRequests"} {
			if at := v.At("authorizers", i, "webhook", name); at.Exists() && !since("1.34") {
				return c, at.Wrong("unknown field %q", name)
			}
		}
		a.Webhook.complete()
	}
	return c, nil
}

// complete fills in what a file does not say.
func (w *webhook) complete() {
	if w.AuthorizedTTL == 0 {
		w.AuthorizedTTL = duration(5 * time.Minute)
	}
	if w.UnauthorizedTTL == 0 {
		w.UnauthorizedTTL = duration(30 * time.Second)
	}
}

// life is the time for which an answer counts; less than 0 for not at all.
func life(ttl duration, cached *bool) time.Duration {
	if cached != nil && !*cached {
		return -1
	}
	return time.Duration(ttl)
}
