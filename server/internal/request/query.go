package request

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// Query reads the query parameters. Parsing is delayed until a parameter is read; most
// requests have none.
type Query struct {
	raw    string
	Values url.Values
}

// maxParameters is far below the number from which the standard library reads none at
// all, so that no dry run becomes a real write.
const maxParameters = 1000

// check refuses a query with too many parameters.
func (q *Query) check() error {
	if n := strings.Count(q.raw, "&"); n >= maxParameters {
		return api.BadRequest("the query has %d parameters, at most %d are allowed", n+1, maxParameters)
	}
	return nil
}

// Get returns the first value of a parameter, "" without one.
func (q *Query) Get(name string) string {
	if q.raw == "" {
		return ""
	}
	if q.Values == nil {
		q.Values, _ = url.ParseQuery(q.raw)
	}
	return q.Values.Get(name)
}

// Has reports whether a parameter is there, with or without a value.
func (q *Query) Has(name string) bool {
	q.Get(name)
	return q.Values.Has(name)
}

// IsWatch reads the watch parameter: as in 1.25, anything but an explicit no means yes.
func (q *Query) IsWatch() bool {
	if q.raw == "" || !q.Has("watch") {
		return false
	}
	return q.Flag("watch")
}

// Flag reads a boolean: absent, "0" and "false" are false, everything else is true.
func (q *Query) Flag(name string) bool {
	switch v := q.Get(name); strings.ToLower(v) {
	case "0", "false":
		return false
	case "":
		return q.Has(name)
	}
	return true
}

// duration reads a time such as "30s"; zero when the parameter is absent or empty.
func (q *Query) duration(name string) (time.Duration, error) {
	v := q.Get(name)
	if v == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil {
		return 0, api.BadRequest("invalid %s specified in the request URL - %v; write it like 30s or 1m30s", name, err)
	}
	return d, nil
}

// Integer reads a number; nil when the parameter is absent.
func (q *Query) Integer(name string) (*int64, error) {
	if !q.Has(name) {
		return nil, nil
	}
	v := q.Get(name)
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return nil, api.BadRequest("query parameter %s: %q is not a whole number", name, v)
	}
	return &n, nil
}

// WriteOptions reads and checks the options of create, update and patch; kind
// names them in errors ("CreateOptions").
func (r *Request) WriteOptions(kind string) (objects.Options, error) {
	q := &r.Query
	o := objects.Options{User: r.User, Author: r, Manager: cmp.Or(apply.ManagerName("", r.HTTP.UserAgent()), "unknown"), Validation: "Warn"}
	if !r.Features[options.FieldValidation] {
		o.Validation = "Ignore"
	}
	if q.raw == "" && !r.Applies() {
		return o, nil
	}
	var causes []schema.Cause
	o.Force = q.Flag("force")
	if kind == "PatchOptions" && q.Has("force") && !r.Applies() {
		causes = append(causes, schema.Cause{Reason: schema.CauseForbidden, Field: "force", Message: "Forbidden: may not be specified for non-apply patch"})
	}
	o.FieldManager = q.Get("fieldManager")
	causes = append(causes, apply.CheckManager(o.FieldManager, r.Applies())...)
	if o.FieldManager != "" {
		o.Manager = o.FieldManager
	}
	o.DryRun, causes = q.DryRun(causes)
	if v := q.Get("fieldValidation"); v != "" {
		if r.Features[options.FieldValidation] {
			o.Validation, o.AskedValidation = v, v
		}
		if v != "Ignore" && v != "Warn" && v != "Strict" {
			causes = append(causes, api.NotSupported("fieldValidation", v, "", "Ignore", "Strict", "Warn"))
		}
	}
	if len(causes) > 0 {
		return o, InvalidOptions(kind, causes)
	}
	return o, nil
}

// tries refuses a write that is tried only, where the feature is off.
func (r *Request) tries() error {
	if !r.Mutating() || !r.Query.Has("dryRun") || r.Features[options.DryRun] || r.Target.Row == nil || r.Target.Connects() {
		return nil
	}
	return api.BadRequest("the dryRun feature is disabled")
}

// DryRun reads the dryRun parameter, and appends the causes of its wrong values.
func (q *Query) DryRun(causes []schema.Cause) (bool, []schema.Cause) {
	if !q.Has("dryRun") {
		return false, causes
	}
	on := false
	for _, v := range q.Values["dryRun"] {
		if v == "All" {
			on = true
		} else { // also the empty word: its sender may not want a write
			causes = append(causes, api.NotSupported("dryRun", v, "All"))
		}
	}
	return on, causes
}

// InvalidOptions is the 422 of options, of a kind such as "DeleteOptions".
func InvalidOptions(kind string, causes []schema.Cause) error {
	return api.Invalid(metaGroup, kind, "", causes)
}
