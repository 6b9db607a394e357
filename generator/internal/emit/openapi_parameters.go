package emit

import (
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// parameter is one parameter of an operation, in the path or in the query.
type parameter struct {
	name, kind, description string
	inPath                  bool
}

// The query parameters of 1.25 by name.
var queryParameters = map[string]parameter{
	"pretty":               {kind: "string", description: "If true, the output is indented."},
	"dryRun":               {kind: "string", description: "All: check and answer as usual, but store nothing."},
	"fieldManager":         {kind: "string", description: "Name of the one who changes the object, up to 128 printable characters; required for apply."},
	"fieldValidation":      {kind: "string", description: "What to do about unknown and duplicate fields: Ignore, Warn (the default) or Strict."},
	"force":                {kind: "boolean", description: "Take over fields that other managers own; apply only."},
	"labelSelector":        {kind: "string", description: "Selects objects by their labels."},
	"fieldSelector":        {kind: "string", description: "Selects objects by their fields."},
	"limit":                {kind: "integer", description: "Most objects in one answer; the rest follows with continue."},
	"continue":             {kind: "string", description: "Token from the previous answer, asks for what follows it."},
	"resourceVersion":      {kind: "string", description: "The version that the answer must have reached, or that a watch begins after."},
	"resourceVersionMatch": {kind: "string", description: "How resourceVersion is meant: Exact or NotOlderThan."},
	"timeoutSeconds":       {kind: "integer", description: "Ends the request after that many seconds."},
	"watch":                {kind: "boolean", description: "Report changes as a stream of events instead of a list."},
	"allowWatchBookmarks":  {kind: "boolean", description: "Send events of type BOOKMARK that carry only a resourceVersion."},
	"gracePeriodSeconds":   {kind: "integer", description: "Seconds before the object is removed; 0 removes it now."},
	"orphanDependents":     {kind: "boolean", description: "Deprecated, use propagationPolicy. Keep the dependents of the object."},
	"propagationPolicy":    {kind: "string", description: "What becomes of dependents: Orphan, Background or Foreground."},
}

var (
	listParameters = []string{
		"allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
		"resourceVersion", "resourceVersionMatch", "timeoutSeconds",
	}
	writeParameters            = []string{"dryRun", "fieldManager", "fieldValidation"}
	patchParameters            = []string{"dryRun", "fieldManager", "fieldValidation", "force"}
	deleteParameters           = []string{"dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"}
	deleteCollectionParameters = []string{
		"continue", "dryRun", "fieldSelector", "gracePeriodSeconds", "labelSelector", "limit",
		"orphanDependents", "propagationPolicy", "resourceVersion", "resourceVersionMatch", "timeoutSeconds",
	}
)

func query(names ...string) []parameter {
	out := make([]parameter, 0, len(names))
	for _, name := range names {
		p := queryParameters[name]
		p.name = name
		out = append(out, p)
	}
	return out
}

func pathParameter(name, description string) parameter {
	return parameter{name: name, kind: "string", description: description, inPath: true}
}

// optionParameters are the fields of an options kind (PodExecOptions, …) as
// query parameters.
func optionParameters(t *model.Type) []parameter {
	var out []parameter
	for _, p := range t.Schema.Properties {
		kind := p.Schema.Type
		if s := itemsOf(p.Schema); s != nil {
			kind = s.Type // a list is a repeated parameter
		}
		switch kind {
		case "integer", "boolean":
		default:
			kind = "string"
		}
		out = append(out, parameter{name: p.Name, kind: kind, description: p.Schema.Description})
	}
	return out
}

func itemsOf(s *schema.Schema) *schema.Schema {
	if s.Type == "array" {
		return s.Items
	}
	return nil
}

// parameters renders parameters in the document's dialect.
func (c *components) parameters(list []parameter) []object {
	out := make([]object, 0, len(list))
	for _, p := range list {
		o := object{"name": p.name, "in": "query", "description": p.description, "uniqueItems": true}
		if p.inPath {
			o["in"], o["required"] = "path", true
		}
		if c.v3 {
			o["schema"] = object{"type": p.kind, "uniqueItems": true}
			delete(o, "uniqueItems")
		} else {
			o["type"] = p.kind
		}
		out = append(out, o)
	}
	return out
}
