package codec

import (
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Format is the encoding of an answer. The zero Format is none.
type Format uint8

// The formats.
const (
	JSON Format = iota + 1
	YAML
	Binary
	CBOR
)

// As is the representation of an object.
type As uint8

// The representations.
const (
	AsObject    As = iota // the object itself
	AsTable               // a table
	AsPartial             // its metadata only, alone or in a list
	AsDiscovery           // of a discovery path: everything below it in one document
)

// MediaType is the representation that a request asks for.
type MediaType struct {
	Format     Format
	As         As
	APIVersion string // of the Table, PartialObjectMetadata or discovery document: "meta.k8s.io/v1"
	Pretty     bool   // indented JSON was requested
	List       bool   // AsPartial: the metadata of a list was requested, not of an object
	name       string // "application/json"
	stream     bool   // a watch
}

// ContentType is the value of the answer's Content-Type header.
func (m MediaType) ContentType() string {
	switch m.Format {
	case YAML:
		return mediaYAML
	case Binary:
		if m.stream {
			return m.name + ";stream=watch"
		}
		return m.name
	case CBOR:
		if m.stream {
			return mediaCBORSequence
		}
		return CBORMedia
	}
	if m.As == AsDiscovery {
		group, version, _ := strings.Cut(m.APIVersion, "/")
		return mediaJSON + ";g=" + group + ";v=" + version + ";as=" + discoveryKind
	}
	return mediaJSON
}

// BinaryMedia is the media type of the binary form.
const BinaryMedia = "application/vnd." + profile.MediaTypeWord + ".protobuf"

// CBORMedia is the media type of CBOR, of which a watch is a sequence (RFC 8742).
const (
	CBORMedia         = "application/cbor"
	mediaCBORSequence = "application/cbor-seq"
)

const (
	mediaJSON = "application/json"
	mediaYAML = "application/yaml"

	discoveryKind = "APIGroupDiscoveryList"
)

// Offer lists the representations of an endpoint. Every endpoint but a watch has JSON and
// YAML; a watch has JSON.
type Offer struct {
	Binary    string // BinaryMedia; "" for none
	CBOR      bool
	MetaGroup string // group of Table and PartialObjectMetadata: "meta.k8s.io"
	Table     bool
	Partial   bool // PartialObjectMetadata and its list
	Watch     bool
	Textual   bool   // objects have no binary form; their metadata alone does
	Discovery string // group of the one document of discovery: "apidiscovery.k8s.io"; "" when there is none
}

// formats lists the media types offered, the preferred first.
func (o *Offer) formats() []MediaType {
	list := append(make([]MediaType, 0, 4), MediaType{Format: JSON, name: mediaJSON, stream: o.Watch})
	if !o.Watch {
		list = append(list, MediaType{Format: YAML, name: mediaYAML})
	}
	if o.Binary != "" {
		list = append(list, MediaType{Format: Binary, name: o.Binary, stream: o.Watch})
	}
	if o.CBOR {
		list = append(list, MediaType{Format: CBOR, name: CBORMedia, stream: o.Watch})
	}
	return list
}

// Negotiate finds the representation that an Accept header prefers among those offered.
// Every alternative may carry parameters: as, g and v ask for another representation,
// pretty=1 for indentation, stream=watch is accepted and has no effect, others are
// ignored.
//
// The error is a 406. The MediaType with it has a Format if a media type was acceptable,
// and only its parameters were not.
func Negotiate(accept string, o Offer) (MediaType, error) {
	if accept == "" || accept == mediaJSON {
		return MediaType{Format: JSON, name: mediaJSON, stream: o.Watch}, nil
	}
	formats := o.formats()
	var near MediaType
	for _, a := range parseAccept(accept) {
		if o.Watch && near.Format == 0 && a.covers(mediaYAML) { // a form of objects, but not of their changes
			near = MediaType{Format: YAML, name: mediaYAML}
		}
		for _, m := range formats {
			if !a.covers(m.name) || o.Textual && m.Format == Binary && !strings.HasPrefix(a.params["as"], "PartialObjectMetadata") {
				continue
			}
			if near.Format == 0 {
				near = m
			}
			if a.apply(&m, &o) {
				return m, nil
			}
		}
	}
	var names []string
	for _, m := range formats { // the binary one too where only metadata have it, as in 1.25
		names = append(names, m.name)
	}
	refused := api.NotAcceptable(names)
	refused.HasDetails = near.Format == 0 && !o.Textual
	return near, refused
}

// AcceptsJSON reports whether an Accept header accepts plain JSON, whatever its
// parameters.
func AcceptsJSON(accept string) bool { return Accepts(accept, mediaJSON) }

// Accepts reports whether an Accept header accepts a media type, whatever its parameters.
func Accepts(accept, media string) bool {
	return accept == "" || slices.ContainsFunc(parseAccept(accept), func(a alternative) bool { return a.covers(media) })
}

// ErrorForm is the form of an error for an Accept header. An error is never a
// table or metadata, and it may be in a form that the endpoint does not have for
// its objects.
func ErrorForm(accept string, inCBOR bool) MediaType {
	o := Offer{Binary: BinaryMedia, CBOR: inCBOR}
	for _, a := range parseAccept(accept) {
		for _, m := range o.formats() {
			if a.covers(m.name) && a.apply(&m, &o) {
				return m
			}
		}
	}
	return MediaType{Format: JSON, name: mediaJSON}
}

// alternative is one part of an Accept header.
type alternative struct {
	media   string
	params  map[string]string
	quality float64
}

// parseAccept lists the alternatives of a header, the preferred first. Unacceptable (q=0)
// and unreadable ones are left out.
func parseAccept(header string) []alternative {
	var list []alternative
	for part := range strings.SplitSeq(header, ",") {
		fields := strings.Split(part, ";")
		a := alternative{media: strings.TrimSpace(fields[0]), quality: 1, params: make(map[string]string, len(fields)-1)}
		for _, f := range fields[1:] {
			name, value, _ := strings.Cut(strings.TrimSpace(f), "=")
			name = strings.ToLower(strings.TrimSpace(name))
			value = strings.Trim(strings.TrimSpace(value), `"`)
			if name != "q" {
				a.params[name] = value
				continue
			}
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || q < 0 {
				q = 0
			}
			a.quality = min(q, 1)
		}
		if a.media != "" && a.quality > 0 {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b alternative) int {
		switch {
		case a.quality != b.quality:
			if a.quality > b.quality {
				return -1
			}
			return 1
		default:
			return a.wildcards() - b.wildcards()
		}
	})
	return list
}

// wildcards counts the stars: the fewer, the more specific.
func (a *alternative) wildcards() int { return strings.Count(a.media, "*") }

func (a *alternative) covers(name string) bool {
	switch a.media {
	case "*/*":
		return true
	case "application/*":
		return strings.HasPrefix(name, "application/")
	}
	return strings.EqualFold(a.media, name)
}

// apply reads the parameters into m; false if they ask for something that is not offered.
func (a *alternative) apply(m *MediaType, o *Offer) bool {
	if s := a.params["stream"]; s != "" && s != "watch" {
		return false
	}
	m.Pretty = a.params["pretty"] == "1"
	kind, ok := a.params["as"]
	if !ok || kind == "" {
		return a.params["g"] == "" && a.params["v"] == ""
	}
	version := a.params["v"]
	if kind == discoveryKind {
		m.As, m.APIVersion = AsDiscovery, o.Discovery+"/"+version
		return o.Discovery != "" && a.params["g"] == o.Discovery && (version == "v2" || version == "v2beta1") && m.Format == JSON
	}
	if a.params["g"] != o.MetaGroup || version != "v1" && version != "v1beta1" {
		return false
	}
	m.APIVersion = o.MetaGroup + "/" + version
	switch kind {
	case "Table":
		m.As = AsTable
		return o.Table && m.Format != Binary && m.Format != CBOR
	case "PartialObjectMetadata":
		m.As = AsPartial
		return o.Partial
	case "PartialObjectMetadataList":
		m.As, m.List = AsPartial, true
		return o.Partial && !o.Watch
	}
	return false
}

// ParseContentType returns the encoding of a body. binary is the media type of the binary
// form; "" when the endpoint does not read it, and inCBOR says whether it reads CBOR. The
// error is a 415.
func ParseContentType(header, binary string, inCBOR bool) (Format, error) {
	if header == "" || header == mediaJSON {
		return JSON, nil
	}
	media, _, err := mime.ParseMediaType(header)
	switch {
	case err != nil:
	case media == mediaJSON:
		return JSON, nil
	case media == mediaYAML:
		return YAML, nil
	case media == binary:
		return Binary, nil
	case inCBOR && media == CBORMedia:
		return CBOR, nil
	}
	accepted := []string{mediaJSON, mediaYAML}
	if binary != "" {
		accepted = append(accepted, binary)
	}
	if inCBOR {
		accepted = append(accepted, CBORMedia)
	}
	return 0, api.UnsupportedMediaType(accepted)
}
