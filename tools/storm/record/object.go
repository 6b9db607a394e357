package record

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/capstan-dev/capstan/internal/history"
)

// Object is an object as an answer showed it.
type Object struct {
	Resource string
	Revision uint64
	Meta     Meta
	Content  map[string]any // spec, status, data and the rest, with metadata
	Raw      json.RawMessage
}

// Meta is the part of the metadata that promises look at.
type Meta struct {
	Name              string            `json:"name"`
	Namespace         string            `json:"namespace"`
	UID               string            `json:"uid"`
	ResourceVersion   string            `json:"resourceVersion"`
	DeletionTimestamp string            `json:"deletionTimestamp"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	Finalizers        []string          `json:"finalizers"`
	OwnerReferences   []Owner           `json:"ownerReferences"`
	ManagedFields     []Managed         `json:"managedFields"`
}

// Owner is an entry of ownerReferences.
type Owner struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// Managed is an entry of managedFields.
type Managed struct {
	Manager    string         `json:"manager"`
	Operation  string         `json:"operation"`
	APIVersion string         `json:"apiVersion"`
	Sub        string         `json:"subresource"`
	Fields     map[string]any `json:"fieldsV1"`
}

// Parse reads an object in JSON.
func Parse(resource string, text []byte) (*Object, error) {
	o := &Object{Resource: resource, Raw: text}
	var head struct{ Metadata Meta }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &o.Content); err != nil {
		return nil, err
	}
	o.Meta = head.Metadata
	var err error
	if o.Revision, err = strconv.ParseUint(o.Meta.ResourceVersion, 10, 64); err != nil {
		return nil, fmt.Errorf("the resourceVersion %q of %s is not a number", o.Meta.ResourceVersion, o.Meta.Name)
	}
	return o, nil
}

// Key names the object.
func (o *Object) Key() string { return history.Key(o.Resource, o.Meta.Namespace, o.Meta.Name) }

// Field is the value at a path, nil when there is none.
func (o *Object) Field(path ...string) any {
	var v any = o.Content
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// Text is the text at a path, "" when there is none.
func (o *Object) Text(path ...string) string {
	s, _ := o.Field(path...).(string)
	return s
}
