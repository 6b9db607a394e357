package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// auditPolicy has the server note the requests for pods, with the names of pods that the server has chosen, and those for events.
const auditPolicy = `{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],"rules":[
{"level":"RequestResponse","verbs":["create"],"resources":[{"group":"","resources":["pods"]}]},
{"level":"Request","verbs":["create","patch"],"resources":[{"group":"","resources":["events"]},{"group":"events.k8s.io","resources":["events"]}]},
{"level":"Metadata","verbs":["create","update","patch","delete","get"],"resources":[{"group":"","resources":["pods","pods/*"]}]},
{"level":"None"}]}`

// auditEvent is one request in the audit log.
type auditEvent struct {
	Verb      string
	UserAgent string
	ObjectRef struct{ Resource, Subresource, APIGroup, Name string }

	RequestReceivedTimestamp, StageTimestamp time.Time

	RequestObject  struct{ InvolvedObject, Regarding struct{ Name string } }
	ResponseObject struct{ Metadata struct{ Name string } }
}

// pod is the pod that the request is about, "" for none.
func (e *auditEvent) pod() string {
	if e.ObjectRef.Resource == "pods" {
		return cmp.Or(e.ObjectRef.Name, e.ResponseObject.Metadata.Name)
	}
	return cmp.Or(e.RequestObject.Regarding.Name, e.RequestObject.InvolvedObject.Name)
}

// request is the name that the request has in profiles.
func (e *auditEvent) request() string {
	verb := map[string]string{"create": "POST", "update": "PUT", "get": "GET", "patch": "PATCH", "delete": "DELETE"}[e.Verb]
	return requestName(fmt.Sprintf(`group=%q,resource=%q,subresource=%q,verb=%q`, e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Subresource, verb))
}

// lives are the requests in an audit log by the pod that they are about, in the order in which they came.
func lives(log io.Reader) (map[string][]auditEvent, error) {
	all := map[string][]auditEvent{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e auditEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		if name := e.pod(); name != "" {
			all[name] = append(all[name], e)
		}
	}
	for _, life := range all {
		slices.SortStableFunc(life, func(a, b auditEvent) int { return a.RequestReceivedTimestamp.Compare(b.RequestReceivedTimestamp) })
	}
	return all, lines.Err()
}

// usualLife is a life with a create, a status and a delete, the one in the middle by the time from its create to its first status.
func usualLife(all map[string][]auditEvent) ([]auditEvent, error) {
	type timed struct {
		until time.Duration
		life  []auditEvent
	}
	var whole []timed
	for _, life := range all {
		at := func(is func(e auditEvent) bool) int { return slices.IndexFunc(life, is) }
		status := at(func(e auditEvent) bool { return e.ObjectRef.Subresource == "status" })
		made := at(func(e auditEvent) bool {
			return e.Verb == "create" && e.ObjectRef.Resource == "pods" && e.ObjectRef.Subresource == ""
		})
		if status < 0 || made < 0 || at(func(e auditEvent) bool { return e.Verb == "delete" }) < 0 {
			continue
		}
		whole = append(whole, timed{life[status].StageTimestamp.Sub(life[made].RequestReceivedTimestamp), life})
	}
	if len(whole) == 0 {
		return nil, errors.New("the audit log has no pod from its create to its delete")
	}
	slices.SortFunc(whole, func(a, b timed) int {
		return cmp.Or(cmp.Compare(a.until, b.until), strings.Compare(a.life[0].pod(), b.life[0].pod()))
	})
	return whole[len(whole)/2].life, nil
}

// lifeFigure draws the requests of a life as an SVG: when each came, from whom, how long the server had it, and its time of the
// CPU by the profiles.
func lifeFigure(life []auditEvent, counts []count) []byte {
	const when, left, width, row, head = 70, 330, 300, 20, 34
	each := eachOf(counts)
	longest := time.Microsecond
	for i := range life {
		longest = max(longest, life[i].StageTimestamp.Sub(life[i].RequestReceivedTimestamp))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", left+width+190, head+len(life)*row)
	b.WriteString(`<rect width="100%" height="100%" fill="white"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="18" text-anchor="end">after, s</text><text x="%d" y="18">request</text><text x="%d" y="18">time in the server; CPU of its handler, mean of all</text>`+"\n",
		when-10, when, left)
	for i := range life {
		e := &life[i]
		took, y := e.StageTimestamp.Sub(e.RequestReceivedTimestamp), head+i*row+11
		bar := float64(width) * float64(took) / float64(longest)
		client, _, _ := strings.Cut(e.UserAgent, "/")
		text := fmt.Sprintf("%.1f ms", float64(took.Microseconds())/1000)
		if cpu := each[e.request()]; cpu > 0 {
			text += fmt.Sprintf("; %d µs", cpu.Microseconds())
		}
		after := e.RequestReceivedTimestamp.Sub(life[0].RequestReceivedTimestamp).Seconds()
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%.3f</text><text x="%d" y="%d">%s</text>`, when-10, y, after, when, y, html.EscapeString(client+": "+e.request()))
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="12" fill="#247"/><text x="%.1f" y="%d">%s</text>`+"\n", left, y-10, bar, float64(left)+bar+4, y, text)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// eachOf is the mean time of the CPU of each request over all phases.
func eachOf(counts []count) map[string]time.Duration {
	cpu, number, each := map[string]time.Duration{}, map[string]float64{}, map[string]time.Duration{}
	for _, n := range counts {
		cpu[n.request] += n.cpu
		number[n.request] += n.requests
	}
	for name, n := range number {
		if n > 0 {
			each[name] = time.Duration(float64(cpu[name]) / n)
		}
	}
	return each
}

// drawLife draws the life of one pod into life.svg, of a server whose requests were profiled.
func (c *cluster) drawLife(counts []count) error {
	if !c.profiled() {
		return nil
	}
	log, err := os.Open(filepath.Join(c.dir, "audit.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // was read
	all, err := lives(log)
	if err != nil {
		return err
	}
	life, err := usualLife(all)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, "life.svg"), lifeFigure(life, counts), 0o600)
}

// profiled reports whether the server is profiled, and its requests for pods are noted.
func (c *cluster) profiled() bool { return c.profile && c.inside != "reference" }
