package serve_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestSmuggledRequests: a request whose end two readers could see at different places is
// refused, or its connection ends with it.
func TestSmuggledRequests(t *testing.T) {
	h := harness.Start(t, nil)
	const second = "GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + harness.AdminToken + "\r\n\r\n"
	head := "POST " + harness.ConfigMaps + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bob-token\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"both lengths":          head + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG" + second,
		"both lengths, whole":   head + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + second,
		"a space":               head + "Content-Length: 0\r\nTransfer-Encoding : chunked\r\n\r\n" + second,
		"two lengths":           head + "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" + second,
		"a list of lengths":     head + "Content-Length: 0, 5\r\n\r\n" + second,
		"a signed length":       head + "Content-Length: +0\r\n\r\n" + second,
		"an unknown encoding":   head + "Transfer-Encoding: xchunked\r\n\r\n" + second,
		"two encodings":         head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + second,
		"a folded line":         head + "Transfer-Encoding:\r\n chunked, x\r\n\r\n" + second,
		"a bare line feed":      head + "Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\n2\r\n{}\r\n0\r\n\r\n" + second,
		"a length without end":  head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + second,
		"chunks with long news": head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1;"+strings.Repeat("a", 1000)+"\r\n \r\n", 64) + "0\r\n\r\n" + second,
		"two hosts":             strings.Replace(head, "Host: x\r\n", "Host: x\r\nHost: y\r\n", 1) + "Content-Length: 0\r\n\r\n" + second,
		"a header in a name":    head + "X\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n" + second,
	} {
		t.Run(name, func(t *testing.T) {
			conn := h.Line("http/1.1")
			_, _ = io.WriteString(conn, text) // the server may end the connection meanwhile
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			in := bufio.NewReader(conn)
			first, err := http.ReadResponse(in, nil)
			if err != nil {
				return // the connection has ended
			}
			_, _ = io.Copy(io.Discard, first.Body)
			if first.StatusCode < 400 {
				t.Errorf("answered %s", first.Status)
			}
			if next, err := http.ReadResponse(in, nil); err == nil && next.StatusCode < 400 {
				t.Errorf("after %s what follows is answered %s", first.Status, next.Status)
			}
		})
	}
}
