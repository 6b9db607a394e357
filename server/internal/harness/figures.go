package harness

import (
	"bytes"
	"net/http"
	"strings"
)

// Figures reads /metrics into a map of lines.
func (h *Server) Figures() map[string]string {
	h.T.Helper()
	got := h.Send("GET", "/metrics", "", nil)
	if got.Code != http.StatusOK || got.Header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		h.T.Fatalf("/metrics: %d %s %s", got.Code, got.Header.Get("Content-Type"), got.Body)
	}
	all := map[string]string{}
	for line := range bytes.Lines(got.Body) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), "} ")
		all[name] = value
		if value == "" {
			name, value, _ = strings.Cut(name, " ")
			all[name] = value
		}
	}
	return all
}

// LabelsOf reads the names of labels in a line of metrics.
func LabelsOf(line string) (name, labels string) {
	name, rest, _ := strings.Cut(line, "{")
	var names []string
	for rest != "" {
		label, value, ok := strings.Cut(rest, `="`)
		if !ok {
			break
		}
		if label != "le" {
			names = append(names, label)
		}
		_, rest, _ = strings.Cut(value, `"`)
		rest = strings.TrimPrefix(rest, ",")
	}
	return name, strings.Join(names, " ")
}
