package emit

import (
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// operation is one method of one path, before it is written in a dialect.
type operation struct {
	id, tag, action string
	description     string
	kind            object // group, version and kind of the body; nil for none
	parameters      []parameter
	body            object   // schema of the request body; nil for none
	bodyRequired    bool     //
	bodyTypes       []string // media types; nil for any
	answer          object   // schema of a success
	codes           []string // success codes
	answerTypes     []string // media types
}

// mediaTypes are the representations that the server speaks.
type mediaTypes struct {
	object, list, patch, text, any []string
}

func newMediaTypes(p model.Profile) mediaTypes {
	json, yaml, binary := "application/json", "application/yaml", "application/vnd."+p.MediaTypeWord+".protobuf"
	return mediaTypes{
		object: []string{json, yaml, binary},
		list:   []string{json, yaml, binary, json + ";stream=watch", binary + ";stream=watch"},
		patch:  []string{"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"},
		text:   []string{"text/plain", json, yaml, binary},
		any:    []string{"*/*"},
	}
}

var codeDescriptions = map[string]string{"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}

// render writes an operation in the document's dialect.
func (c *components) render(op operation) object {
	o := object{"operationId": op.id, "tags": []string{op.tag}, "description": op.description}
	if op.action != "" {
		o[c.ext+"action"] = op.action
	}
	if op.kind != nil {
		o[c.ext+"group-version-kind"] = op.kind
	}
	responses := object{"401": object{"description": codeDescriptions["401"]}}
	for _, code := range op.codes {
		response := object{"description": codeDescriptions[code]}
		if c.v3 {
			response["content"] = content(op.answerTypes, op.answer)
		} else {
			response["schema"] = op.answer
		}
		responses[code] = response
	}
	o["responses"] = responses
	parameters := c.parameters(op.parameters)
	bodyTypes := op.bodyTypes
	if bodyTypes == nil {
		bodyTypes = []string{"*/*"}
	}
	if c.v3 {
		if op.body != nil {
			body := object{"content": content(bodyTypes, op.body)}
			if op.bodyRequired {
				body["required"] = true
			}
			o["requestBody"] = body
		}
	} else {
		if op.body != nil {
			body := object{"name": "body", "in": "body", "schema": op.body}
			if op.bodyRequired {
				body["required"] = true
			}
			parameters = append([]object{body}, parameters...)
		}
		o["consumes"], o["produces"], o["schemes"] = bodyTypes, op.answerTypes, []string{"https"}
	}
	if len(parameters) > 0 {
		o["parameters"] = parameters
	}
	return o
}

func content(types []string, schema object) object {
	o := object{}
	for _, t := range types {
		o[t] = object{"schema": schema}
	}
	return o
}
