package client

import (
	"net/url"
	"strconv"
)

// GetOptions are the options of Get. The zero value asks for the latest state.
type GetOptions struct {
	ResourceVersion string // at least this version; "0" for any
}

func (o GetOptions) query() url.Values {
	q := url.Values{}
	set(q, "resourceVersion", o.ResourceVersion)
	return q
}

// ListOptions select the objects of List, Watch and DeleteCollection. The zero value
// selects everything.
type ListOptions struct {
	LabelSelector        string
	FieldSelector        string
	ResourceVersion      string
	ResourceVersionMatch string // Exact or NotOlderThan
	Limit                int64  // most objects in one answer; 0 for no limit
	Continue             string // token of the previous answer
	TimeoutSeconds       int64  // ends a watch; 0 for the server's choice
	AllowWatchBookmarks  bool
}

func (o ListOptions) query() url.Values {
	q := url.Values{}
	set(q, "labelSelector", o.LabelSelector)
	set(q, "fieldSelector", o.FieldSelector)
	set(q, "resourceVersion", o.ResourceVersion)
	set(q, "resourceVersionMatch", o.ResourceVersionMatch)
	set(q, "continue", o.Continue)
	setInt(q, "limit", o.Limit)
	setInt(q, "timeoutSeconds", o.TimeoutSeconds)
	setBool(q, "allowWatchBookmarks", o.AllowWatchBookmarks)
	return q
}

// WriteOptions are the options of Create, Update and Patch.
type WriteOptions struct {
	DryRun          bool   // check and answer as usual, but store nothing
	FieldManager    string // required for Apply
	FieldValidation string // Ignore, Warn or Strict; "" for Warn
	Force           bool   // Apply takes fields from other managers
}

func (o WriteOptions) query() url.Values {
	q := url.Values{}
	if o.DryRun {
		q.Set("dryRun", "All")
	}
	set(q, "fieldManager", o.FieldManager)
	set(q, "fieldValidation", o.FieldValidation)
	setBool(q, "force", o.Force)
	return q
}

// DeleteOptions are the options of Delete and DeleteCollection. The zero value uses the
// server's defaults.
type DeleteOptions struct {
	GracePeriodSeconds *int64         `json:"gracePeriodSeconds,omitempty"`
	PropagationPolicy  string         `json:"propagationPolicy,omitempty"` // Orphan, Background or Foreground
	Preconditions      *Preconditions `json:"preconditions,omitempty"`
	DryRun             []string       `json:"dryRun,omitempty"` // {"All"} checks, but deletes nothing
}

// Preconditions must hold for a delete to happen; otherwise it is a conflict.
type Preconditions struct {
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// deleteBody is the body of a delete.
type deleteBody struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	DeleteOptions
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setInt(q url.Values, name string, value int64) {
	if value != 0 {
		q.Set(name, strconv.FormatInt(value, 10))
	}
}

func setBool(q url.Values, name string, value bool) {
	if value {
		q.Set(name, "true")
	}
}
