package codec

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The values of the includeObject parameter: the content of a table's rows besides their
// cells.
const (
	IncludeNone     = "None"
	IncludeMetadata = "Metadata" // a PartialObjectMetadata, the default
	IncludeObject   = "Object"
)

// TableOptions are the parameters of a table.
type TableOptions struct {
	APIVersion    string    // of the table and of the metadata in its rows: "meta.k8s.io/v1"
	IncludeObject string    // one of the Include constants; "" is IncludeMetadata
	NoHeaders     bool      // leave out the column definitions (later events of a watch)
	Now           time.Time // ages are counted up to it
}

// Table writes objects of one resource as a table, a row at a time: AppendHead, then
// AppendRow for every object with commas between, then "]}".
//
// The cells: a computed cell shows the result of its function of the value at its path, if
// it has one. Without a function a path shows the value there; a time is shown as its age, unless the column's type is date. A path without a
// value shows the zero value of its type, null when the field distinguishes absent from
// zero, "<unknown>" for the age of no time.
type Table struct {
	opts    TableOptions
	columns []column
	object  []byte // the text before the metadata in a row: IncludeMetadata only

	completes bool // rows report whether their object is done
}

type column struct {
	*api.Column
	path   []string
	age    bool   // show the age of the time at path
	absent string // JSON of a path without a value
}

// NewTable prepares a table. The error is a 400 for a wrong IncludeObject.
func NewTable(res *api.Resource, o TableOptions) (*Table, error) {
	switch o.IncludeObject {
	case "":
		o.IncludeObject = IncludeMetadata
	case IncludeNone, IncludeMetadata, IncludeObject:
	default:
		return nil, api.BadRequest("unrecognized includeObject value %q: use None, Metadata or Object", o.IncludeObject)
	}
	t := &Table{opts: o, columns: make([]column, len(res.Columns)), completes: res.Completes, object: appendPartialHead(nil, o.APIVersion)}
	for i := range res.Columns {
		t.columns[i] = newColumn(res, &res.Columns[i])
	}
	return t, nil
}

// Plain reports whether the columns are those of a kind without columns of its own: such
// a table without objects has null for its rows, as in 1.25.
func (t *Table) Plain() bool {
	return len(t.columns) == 2 && t.columns[1].Name == "Created At"
}

// HasObjects reports whether the rows hold the objects.
func (t *Table) HasObjects() bool { return t.opts.IncludeObject == IncludeObject }

func newColumn(res *api.Resource, c *api.Column) column {
	col := column{Column: c, absent: "null"}
	if path := strings.TrimPrefix(c.Path, "."); path != "" {
		col.path = strings.Split(path, ".")
	}
	if c.Cell != nil {
		return col
	}
	kind, presence := fieldAt(res.GV.Types(), res.Type, col.path)
	switch {
	case (kind == schema.Time || kind == schema.MicroTime) && c.Type != "date":
		col.age, col.absent = true, `"`+unknown+`"`
	case kind == schema.String:
		col.absent = `""`
	case presence == schema.Explicit:
	case kind == schema.Integer:
		col.absent = "0"
	case kind == schema.Boolean:
		col.absent = "false"
	}
	if c.Absent != "" {
		col.absent = string(appendQuoted(nil, c.Absent))
	}
	return col
}

// fieldAt is the kind and presence of the field at a path; 0 and Explicit when
// the schema does not know it.
func fieldAt(t *schema.Table, ref schema.Ref, path []string) (schema.Kind, schema.Presence) {
	presence := schema.Explicit
	for _, name := range path {
		if ref < 0 || int(ref) >= len(t.Types) {
			return 0, schema.Explicit
		}
		typ := &t.Types[ref]
		switch i := typ.Field(name); {
		case i >= 0:
			ref, presence = typ.Fields[i].Type, typ.Fields[i].Presence
		case typ.Kind == schema.Map:
			ref, presence = typ.Elem, schema.Explicit
		default:
			return 0, schema.Explicit
		}
	}
	if ref < 0 || int(ref) >= len(t.Types) {
		return 0, schema.Explicit
	}
	return t.Types[ref].Kind, presence
}

