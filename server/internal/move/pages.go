package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Media types of lists.
const (
	wholeObjects = "application/json"
	onlyMetadata = "application/json;as=PartialObjectMetadataList;g=meta." + profile.GroupSuffix + ";v=v1"
)

const (
	pageSize = 500
	// mostBegins bounds how often a list is begun whose state the source forgets meanwhile.
	mostBegins = 5
	// mostBytes bounds one object of a list, and so the memory of an import.
	mostBytes = 32 << 20
)

// each visits the objects at a path, in pages of one state. When the source has forgotten the state
// meanwhile (410), begin is called and the list is read anew. Errors: those of the source, which name
// the path, and those of begin and visit.
func (s *Server) each(ctx context.Context, path, accept string, begin func() error, visit func(object []byte) error) error {
	for range mostBegins {
		err := s.pages(ctx, path, accept, visit)
		if !client.IsExpired(err) {
			return err
		}
		if err := begin(); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: the source forgets its state before all pages are read, %d times; import while less is written, or from its etcd", path, mostBegins)
}

func (s *Server) pages(ctx context.Context, path, accept string, visit func(object []byte) error) error {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for {
		body, err := s.client.Stream(ctx, path+"?"+query.Encode(), accept)
		if err != nil {
			return s.explained(path, err)
		}
		page, err := readPage(body, visit)
		_ = body.Close() // which was read
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		s.newest = max(s.newest, revisionOf(page.ResourceVersion))
		if page.Continue == "" {
			return nil
		}
		query.Set("continue", page.Continue)
	}
}

// page are the metadata of a list.
type page struct {
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

// readPage visits the objects of a list while its text arrives. Errors: visit's, and a text that is not
// a list or ends in the middle.
func readPage(body io.Reader, visit func(object []byte) error) (meta page, err error) {
	limited := &allowance{from: body, left: mostBytes}
	d := json.NewDecoder(limited)
	if err := opens(d, '{'); err != nil {
		return meta, err
	}
	listed := false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return meta, cutOff(err)
		}
		switch name {
		case "metadata":
			err = cutOff(d.Decode(&meta))
		case "items":
			listed = true
			err = eachItem(d, limited, visit)
		default:
			err = cutOff(d.Decode(new(json.RawMessage)))
		}
		if err != nil {
			return meta, err
		}
	}
	if _, err := d.Token(); err != nil {
		return meta, cutOff(err)
	}
	if !listed {
		return meta, errNoList
	}
	return meta, nil
}

// eachItem visits the objects of an array, which may be null.
func eachItem(d *json.Decoder, limited *allowance, visit func(object []byte) error) error {
	start, err := d.Token()
	if err != nil || start == nil {
		return cutOff(err)
	}
	if start != json.Delim('[') {
		return errNoList
	}
	var object json.RawMessage
	for d.More() {
		if err := d.Decode(&object); err != nil {
			return cutOff(err)
		}
		if err := visit(object); err != nil {
			return err
		}
		limited.left = mostBytes
	}
	_, err = d.Token()
	return cutOff(err)
}

// opens reads the beginning of an object or an array.
func opens(d *json.Decoder, want json.Delim) error {
	start, err := d.Token()
	if err == nil && start != want {
		err = errNoList
	}
	return cutOff(err)
}

var (
	errNoList   = errors.New("the answer is no list of objects: give the URL of an API server")
	errTooLarge = fmt.Errorf("an object has more than %d bytes; make it smaller", mostBytes)
)

// cutOff names an answer that ends in the middle.
func cutOff(err error) error {
	var syntax *json.SyntaxError
	switch {
	case err == nil || errors.Is(err, errTooLarge) || errors.Is(err, errNoList) || errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w (%w)", errNoList, err)
	}
	return fmt.Errorf("the source ended in the middle of the answer: %w; import again", err)
}

// allowance is an answer of which a number of bytes may be read.
type allowance struct {
	from io.Reader
	left int
}

// Read implements io.Reader.
func (a *allowance) Read(p []byte) (int, error) {
	if a.left <= 0 {
		return 0, errTooLarge
	}
	n, err := a.from.Read(p[:min(len(p), a.left)])
	a.left -= n
	return n, err
}

// mostRevision bounds the resourceVersions that are numbers of changes.
const mostRevision = 1 << 62

// revisionOf is the number of a resourceVersion; 1 for one that is not a number.
func revisionOf(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil || n == 0 || n > mostRevision {
		return 1
	}
	return n
}
