package codec

import (
	"bytes"
	"encoding/binary"
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
// AppendRow with the Cells of every object, with commas between, then "]}".
//
// The cells: a computed cell shows the result of its function of the value at its path, if
// it has one. Without a function a path shows the value there; a time is shown as its age,
// unless the column's type is date. A path without a value shows the zero value of its
// type, null when the field distinguishes absent from zero, "<unknown>" for the age of no
// time.
type Table struct {
	opts    TableOptions
	columns []column
	before  string // the text before the metadata of a stored object
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
	t := &Table{opts: o, columns: make([]column, len(res.Columns)), completes: res.Completes, before: ItemPrefix(res.GV.APIVersion(), res.Kind) + `"metadata":`,
		object: appendPartialHead(nil, o.APIVersion)}
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
		col.absent = string(document.AppendQuoted(nil, c.Absent))
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
	dst = document.AppendQuoted(dst, t.opts.APIVersion)
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
		dst = document.AppendQuoted(dst, c.Name)
		dst = append(dst, `,"type":`...)
		dst = document.AppendQuoted(dst, c.Type)
		dst = append(dst, `,"format":`...)
		dst = document.AppendQuoted(dst, c.Format)
		dst = append(dst, `,"description":`...)
		dst = document.AppendQuoted(dst, c.Description)
		dst = append(dst, `,"priority":`...)
		dst = strconv.AppendInt(dst, int64(c.Priority), 10)
		dst = append(dst, '}')
	}
	if len(t.columns) == 0 {
		dst = append(dst, '[')
	}
	return append(dst, `],"rows":[`...)
}

// maxCells bounds the bytes of a row's cells from which on the others are null: each of
// thousands of columns may show the whole object.
const maxCells = 3 << 20

// Cells appends what AppendRow needs of an object for its cells. It is the same for every
// table of the resource, at any time: in place of an age it has the time.
func (t *Table) Cells(dst []byte, obj document.Value) []byte {
	start := len(dst)
	for i := range t.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		if len(dst)-start > maxCells {
			dst = append(dst, "null"...)
		} else {
			dst = t.columns[i].appendCell(dst, obj)
		}
	}
	dst = append(dst, ']')
	if t.completes {
		dst = appendCompleted(dst, obj.Get("status").Get("phase"))
	}
	return dst
}

// Metadata is the metadata in the canonical JSON of a stored object that has size bytes
// of it, nil if it is not there.
func (t *Table) Metadata(body []byte, size int) []byte {
	end := len(t.before) + size
	if end > len(body) || string(body[:len(t.before)]) != t.before {
		return nil
	}
	return body[len(t.before):end]
}

// AppendRow appends the row of an object: of its Cells, its metadata and its canonical
// JSON.
func (t *Table) AppendRow(dst, cells, metadata, body []byte) []byte {
	dst = append(dst, `{"cells":[`...)
	for at := bytes.IndexByte(cells, ageMark); at >= 0; at = bytes.IndexByte(cells, ageMark) {
		dst = append(dst, cells[:at]...)
		seconds, nanos := binary.LittleEndian.Uint64(cells[at+1:]), binary.LittleEndian.Uint32(cells[at+9:])
		dst = AppendAge(dst, t.opts.Now.Sub(time.Unix(int64(seconds), int64(nanos))))
		cells = cells[at+ageSize:]
	}
	dst = append(dst, cells...)
	dst = append(dst, `,"object":`...)
	switch t.opts.IncludeObject {
	case IncludeObject:
		return append(append(dst, body...), '}')
	case IncludeNone:
		return append(dst, "null}"...)
	}
	dst = append(dst, t.object...)
	dst = append(dst, metadata...)
	return append(dst, "}}"...)
}

// ageMark begins the place of an age in cells, of ageSize bytes: seconds and nanoseconds.
// JSON text has no such byte.
const (
	ageMark = 0
	ageSize = 1 + 8 + 4
)

// appendAgeMark appends the place of the age of a time.
func appendAgeMark(dst, since []byte) []byte {
	seconds, nanos, err := parseTime(since)
	if err != nil {
		return append(dst, unknown...)
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, ageMark), uint64(seconds))
	return binary.LittleEndian.AppendUint32(dst, uint32(nanos))
}

// appendCompleted appends whether an object in that phase is done.
func appendCompleted(dst []byte, phase document.Value) []byte {
	if !phase.Equals("Succeeded") && !phase.Equals("Failed") {
		return dst
	}
	dst = append(dst, `,"conditions":[{"type":"Completed","status":"True","reason":`...)
	dst = document.AppendQuoted(dst, phase.Text())
	return append(dst, `,"message":"The object is done."}]`...)
}

func (c *column) appendCell(dst []byte, obj document.Value) []byte {
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
			return document.AppendQuoted(dst, v.AppendJSON(nil))
		}
		return append(dst, "null"...)
	}
	if c.age {
		var space [32]byte
		dst = append(dst, '"')
		dst = appendAgeMark(dst, v.AppendText(space[:0]))
		return append(dst, '"')
	}
	return v.AppendJSON(dst)
}

// appendScalar appends the result of a cell function.
func appendScalar(dst []byte, cell any) []byte {
	switch cell := cell.(type) {
	case string:
		return document.AppendQuoted(dst, cell)
	case int64:
		return strconv.AppendInt(dst, cell, 10)
	case float64:
		if text, err := json.Marshal(cell); err == nil {
			return append(dst, text...)
		}
	case bool:
		return strconv.AppendBool(dst, cell)
	case api.Ago:
		dst = document.AppendQuoted(dst, cell.Before)
		dst = appendAgeMark(dst[:len(dst)-1], []byte(cell.Since))
		return append(dst, document.AppendQuoted(nil, cell.After)[1:]...)
	}
	return append(dst, "null"...)
}
