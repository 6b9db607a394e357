package emit

import (
	"strconv"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// operation is one method of one path, before it is written in a dialect.
type operation struct {
	id, tag, action string
	description     string
	kind            object // group, version and kind of the body; nil for none
	parameters      []parameter
	body            object            // schema of the request body; nil for none
	bodyRequired    bool              //
	bodyTypes       []string          // media types; nil for any
	answer          object            // schema of a success
	codes           []string          // success codes
	answerTypes     []string          // media types
	does            *model.Action     // nil for operations of others
	refusals        map[string]object // further answers by their codes, in place of the usual ones
}

// mediaTypes are the representations that the server speaks.
type mediaTypes struct {
	object, list, stream, patch, text, any []string
}

func newMediaTypes(p model.Profile) mediaTypes {
	json, yaml, binary := "application/json", "application/yaml", "application/vnd."+p.MediaTypeWord+".protobuf"
	return mediaTypes{
		object: []string{json, yaml, binary},
		list:   []string{json, yaml, binary, json + ";stream=watch", binary + ";stream=watch"},
		stream: []string{json + ";stream=watch"},
		patch:  []string{"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"},
		text:   []string{"text/plain", json, yaml, binary},
		any:    []string{"*/*"},
	}
}

var codeDescriptions = map[string]string{"200": "OK", "201": "Created", "202": "Accepted"}

// failures are the answers that refuse a request, by their codes: the name that refers to
// them, and the reason. All have a Status.
var failures = map[string]struct{ name, why string }{
	"400": {"BadRequest", "The request cannot be understood."},
	"401": {"Unauthorized", "The credentials are missing or wrong."},
	"403": {"Forbidden", "The user may not do this, or an admission rule forbids it."},
	"404": {"NotFound", "The object, its namespace or the resource does not exist."},
	"409": {"Conflict", "The object exists, has changed since it was read, or belongs to another field manager."},
	"410": {"Gone", "The version that the request names is forgotten: list again."},
	"415": {"UnsupportedMediaType", "The server does not read the media type of the body."},
	"422": {"Invalid", "The object breaks rules; details.causes has all of them."},
	"429": {"TooManyRequests", "The server is busy, or a budget forbids it for now: repeat after the time in Retry-After."},
}

// failureCodes are the codes of the answers that refuse an operation.
func (op *operation) failureCodes() []string {
	codes := []string{"401", "403", "429"}
	switch op.action {
	case "": // discovery
		return codes
	case "get", "connect":
		return append(codes, "400", "404")
	case "list", "watch", "watchlist":
		return append(codes, "400", "404", "410")
	}
	return append(codes, "400", "404", "409", "415", "422")
}

// failed refers to the description of a refusal.
func (c *components) failed(code string) object {
	prefix := "#/responses/"
	if c.v3 {
		prefix = "#/components/responses/"
	}
	return object{"$ref": prefix + failures[code].name}
}

// refusals are the descriptions of all refusals, that failed refers to.
func (p *paths) refusals() (lines, error) {
	status, err := p.metaRef("Status")
	if err != nil {
		return nil, err
	}
	out := lines{}
	for _, f := range failures {
		out[f.name] = p.refusal(f.why, status)
	}
	return out, nil
}

// refusal is an answer that refuses a request for a reason.
func (p *paths) refusal(why string, status object) object {
	if p.v3 {
		return object{"description": why, "content": content(p.media.object, status)}
	}
	return object{"description": why, "schema": status}
}

// refusalsOf are the answers with which an action refuses a call, by their codes.
func (p *paths) refusalsOf(a *model.Action) map[string]object {
	status, _ := p.metaRef("Status") // refusals has looked for it
	all := map[string]object{}
	for _, e := range a.Errors {
		all[strconv.Itoa(e.Reason.Refuses())] = p.refusal(e.Description, status)
	}
	return all
}

// head are the members of an operation that say what it is.
func (c *components) head(op *operation) object {
	o := object{"operationId": op.id, "tags": []string{op.tag}, "description": op.description}
	if op.action != "" {
		o[c.ext+"action"] = op.action
	}
	if op.kind != nil {
		o[c.ext+"group-version-kind"] = op.kind
	}
	if op.does == nil {
		return o
	}
	if o[c.ext+"effect"] = op.does.Effect; op.does.Verb != "" {
		o[c.ext+"verb"] = op.does.Verb
	}
	if op.does.DeprecatedSince != "" && c.releases.Begun(op.does.DeprecatedSince) {
		o["deprecated"] = true
	}
	return o
}

// render writes an operation in the document's dialect.
func (c *components) render(op operation) object {
	o, responses := c.head(&op), object{}
	for _, code := range op.failureCodes() {
		responses[code] = c.failed(code)
	}
	for code, refusal := range op.refusals {
		responses[code] = refusal
	}
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
