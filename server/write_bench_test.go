package server

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// benchPod is a pod of about 3 KiB with the shape of a workload's.
func benchPod(name string) []byte {
	var env strings.Builder
	for i := range 20 {
		fmt.Fprintf(&env, `,{"name":"SETTING_%d","value":"some-configuration-value-%d"}`, i, i)
	}
	return fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"default","labels":{"app":"bench","tier":"backend","pod-template-hash":"5d59d67564"},"annotations":{"prometheus.io/scrape":"true"}},
"spec":{"nodeName":"node-1","serviceAccountName":"default","automountServiceAccountToken":false,"volumes":[{"name":"config","configMap":{"name":"app-config"}},{"name":"scratch","emptyDir":{}}],
"containers":[{"name":"main","image":"registry.example.com/app:v1","command":["/app"],"args":["--listen=:8080"],"ports":[{"name":"http","containerPort":8080},{"name":"metrics","containerPort":9090}],
"env":[%s],"resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"cpu":"500m","memory":"512Mi"}},
"livenessProbe":{"httpGet":{"path":"/healthz","port":8080},"periodSeconds":10},"readinessProbe":{"httpGet":{"path":"/ready","port":"http"}},
"volumeMounts":[{"name":"config","mountPath":"/etc/app","readOnly":true},{"name":"scratch","mountPath":"/tmp"}]},
{"name":"sidecar","image":"registry.example.com/proxy:v1","ports":[{"containerPort":15001}],"resources":{"requests":{"cpu":"10m","memory":"32Mi"}}}]}}`,
		name, env.String()[1:])
}

// boundPods makes a resource quota for pods.
func (s *Server) boundPods(b *testing.B) {
	row := s.catalog.Snapshot().Core("resourcequotas")
	doc, err := s.objects.DecodeOwn(row, []byte(`{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1000000000","requests.cpu":"1000000000","requests.memory":"1000Pi"}}}`))
	if err != nil {
		b.Fatal(err)
	}
	w := objects.Write{Ref: objects.Ref{Row: row, Namespace: "default"}, Creates: true, Change: objects.NewObject(doc, nil)}
	if _, err := s.objects.Write(context.Background(), &w); err != nil {
		b.Fatal(err)
	}
	for len(s.admitting.quotas.Counting("default", s.catalog.Snapshot().Core("pods").Resource)) == 0 {
		time.Sleep(time.Millisecond)
	}
}

// BenchmarkCreatePod measures a create from the decoded body to the answer, with and
// without field ownership, and with a charge to a resource quota.
func BenchmarkCreatePod(b *testing.B) {
	s, err := Start(context.Background(), Config{InMemory: true, Background: Background{Controllers: []string{"resourcequota"}}, Admission: Admission{DisableAdmissionPlugins: []string{"ServiceAccount"}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			b.Error(err)
		}
	})
	<-s.Bootstrapped()
	res := s.catalog.Snapshot().Core("pods")
	made := 0
	text := benchPod("NAME")
	for _, c := range []struct{ track, quota bool }{{false, false}, {true, false}, {true, true}} {
		if c.quota {
			s.boundPods(b)
		}
		b.Run(fmt.Sprintf("track=%v,quota=%v", c.track, c.quota), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				made++
				doc, _, err := s.env.Parse(bytes.Replace(text, []byte("NAME"), strconv.AppendInt(nil, int64(made), 10), 1), request.KindOf(res), document.Value{})
				if err != nil {
					b.Fatal(err)
				}
				// An applied object has its owners already.
				w := objects.Write{Ref: objects.Ref{Row: res, Namespace: "default"}, Opts: objects.Options{Manager: "bench", Applied: !c.track}, Creates: true, Change: objects.NewObject(doc, nil)}
				if _, err := s.objects.Write(context.Background(), &w); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