// AppendHead appends everything before the rows.
func (t *Table) AppendHead(dst []byte, m ListMeta) []byte {
	dst = append(dst, `{"kind":"Table","apiVersion":`...)
	dst = appendQuoted(dst, t.opts.APIVersion)
	dst = append(dst, `,"metadata":`...)
	dst = m.AppendJSON(dst)
	dst = append(dst, `,"columnDefinitions":`...)
	if t.opts.NoHeaders {
		return append(dst, `null,"rows":[`...)
	}
	for i := range t.columns {
		c := &t.columns[i]
		dst = append(dst, "[,"[min(i, 1)])
		dst = append(dst, `{"name":`...)
		dst = appendQuoted(dst, c.Name)
		dst = append(dst, `,"type":`...)
		dst = appendQuoted(dst, c.Type)
		dst = append(dst, `,"format":`...)
		dst = appendQuoted(dst, c.Format)
		dst = append(dst, `,"description":`...)
		dst = appendQuoted(dst, c.Description)
		dst = append(dst, `,"priority":`...)
		dst = strconv.AppendInt(dst, int64(c.Priority), 10)
		dst = append(dst, '}')
	}
	if len(t.columns) == 0 {
		dst = append(dst, '[')
	}
	return append(dst, `],"rows":[`...)
}

// AppendRow appends the row of an object, given as a tree for the cells and as the
// canonical JSON it was read from. An error means that the JSON is not that of an object.
func (t *Table) AppendRow(dst []byte, obj document.Value, body []byte) ([]byte, error) {
	dst = append(dst, `{"cells":[`...)
	for i := range t.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = t.columns[i].appendCell(dst, obj, t.opts.Now)
	}
	dst = append(dst, ']')
	if t.completes {
		dst = appendCompleted(dst, obj.Get("status").Get("phase"))
	}
	dst = append(dst, `,"object":`...)
	switch t.opts.IncludeObject {
	case IncludeObject:
		return append(append(dst, body...), '}'), nil
	case IncludeNone:
		return append(dst, "null}"...), nil
	}
	metadata := obj.Get("metadata")
	if !metadata.Exists() {
		return dst, errSyntax
	}
	dst = append(dst, t.object...)
	dst = metadata.AppendJSON(dst)
	return append(dst, "}}"...), nil
}

// appendCompleted appends whether an object in that phase is done.
func appendCompleted(dst []byte, phase document.Value) []byte {
	if !phase.Equals("Succeeded") && !phase.Equals("Failed") {
		return dst
	}
	dst = append(dst, `,"conditions":[{"type":"Completed","status":"True","reason":`...)
	dst = appendQuoted(dst, phase.Text())
	return append(dst, `,"message":"The object is done."}]`...)
}

func (c *column) appendCell(dst []byte, obj document.Value, now time.Time) []byte {
	v := obj
	for _, name := range c.path {
		v = v.Get(name)
	}
	if c.Cell != nil {
		return appendScalar(dst, c.Cell(v))
	}
	switch v.Kind() {
	case document.Absent, document.Null:
		return append(dst, c.absent...)
	case document.String:
		if c.Absent != "" && v.Equals("") {
			return append(dst, c.absent...)
		}
	case document.Array, document.Object:
		if c.Type == "string" {
			return appendQuoted(dst, v.AppendJSON(nil))
		}
		return append(dst, "null"...)
	}
	if c.age {
		var space [32]byte
		dst = append(dst, '"')
		dst = appendAgeSince(dst, v.AppendText(space[:0]), now)
		return append(dst, '"')
	}
	return v.AppendJSON(dst)
}

// appendScalar appends the result of a cell function.
func appendScalar(dst []byte, cell any) []byte {
	switch cell := cell.(type) {
	case string:
		return appendQuoted(dst, cell)
	case int64:
		return strconv.AppendInt(dst, cell, 10)
	case float64:
		if text, err := json.Marshal(cell); err == nil {
			return append(dst, text...)
		}
	case bool:
		return strconv.AppendBool(dst, cell)
	}
	return append(dst, "null"...)
}
