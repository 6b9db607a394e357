package objects_test

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/measured"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Bounds of the heap while small inputs are made large by one request, and by eight at
// once. Their clients and the answers are in the same process, and garbage counts.
const (
	mostExpanded      = 160 << 20
	mostExpandedEight = 500 << 20
)

// peak is how far the heap grows while do runs.
func peak(do func()) (most uint64) {
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	used := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before := used()
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(time.Millisecond / 4)
		defer tick.Stop()
		for now := before; ; now = used() {
			most = max(most, now)
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	do()
	close(done)
	<-over
	return most - before
}

// expands sends a request alone and eight times at once. The answers have the code, and
// the text.
func expands(h *harness.Server, t *testing.T, r harness.Hostile, text string, header ...string) {
	t.Helper()
	for n, most := range map[int]uint64{1: mostExpanded, 8: mostExpandedEight} {
		all := make([]harness.Reply, n)
		begun := time.Now()
		used := peak(func() {
			var wait sync.WaitGroup
			for i := range all {
				wait.Add(1)
				go func() {
					defer wait.Done()
					all[i] = h.Send(r.Method, r.Path, r.ContentType, []byte(r.Body), header...)
				}()
			}
			wait.Wait()
		})
		for i, got := range all {
			if i > 0 && got.Code == all[0].Code {
				continue // and so is the rest
			}
			if got.Code != r.Code || !strings.Contains(string(got.Body), text) {
				t.Errorf("%s answered %d, want %d with %q: %.300s", r.Name, got.Code, r.Code, text, got.Body)
			}
		}
		if used > most && !measured.Race {
			t.Errorf("%s takes %d MiB when %d are sent at once, at most %d are allowed", r.Name, used>>20, n, most>>20)
		}
		if testing.Verbose() {
			t.Logf("%d × %s: %d in %s with %d MiB", n, r.Name, all[0].Code, time.Since(begun).Round(time.Millisecond), used>>20)
		}
	}
}

// TestHostileExpansions: what a small body stands for counts before it is made.
func TestHostileExpansions(t *testing.T) {
	h := harness.Start(t, harness.EvaluatedOnce)
	h.Create(harness.ConfigMaps, harness.ConfigMap("there", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`))
	object := harness.ConfigMaps + "/there?dryRun=All"
	long := strings.Repeat("n", 5000)
	h.Define(`{"type":"object","properties":{"spec":{"type":"object","additionalProperties":{"type":"object","properties":{"`+long+`":{"type":"string","default":"a"}}}},
		"list":{"type":"array","items":{"type":"object","properties":{"`+long+`":{"type":"object","default":{}}}}}}}`, "")
	h.AwaitCode(harness.ShopWidgets, http.StatusOK)
	h.Create(harness.ShopWidgets, harness.Widget("few", `,"spec":{"k":{}}`))
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n"
	text := "  a: &a " + strings.Repeat("x", 1<<20) + "\n"
	aliases, merged := "", "x: &m {"+harness.Entries(20_000, "k%d: v", "")+"}\n"
	for i := range 1000 {
		aliases += fmt.Sprintf("  k%d: *a\n", i)
		merged += fmt.Sprintf("y%d: {<<: *m, z: v}\n", i)
	}
	ports := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), []byte(strings.Repeat("\x0a\x00", 100_000)))
	binary := "k8s\x00\x0a\x0d\x0a\x02v1\x12\x07Service" + string(protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), ports))
	filled := `{"spec":{` + harness.Entries(40_000, `"k%d":{}`, "") + `}}`
	operations := func(n int, text string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(text+",", n), ",") + "]"
	}
	for _, c := range []struct {
		harness.Hostile
		text string
	}{
		{harness.Hostile{"aliases", "POST", harness.ConfigMaps, "application/yaml", head + text + aliases, 400}, "aliases written out"},
		{harness.Hostile{"merge keys", "POST", harness.ConfigMaps, "application/yaml", head + merged, 400}, "aliases written out"},
		{harness.Hostile{"applied aliases", "PATCH", harness.ConfigMaps + "/x?fieldManager=m", harness.ApplyMedia, head + text + aliases, 400}, "aliases written out"},
		{harness.Hostile{"names of defaults", "POST", harness.ShopWidgets, "application/json", harness.Widget("many", `,`+filled[1:len(filled)-1]), 413}, "too large"},
		{harness.Hostile{"names of defaults, merged", "PATCH", harness.ShopWidgets + "/few", harness.MergePatchMedia, filled, 413}, "too large"},
		{harness.Hostile{"names of defaults, added", "PATCH", harness.ShopWidgets + "/few", harness.JSONPatchMedia, `[{"op":"add","path":"/spec","value":` + filled[8:len(filled)-1] + `}]`, 413}, "too large"},
		{harness.Hostile{"names of defaults, applied", "PATCH", harness.ShopWidgets + "/few?fieldManager=m", harness.ApplyMedia, harness.Widget("few", `,`+filled[1:len(filled)-1]), 413}, "too large"},
		{harness.Hostile{"objects of defaults", "POST", harness.ShopWidgets, "application/json", harness.Widget("many", `,"list":[`+strings.Repeat("{},", 40_000)+`{}]`), 413}, "too large"},
		{harness.Hostile{"copies", "PATCH", object, harness.JSONPatchMedia, operations(20, `{"op":"copy","from":"/data","path":"/data/b"},{"op":"copy","from":"/data","path":"/data/c"}`), 422}, "copies of the patch"},
		{harness.Hostile{"moves", "PATCH", object, harness.JSONPatchMedia, operations(200, `{"op":"move","from":"/data/a","path":"/data/b"},{"op":"move","from":"/data/b","path":"/data/a"}`), 200}, "xxxx"},
		{harness.Hostile{"tests", "PATCH", object, harness.JSONPatchMedia, operations(2000, `{"op":"test","path":"/data/a","value":"x"}`), 422}, "the value is another"},
		{harness.Hostile{"large parts", "PATCH", object, harness.JSONPatchMedia, operations(2, `{"op":"add","path":"/data/b","value":"`+strings.Repeat("y", 1<<20)+`"}`), 422}, "Too long"},
		{harness.Hostile{"strategic", "PATCH", object, harness.StrategicMedia, `{"data":{"b":"` + strings.Repeat("y", 2<<20) + `"}}`, 422}, "more than 3145728 bytes"},
		{harness.Hostile{"binary", "POST", "/api/v1/namespaces/default/services", harness.BinaryMedia, binary, 413}, "too large"},
	} {
		expands(h, t, c.Hostile, c.text)
	}
}

// TestManyValues: a large body of tiny values takes many times its size when it is read.
// Of one user not many are read at once, and the others are refused with 429.
func TestManyValues(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		harness.EvaluatedOnce(c)
		harness.EverybodyMay(c)
	})
	h.Define(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"integer"}}}}`, "")
	h.AwaitCode(harness.ShopWidgets, http.StatusOK)
	body := []byte(harness.Widget("many", `,"list":[`+strings.Repeat("1,", 700_000)+`1]`))
	codes := make([]int, 8)
	used := peak(func() {
		var wait sync.WaitGroup
		for i := range codes {
			wait.Go(func() {
				codes[i] = h.Send("POST", harness.ShopWidgets+"?dryRun=All", "application/json", body, harness.AsBob...).Code
			})
		}
		wait.Wait()
	})
	count := map[int]int{}
	for _, code := range codes {
		count[code]++
	}
	t.Logf("%v with %d MiB", count, used>>20)
	if count[http.StatusCreated] == 0 || count[http.StatusCreated]+count[http.StatusTooManyRequests] != len(codes) {
		t.Errorf("the answers are %v, want some 201 and the others 429", count)
	}
	if used > mostExpandedEight && !measured.Race {
		t.Errorf("%d bodies of tiny values take %d MiB, at most %d are allowed", len(codes), used>>20, mostExpandedEight>>20)
	}
}
