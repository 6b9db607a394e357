package server

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// query reads the query parameters. Parsing is put off until a parameter is
// asked for; most requests have none.
type query struct {
	raw    string
	values url.Values
}

// maxParameters is far below the number from which the standard library reads
// none at all, so that no dry run becomes a real one.
const maxParameters = 1000

// check refuses a query with too many parameters.
func (q *query) check() error {
	if n := strings.Count(q.raw, "&"); n >= maxParameters {
		return api.BadRequest("the query has %d parameters, at most %d are allowed", n+1, maxParameters)
	}
	return nil
}

func (q *query) get(name string) string {
	if q.raw == "" {
		return ""
	}
	if q.values == nil {
		q.values, _ = url.ParseQuery(q.raw)
	}
	return q.values.Get(name)
}

func (q *query) has(name string) bool {
	q.get(name)
	return q.values.Has(name)
}

// isWatch reads the watch parameter: as in 1.25, anything but an explicit no
// means yes.
func (q *query) isWatch() bool {
	if q.raw == "" || !q.has("watch") {
		return false
	}
	return q.flag("watch")
}

// flag reads a boolean: absent, "0" and "false" are false, all else is true.
func (q *query) flag(name string) bool {
	switch v := q.get(name); strings.ToLower(v) {
	case "0", "false":
		return false
	case "":
		return q.has(name)
	}
	return true
}

// duration reads a time such as "30s"; zero when the parameter is absent or empty.
func (q *query) duration(name string) (time.Duration, error) {
	v := q.get(name)
	if v == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, api.BadRequest("invalid %s specified in the request URL - %v; write it like 30s or 1m30s", name, err)
	}
	return d, nil
}

// integer reads a number; nil when the parameter is absent.
func (q *query) integer(name string) (*int64, error) {
	if !q.has(name) {
		return nil, nil
	}
	v := q.get(name)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return nil, api.BadRequest("query parameter %s: %q is not a whole number", name, v)
	}
	return &n, nil
}

// writeOptions reads and checks the options of create, update and patch; kind
// names them in errors ("CreateOptions").
func (r *request) writeOptions(kind string) (objects.Options, error) {
	q := &r.query
	o := objects.Options{User: r.user, Author: r, Manager: apply.ManagerName("", r.http.UserAgent()), Validation: "Warn"}
	if !r.on[features.FieldValidation] {
		o.Validation = "Ignore"
	}
	if q.raw == "" && !r.applies() {
		return o, nil
	}
	var causes []schema.Cause
	o.Force = q.flag("force")
	if kind == "PatchOptions" && q.has("force") && !r.applies() {
		causes = append(causes, schema.Cause{Reason: schema.CauseForbidden, Field: "force", Message: "Forbidden: may not be specified for non-apply patch"})
	}
	o.FieldManager = q.get("fieldManager")
	causes = append(causes, apply.CheckManager(o.FieldManager, r.applies())...)
	if o.FieldManager != "" {
		o.Manager = o.FieldManager
	}
	o.DryRun, causes = q.dryRun(causes)
	if v := q.get("fieldValidation"); v != "" {
		if r.on[features.FieldValidation] {
			o.Validation = v
		}
		if v != "Ignore" && v != "Warn" && v != "Strict" {
			causes = append(causes, api.NotSupported("fieldValidation", v, "Ignore", "Strict", "Warn"))
		}
	}
	if len(causes) > 0 {
		return o, invalidOptions(kind, causes)
	}
	return o, nil
}

func (q *query) dryRun(causes []schema.Cause) (bool, []schema.Cause) {
	if !q.has("dryRun") {
		return false, causes
	}
	on := false
	for _, v := range q.values["dryRun"] {
		if v == "All" {
			on = true
		} else { // also the empty word: whoever sent it may not want a write
			causes = append(causes, api.NotSupported("dryRun", v, "All"))
		}
	}
	return on, causes
}

func invalidOptions(kind string, causes []schema.Cause) error {
	return api.Invalid(metaGroup, kind, "", causes)
}
