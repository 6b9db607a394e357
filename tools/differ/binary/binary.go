// Package binary turns JSON objects of built-in kinds into the binary form, as clients of the reference's release send it.
package binary

import (
	"encoding/json"
	"fmt"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// MediaType is the Content-Type of the form.
const MediaType = "application/vnd.kubernetes.protobuf"

// prefix begins every body of the form.
var prefix = []byte{0x6b, 0x38, 0x73, 0x00}

// Encode writes an object given as JSON in the binary form. Fields that the kind does not have are lost; a value of the wrong
// type, and a kind that is not built in, is an error.
func Encode(object []byte) ([]byte, error) {
	var head runtime.TypeMeta
	if err := json.Unmarshal(object, &head); err != nil {
		return nil, err
	}
	kind := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
	typed, err := newObject(kind)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(object, typed); err != nil {
		return nil, err
	}
	message, ok := typed.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return nil, fmt.Errorf("%s has no binary form", kind)
	}
	raw, err := message.Marshal()
	if err != nil {
		return nil, err
	}
	unknown := runtime.Unknown{TypeMeta: head, Raw: raw}
	body, err := unknown.Marshal()
	return append(prefix[:len(prefix):len(prefix)], body...), err
}

func newObject(kind schema.GroupVersionKind) (any, error) {
	switch kind {
	case apiextensions.SchemeGroupVersion.WithKind("CustomResourceDefinition"):
		return &apiextensions.CustomResourceDefinition{}, nil
	case apiregistration.SchemeGroupVersion.WithKind("APIService"):
		return &apiregistration.APIService{}, nil
	}
	if kind.Kind == "DeleteOptions" {
		return &metav1.DeleteOptions{}, nil
	}
	return scheme.Scheme.New(kind)
}
