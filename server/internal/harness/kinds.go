package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// ConfigMaps is the collection of config maps of the namespace default.
const ConfigMaps = "/api/v1/namespaces/default/configmaps"

// ConfigMap is a config map in JSON.
func ConfigMap(name, data string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":%s}`, name, data)
}

// FlowAPI is the path of the group version of flow schemas.
const FlowAPI = "/apis/flowcontrol.apiserver.k8s.io/v1beta2/"

// Has fails unless the body contains a text.
func (r Reply) Has(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(string(r.Body), text) {
		t.Errorf("no %q in %s", text, r.Body)
	}
}

// QuotaOf is a quota in JSON.
func QuotaOf(name, hard, rest string) string {
	return `{"metadata":{"name":"` + name + `"},"spec":{"hard":{` + hard + `}` + rest + `}}`
}

// HasUsed reports whether the quota has a used amount.
func HasUsed(quota, amount, value string) func(Contents) bool {
	return func(all Contents) bool {
		used, _ := all.In(quota, "status.used").(map[string]any)
		return used[amount] == value
	}
}

// TokenReviews is the path of reviews of tokens.
const TokenReviews = "/apis/authentication.k8s.io/v1/tokenreviews"

// AccessGroup is the path of the group version of reviews of access.
const AccessGroup = "/apis/authorization.k8s.io/v1/"

// SelfReviews is the path of reviews of one's own access.
const SelfReviews = AccessGroup + "selfsubjectaccessreviews"

// ServicesPath is the collection of services of the namespace default.
const ServicesPath = "/api/v1/namespaces/default/services"

// Service is a service with one port, to which spec adds.
func Service(name, spec string) string {
	if !strings.Contains(spec, `"ports"`) {
		spec = strings.TrimSuffix(`"ports":[{"port":80}],`+spec, ",")
	}
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"selector":{"a":"b"},%s}}`, name, spec)
}

// Shape is the part of a service's spec that is allocated, as JSON.
func (r Reply) Shape(t *testing.T) string {
	t.Helper()
	var s struct {
		Spec struct {
			ClusterIPs     []string `json:"clusterIPs"`
			IPFamilies     []string `json:"ipFamilies"`
			IPFamilyPolicy string   `json:"ipFamilyPolicy"`
			Ports          []struct {
				NodePort int `json:"nodePort"`
			} `json:"ports"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.Body, &s); err != nil {
		t.Fatal(err)
	}
	var ports []int
	for _, p := range s.Spec.Ports {
		ports = append(ports, p.NodePort)
	}
	return fmt.Sprintf("%v %v %s %v", s.Spec.ClusterIPs, s.Spec.IPFamilies, s.Spec.IPFamilyPolicy, ports)
}

// PodsPath is the collection of pods of the namespace default.
const PodsPath = "/api/v1/namespaces/default/pods"

// PodBody is the pod p.
const PodBody = `{"metadata":{"name":"p","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`

// BudgetPath is the collection of disruption budgets of the namespace default.
const BudgetPath = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

// AccountsPath is the collection of service accounts of the namespace default.
const AccountsPath = "/api/v1/namespaces/default/serviceaccounts"

// Autoscalers is the collection of autoscalers below the path of their group version.
const Autoscalers = "/namespaces/default/horizontalpodautoscalers"

// AutoscalerV2 is an autoscaler with metrics that version 1 cannot express.
const AutoscalerV2 = `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"web"},"spec":{
	"scaleTargetRef":{"kind":"Deployment","name":"web"},"maxReplicas":5,"metrics":[
	{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":60}}},
	{"type":"Pods","pods":{"metric":{"name":"hits"},"target":{"type":"AverageValue","averageValue":"10"}}}]}}`
