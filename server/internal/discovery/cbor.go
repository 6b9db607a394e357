package discovery

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
)

// The media types that documents of releases with CBOR have besides others.
const (
	cborSequence = codec.CBORMedia + "-seq"
	applyYAML    = "application/apply-patch+yaml"
	applyCBOR    = "application/apply-patch+cbor"
	streamed     = ";stream=watch"
)

// allInCBOR are generated documents in which the operations of group versions have CBOR. One that
// cannot be read, since the binary is broken, stays as it is.
func allInCBOR(sources []api.Documents) []api.Documents {
	all := slices.Clone(sources)
	for i, source := range sources {
		all[i].V2 = documentInCBOR(source.V2)
		all[i].V3 = make([]api.Document, len(source.V3))
		for k, doc := range source.V3 {
			all[i].V3[k] = documentInCBOR(doc)
		}
	}
	return all
}

func documentInCBOR(doc api.Document) api.Document {
	text, err := doc.JSON.Text()
	if err != nil {
		return doc
	}
	lines := bytes.Split(text, []byte("\n"))
	for i, line := range lines {
		if name, whole := memberOf(line); whole && OfVersion(strings.TrimSuffix(firstSteps(name), "/")) {
			lines[i] = lineInCBOR(line)
		}
	}
	text = bytes.Join(lines, []byte("\n"))
	doc.JSON, doc.Binary, doc.Hash = api.Pack(string(text)), "", api.HashOf(text)
	return doc
}

// firstSteps are the steps of a path that name its group version.
func firstSteps(path string) string {
	if strings.HasPrefix(path, "/api/v1/") {
		return "/api/v1"
	}
	return path
}

// lineInCBOR adds CBOR to the operations of a path, whose line is a member of the paths.
func lineInCBOR(line []byte) []byte {
	name, value, _ := bytes.Cut(line, []byte(": "))
	value, comma := bytes.CutSuffix(value, []byte(","))
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var operations any
	if err := decoder.Decode(&operations); err != nil {
		return line
	}
	addCBOR(operations)
	var out bytes.Buffer
	out.Write(name)
	out.WriteString(": ")
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(operations); err != nil {
		return line
	}
	out.Truncate(out.Len() - 1) // the end of the line
	if comma {
		out.WriteByte(',')
	}
	return out.Bytes()
}

// addCBOR adds media types to the lists of the second version, and to the contents of the third.
func addCBOR(v any) {
	members, ok := v.(node)
	if !ok {
		return
	}
	for name, below := range members {
		switch list, isList := below.([]any); {
		case isList && (name == "produces" || name == "consumes"):
			members[name] = moreMedia(list)
		case name == "content":
			addContents(below)
		default:
			addCBOR(below)
		}
	}
}

// moreMedia is a list of media types with CBOR after the binary form, and its sequence at the end.
func moreMedia(list []any) []any {
	if i := slices.Index(list, any(codec.BinaryMedia)); i >= 0 {
		list = slices.Insert(slices.Clone(list), i+1, any(codec.CBORMedia))
	}
	if slices.Contains(list, any(codec.BinaryMedia+streamed)) {
		list = append(list, cborSequence)
	}
	if slices.Contains(list, any(applyYAML)) {
		list = append(list, applyCBOR)
	}
	return list
}

func addContents(v any) {
	contents, _ := v.(node)
	for have, add := range map[string]string{codec.BinaryMedia: codec.CBORMedia, codec.BinaryMedia + streamed: cborSequence, applyYAML: applyCBOR} {
		if content, ok := contents[have]; ok {
			contents[add] = content
		}
	}
}
