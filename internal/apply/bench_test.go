package apply

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
	core "github.com/capstan-dev/capstan/internal/gen/core/v1"
)

// benchPod is the text of a pod as a controller creates it.
func benchPod() []byte {
	var env strings.Builder
	for i := range 10 {
		fmt.Fprintf(&env, `{"name":"SETTING_%d","value":"value of %d"},`, i, i)
	}
	env.WriteString(`{"name":"POD_IP","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"status.podIP"}}}`)
	return []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-5d4f8c7b9-x2x4z","generateName":"web-5d4f8c7b9-","namespace":"default","labels":{"app":"web","app.kubernetes.io/name":"web","pod-template-hash":"5d4f8c7b9"},"annotations":{"example.com/a":"1"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d4f8c7b9","uid":"c6a1f5a0-6d1d-4b6e-8a49-3d3c7a1b2c3d","controller":true,"blockOwnerDeletion":true}]},"spec":{"containers":[{"name":"web","image":"registry.example.com/web:1.2.3","env":[` + env.String() + `],"ports":[{"containerPort":8080,"name":"http"},{"containerPort":9090,"name":"metrics"}],"resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"100m","memory":"128Mi"}},"livenessProbe":{"httpGet":{"path":"/live","port":8080}},"readinessProbe":{"httpGet":{"path":"/ready","port":8080}},"volumeMounts":[{"name":"config","mountPath":"/etc/web"},{"name":"data","mountPath":"/data"}]},{"name":"sidecar","image":"registry.example.com/side:1","args":["--listen","127.0.0.1:15000"]}],"volumes":[{"name":"config","configMap":{"name":"web"}},{"name":"data","emptyDir":{}}],"serviceAccountName":"web","nodeSelector":{"disk":"ssd"},"tolerations":[{"key":"dedicated","operator":"Exists"}]}}`)
}

// benchLive is that pod with the entries of four managers.
func benchLive(b *testing.B, k *Kind) []byte {
	doc, err := k.read(benchPod())
	if err != nil {
		b.Fatal(err)
	}
	write := func(manager, sub string, change func(obj document.Value)) {
		old := doc
		if doc, err = k.read(old.Root().AppendJSON(nil)); err != nil {
			b.Fatal(err)
		}
		change(doc.Root())
		live := old.Root()
		if manager == "kube-controller-manager" {
			live = document.Value{}
		}
		if err := k.Update(live, doc.Root(), Write{Manager: manager, Subresource: sub, Time: "2022-01-01T00:00:00Z"}); err != nil {
			b.Fatal(err)
		}
	}
	write("kube-controller-manager", "", func(document.Value) {})
	write("kube-scheduler", "", func(obj document.Value) { obj.Get("spec").SetString("nodeName", "n1") })
	write("labeler", "", func(obj document.Value) { obj.At("metadata", "labels").SetString("extra", "1") })
	write("kubelet", "status", func(obj document.Value) {
		if err := obj.SetRaw("status", []byte(`{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}],"hostIP":"10.1.0.1","startTime":"2022-01-01T00:00:00Z","conditions":[{"type":"Initialized","status":"True","lastTransitionTime":"2022-01-01T00:00:00Z"},{"type":"Ready","status":"True","lastTransitionTime":"2022-01-01T00:00:00Z"},{"type":"ContainersReady","status":"True","lastTransitionTime":"2022-01-01T00:00:00Z"}],"containerStatuses":[{"name":"web","ready":true,"restartCount":0,"image":"registry.example.com/web:1.2.3","imageID":"x","containerID":"y","started":true,"state":{"running":{"startedAt":"2022-01-01T00:00:00Z"}},"lastState":{}}]}`)); err != nil {
			b.Fatal(err)
		}
	})
	if n := doc.Root().At("metadata", "managedFields").Len(); n != 4 {
		b.Fatalf("%d managers", n)
	}
	return doc.Root().AppendJSON(nil)
}

// BenchmarkCreate measures decoding and writing a new pod, with and without managers.
func BenchmarkCreate(b *testing.B) {
	k := coreKind("Pod")
	text := benchPod()
	decoder := document.Decoder{Table: &core.Table}
	w := Write{Manager: "kubectl-create", Time: "2022-01-01T00:00:00Z", Reset: MainReset(true)}
	for _, track := range []bool{false, true} {
		b.Run(fmt.Sprintf("track=%v", track), func(b *testing.B) {
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				doc, _, err := decoder.Decode(k.Type, text)
				if err != nil {
					b.Fatal(err)
				}
				if track {
					if err := k.Update(document.Value{}, doc.Root(), w); err != nil {
						b.Fatal(err)
					}
				}
				out = doc.Root().AppendJSON(out[:0])
				doc.Release()
			}
			b.ReportMetric(float64(len(out)), "bytes")
		})
	}
}

// BenchmarkUpdate measures a change of one field of a pod with four managers: reading
// both objects and writing one.
func BenchmarkUpdate(b *testing.B) {
	k := coreKind("Pod")
	stored := benchLive(b, k)
	decoder := document.Decoder{Table: &core.Table}
	for _, bench := range []struct {
		name, old, new string
		w              Write
	}{
		{"nothing", "", "", Write{Manager: "kubelet", Subresource: "status"}},
		{"own", `"phase":"Running"`, `"phase":"Failed"`, Write{Manager: "kubelet", Subresource: "status"}},
		{"other", `"phase":"Running"`, `"phase":"Failed"`, Write{Manager: "test"}},
	} {
		sent := bytes.Replace(stored, []byte(bench.old), []byte(bench.new), 1)
		bench.w.Time = "2022-01-02T00:00:00Z"
		for _, track := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/track=%v", bench.name, track), func(b *testing.B) {
				b.ReportAllocs()
				var out []byte
				for b.Loop() {
					old, err := document.ReadStored(&core.Table, k.Type, stored)
					if err != nil {
						b.Fatal(err)
					}
					doc, _, err := decoder.Decode(k.Type, sent)
					if err != nil {
						b.Fatal(err)
					}
					if track {
						if err := k.Update(old.Root(), doc.Root(), bench.w); err != nil {
							b.Fatal(err)
						}
					}
					out = doc.Root().AppendJSON(out[:0])
					doc.Release()
					old.Release()
				}
			})
		}
	}
}

// BenchmarkApply applies a configuration to a pod with four managers and one
// that applied before.
func BenchmarkApply(b *testing.B) {
	k := coreKind("Pod")
	config := benchPod()
	applied, err := document.DecodeAny(config, document.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	w := Write{Manager: "applier", Time: "2022-01-02T00:00:00Z", Reset: MainReset(true)}
	live, err := k.read(benchLive(b, k))
	if err != nil {
		b.Fatal(err)
	}
	body, err := k.Apply(live.Root(), applied.Root(), w, true)
	if err != nil {
		b.Fatal(err)
	}
	if live, err = k.read(body); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Apply(live.Root(), applied.Root(), w, false); err != nil {
			b.Fatal(err)
		}
	}
}
