package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Each plug-in that is off by default, or that needs other objects, changes or refuses as
// in 1.25.
func TestOptionalPlugins(t *testing.T) {
	const zone, mb = "topology.kubernetes.io/zone", "node.kubernetes.io/memory-pressure"
	namespace := func(key, value string) world {
		return world{"namespaces//shop": fmt.Sprintf(`{"metadata":{"annotations":{"scheduler.alpha.kubernetes.io/%s":%q}}}`, key, value)}
	}
	ingresses := world{"ingressclasses//a": ingressClass("a", 1), "ingressclasses//b": ingressClass("b", 2), "ingressclasses//c": ingressClass("c", 2)}
	limited := world{"serviceaccounts/shop/default": `{"metadata":{"name":"default","annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}},"automountServiceAccountToken":false,"secrets":[{"name":"ok"}],"imagePullSecrets":[{"name":"pull"}]}`}
	storage := func(more string) world {
		return world{"storageclasses//a": `{"metadata":{"name":"a","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"allowVolumeExpansion":true}`,
			"storageclasses//b": `{"metadata":{"name":"b"` + more + `}}`}
	}
	claim := func(size, class string) string {
		return "metadata: {name: c}\nspec: {storageClassName: " + class + ", resources: {requests: {storage: " + size + "}}}\nstatus: {phase: Bound}"
	}
	const pods, claims, volumes = "pods", "persistentvolumeclaims", "persistentvolumes"
	const made = "metadata: {name: v, labels: {" + zone + ": z1__z0, topology.kubernetes.io/region: r}, annotations: {pv.kubernetes.io/provisioned-by: x}}\nspec: {hostPath: {path: /}"
	for _, c := range []struct {
		plugin         string
		world          world
		plural, object string
		old            string // "" for a create
		path, want     string // the JSON at the path, or the error
	}{
		{"SecurityContextDeny", nil, pods, pod + ", securityContext: {fsGroup: 1}}", "", "", `pods "p" is forbidden: pod.Spec.SecurityContext.FSGroup is forbidden`},
		{"SecurityContextDeny", nil, pods, pod + ", initContainers: [{name: i, securityContext: {runAsUser: 0}}]}", "", "", `pods "p" is forbidden: SecurityContext.RunAsUser is forbidden`},
		{"SecurityContextDeny", nil, pods, pod + ", securityContext: {runAsGroup: 0}}", "", "spec securityContext", `{"runAsGroup":0}`},
		{"LimitPodHardAntiAffinityTopology", nil, pods, pod + ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone}]}}}", "", "",
			`pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed`},
		{"AlwaysPullImages", nil, pods, pod + ", initContainers: [{name: i, image: i, imagePullPolicy: Never}]}", "", "spec initContainers", `[{"name":"i","image":"i","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always"}]`},
		{"AlwaysPullImages", nil, pods, "spec: {containers: [{name: c, image: i, imagePullPolicy: Never}]}", "spec: {containers: [{name: c, image: i}]}", "spec containers 0 imagePullPolicy", `"Never"`},
		{"PodNodeSelector", namespace("node-selector", "a=b, c=d"), pods, pod + ", nodeSelector: {x: z, a: b}}", "", "spec nodeSelector", `{"a":"b","c":"d","x":"z"}`},
		{"PodNodeSelector", namespace("node-selector", "a=b"), pods, pod + ", nodeSelector: {a: c}}", "", "", `pods is forbidden: pod node label selector conflicts with its namespace node label selector`},
		{"PodNodeSelector", namespace("node-selector", ""), pods, pod + "}", "", "spec nodeSelector", ""},
		{"PodNodeSelector", nil, pods, pod + "}", "", "spec nodeSelector", `{"zone":"main"}`},
		{"PodNodeSelector", namespace("node-selector", "a=b=c"), pods, pod + "}", "", "", `pods is forbidden: invalid selector: [a b c]`},
		{"PodNodeSelector", namespace("node-selector", "disk=ssd"), pods, pod + ", nodeSelector: {x: z}}", "", "", `pods is forbidden: pod node label selector labels conflict with its namespace whitelist`},
		{"PodTolerationRestriction", namespace("defaultTolerations", `[{"key":"d","operator":"Exists"}]`), pods, pod + ", tolerations: [{key: d, operator: Equal, value: x, effect: NoSchedule}]}\nstatus: {qosClass: Burstable}", "", "spec tolerations",
			`[{"key":"d","operator":"Exists"}]`},
		{"PodTolerationRestriction", namespace("defaultTolerations", ""), pods, "metadata: {name: p}\nspec: {containers: [{name: c, image: i, resources: {limits: {memory: 1}}}]}\nstatus: {qosClass: BestEffort}", "", "spec tolerations", `[{"key":"` + mb + `","operator":"Exists","effect":"NoSchedule"}]`},
		{"PodTolerationRestriction", namespace("tolerationsWhitelist", `[{"key":"e","operator":"Exists"}]`), pods, pod + ", tolerations: [{key: d, operator: Exists}]}", "", "",
			`pods "p" is forbidden: pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist`},
		{"PodTolerationRestriction", nil, pods, pod + ", tolerations: [{key: x, operator: Exists}]}", "", "", `pods "p" is forbidden: pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist`},
		{"PodTolerationRestriction", namespace("tolerationsWhitelist", `{}`), pods, pod + "}", "", "", `pods "p" is forbidden: the annotation scheduler.alpha.kubernetes.io/tolerationsWhitelist of the namespace is not a list of tolerations`},
		{"ExtendedResourceToleration", nil, pods, "metadata: {name: p}\nspec: {containers: [{name: c, image: i, resources: {requests: {b.com/y: 1, a.com/x: 1, cpu: 1, hugepages-2Mi: 1}}}], tolerations: [{key: b.com/y, operator: Exists, effect: NoSchedule}]}", "", "spec tolerations",
			`[{"key":"b.com/y","operator":"Exists","effect":"NoSchedule"},{"key":"a.com/x","operator":"Exists","effect":"NoSchedule"}]`},
		{"PersistentVolumeLabel", nil, volumes, made + "}", "", "spec nodeAffinity required nodeSelectorTerms", `[{"matchExpressions":[{"key":"` + zone + `","operator":"In","values":["z0","z1"]},{"key":"topology.kubernetes.io/region","operator":"In","values":["r"]}]}]`},
		{"PersistentVolumeLabel", nil, volumes, made + ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: " + zone + ", operator: Exists}]}]}}}", "", "spec nodeAffinity required nodeSelectorTerms", `[{"matchExpressions":[{"key":"` + zone + `","operator":"Exists"}]}]`},
		{"PersistentVolumeLabel", nil, volumes, strings.Replace(made, "z1__z0", "z__", 1) + "}", "", "", `persistentvolumes "v" is forbidden: failed to convert label string for Zone: z__ to a Set`},
		{"PersistentVolumeLabel", nil, volumes, "metadata: {name: v}\nspec: {awsElasticBlockStore: {volumeID: a}}", "", "", `persistentvolumes "v" is forbidden: error querying AWS EBS volume a: unable to build AWS cloud provider for EBS`},
		{"DefaultStorageClass", storage(""), claims, "metadata: {name: c}", "", "spec storageClassName", `"a"`},
		{"DefaultStorageClass", storage(""), claims, "metadata: {name: c}\nspec: {storageClassName: ''}", "", "spec storageClassName", `""`},
		{"DefaultStorageClass", storage(`,"annotations":{"storageclass.beta.kubernetes.io/is-default-class":"true"}`), claims, "metadata: {name: c}", "", "",
			`persistentvolumeclaims "c" is forbidden: Internal error occurred: 2 default StorageClasses were found`},
		{"PersistentVolumeClaimResize", storage(""), claims, claim("2Gi", "a"), claim("1Gi", "a"), "spec storageClassName", `"a"`},
		{"PersistentVolumeClaimResize", storage(""), claims, claim("2Gi", "b"), claim("1Gi", "b"), "", `persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize`},
		{"PersistentVolumeClaimResize", storage(""), claims, claim("2Gi", "a"), strings.Replace(claim("1Gi", "a"), "Bound", "Pending", 1), "", `persistentvolumeclaims "c" is forbidden: Only bound persistent volume claims can be expanded`},
		{"DefaultIngressClass", ingresses, "ingresses", "metadata: {name: i}", "", "spec ingressClassName", `"b"`},
		{"DefaultIngressClass", ingresses, "ingresses", "metadata: {name: i, annotations: {kubernetes.io/ingress.class: x}}", "", "spec ingressClassName", ""},
		{"ServiceAccount", limited, pods, pod + ", volumes: [{name: v, secret: {secretName: other}}]}", "", "", `pods "p" is forbidden: volume with secret.secretName="other" is not allowed because service account default does not reference that secret`},
		{"ServiceAccount", limited, pods, pod + ", volumes: [{name: v, secret: {secretName: ok}}], imagePullSecrets: [{name: other}]}", "", "", `pods "p" is forbidden: imagePullSecrets[0].name="other" is not allowed because service account default does not reference that imagePullSecret`},
		{"ServiceAccount", limited, pods, "metadata: {name: p}\nspec: {containers: [{name: c, image: i, env: [{name: V, valueFrom: {secretKeyRef: {name: other, key: k}}}]}]}", "", "",
			`pods "p" is forbidden: container c with envVar V referencing secret.secretName="other" is not allowed because service account default does not reference that secret`},
		{"ServiceAccount", limited, pods, pod + ", volumes: [{name: v, secret: {secretName: ok}}]}", "", "spec imagePullSecrets", `[{"name":"pull"}]`},
		{"DenyServiceExternalIPs", nil, "services", "metadata: {name: s}\nspec: {externalIPs: [1.2.3.4]}", "", "", `services "s" is forbidden: Use of external IPs is denied by admission control`},
		{"DenyServiceExternalIPs", nil, "services", "metadata: {name: s}\nspec: {externalIPs: [1.2.3.4]}", "spec: {externalIPs: [1.2.3.5, 1.2.3.4]}", "spec externalIPs", `["1.2.3.4"]`},
	} {
		res := resource(t, c.plural)
		r := &admission.Request{Operation: admission.Create, Resource: res, Namespace: "shop", Object: decode(t, res, c.object)}
		if c.old != "" {
			r.Operation, r.Old = admission.Update, decode(t, res, c.old)
		}
		settings := admission.Settings{NodeSelectors: map[string]string{"clusterDefaultNodeSelector": "zone=main"}}
		if strings.Contains(c.want, "namespace whitelist") {
			settings.NodeSelectors["shop"] = "disk=ssd"
		}
		if strings.Contains(c.want, "cluster whitelist") {
			settings.PodTolerations = podTolerations(t)
		}
		chain := admission.New(c.world, admission.Config{AdmissionControl: []string{c.plugin}, Settings: settings})
		err := chain.Admit(context.Background(), r)
		if err == nil {
			err = chain.Check(context.Background(), r)
		}
		got := ""
		if v := at(r.Object, c.path); err != nil {
			got = err.Error()
		} else if v.Exists() {
			got = string(v.AppendJSON(nil))
		}
		if got != c.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", c.plugin, c.object, got, c.want)
		}
	}
}

// at is the value at a path; numbers are indexes.
func at(v document.Value, path string) document.Value {
	for _, name := range strings.Fields(path) {
		if name == "0" {
			v = v.Index(0)
		} else {
			v = v.Get(name)
		}
	}
	return v
}

func ingressClass(name string, created int) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"creationTimestamp":"2020-01-0%dT00:00:00Z","annotations":{"ingressclass.kubernetes.io/is-default-class":"true"}}}`, name, created)
}

func podTolerations(t *testing.T) admission.PodTolerations {
	t.Helper()
	s, err := readSettings(t, "- {name: PodTolerationRestriction, configuration: {apiVersion: podtolerationrestriction.admission.k8s.io/v1alpha1, kind: Configuration, whitelist: [{key: d, operator: Exists}]}}\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.PodTolerations
}
