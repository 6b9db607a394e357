package conversion

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// review is a ConversionReview as an answer has it.
type review struct {
	Kind       string    `json:"kind"`
	APIVersion string    `json:"apiVersion"`
	Response   *response `json:"response"`
}

type response struct {
	UID     string            `json:"uid"`
	Objects []json.RawMessage `json:"convertedObjects"`
	Result  struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"result"`
}

// read returns the objects of the answer to the review with a uid. Answers in v1beta1 may
// lack the kind and the uid.
func (asked *review) read(text []byte, uid string) ([][]byte, error) {
	var r review
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("couldn't get version/kind; json parse error: %w", err)
	}
	strict := strings.HasSuffix(asked.APIVersion, "/v1")
	switch {
	case strict && (r.Kind != asked.Kind || r.APIVersion != asked.APIVersion):
		return nil, fmt.Errorf("expected webhook response of %s, got %s", gvk(asked.APIVersion, asked.Kind), gvk(r.APIVersion, r.Kind))
	case r.Response == nil:
		return nil, errors.New("no response provided")
	case strict && r.Response.UID != uid:
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, r.Response.UID)
	}
	switch result := r.Response.Result; {
	case result.Status == "Success":
	case result.Message != "":
		return nil, errors.New(result.Message)
	default:
		return nil, fmt.Errorf("response.result.status was '%s', not 'Success'", result.Status)
	}
	all := make([][]byte, len(r.Response.Objects))
	for i, text := range r.Response.Objects {
		all[i] = text
	}
	return all, nil
}

// gvk is a kind in messages.
func gvk(apiVersion, kind string) string {
	if apiVersion != "" && !strings.Contains(apiVersion, "/") {
		apiVersion = "/" + apiVersion
	}
	return apiVersion + ", Kind=" + kind
}
