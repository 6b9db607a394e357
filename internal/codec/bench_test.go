package codec

import (
	"bytes"
	"os"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
)

// podShape is the part of a pod's type that testdata/pod.json uses, in the
// order and with the numbers of the real one.
const podShape = `
Pod
	kind - string
	apiVersion - string
	metadata 1 ! ObjectMeta
	spec 2 ! PodSpec
	status 3 ! PodStatus
ObjectMeta
	name 1 string
	generateName 2 string
	namespace 3 string
	selfLink 4 string
	uid 5 string
	resourceVersion 6 string
	generation 7 int64
	creationTimestamp 8 ! time
	deletionTimestamp 9 ? time
	labels 11 map[string]
	annotations 12 map[string]
	finalizers 14 []string
	managedFields 17 []ManagedFields
ManagedFields
	manager 1 string
	operation 2 string
	apiVersion 3 string
	time 4 ? time
	fieldsType 6 string
	fieldsV1 7 ? raw
	subresource 8 string
PodSpec
	volumes 1 []Volume
	initContainers 20 []Container
	containers 2 ! []Container
	restartPolicy 3 string
	terminationGracePeriodSeconds 4 ? int64
	dnsPolicy 6 string
	nodeSelector 7 map[string]
	serviceAccountName 8 string
	serviceAccount 9 string
	automountServiceAccountToken 21 ? bool
	nodeName 10 string
	hostNetwork 11 bool
	hostPID 12 bool
	hostIPC 13 bool
	securityContext 14 ? SecurityContext
	hostname 16 string
	subdomain 17 string
	schedulerName 19 string
	tolerations 22 []Toleration
	priorityClassName 24 string
	priority 25 ? int32
	enableServiceLinks 30 ? bool
	preemptionPolicy 31 ? string
SecurityContext
	runAsUser 2 ? int64
Toleration
	key 1 string
	operator 2 string
	value 3 string
	effect 4 string
	tolerationSeconds 5 ? int64
Volume
	name 1 ! string
	emptyDir 2.2 ? EmptyDir
	configMap 2.19 ? ConfigMapVolume
	projected 2.26 ? Projected
EmptyDir
	medium 1 string
	sizeLimit 2 ? quantity
ConfigMapVolume
	name 1.1 string
	items 2 []KeyToPath
	defaultMode 3 ? int32
	optional 4 ? bool
KeyToPath
	key 1 ! string
	path 2 ! string
	mode 3 ? int32
Projected
	sources 1 []Projection
	defaultMode 2 ? int32
Projection
	downwardAPI 2 ? DownwardAPI
	configMap 3 ? ConfigMapVolume
	serviceAccountToken 4 ? TokenProjection
DownwardAPI
	items 1 []DownwardFile
DownwardFile
	path 1 ! string
	fieldRef 2 ? FieldRef
FieldRef
	apiVersion 1 string
	fieldPath 2 ! string
TokenProjection
	audience 1 string
	expirationSeconds 2 ? int64
	path 3 ! string
Container
	name 1 ! string
	image 2 string
	command 3 []string
	args 4 []string
	workingDir 5 string
	ports 6 []Port
	env 7 []Env
	resources 8 ! Resources
	volumeMounts 9 []Mount
	livenessProbe 10 ? Probe
	readinessProbe 11 ? Probe
	startupProbe 22 ? Probe
	terminationMessagePath 13 string
	terminationMessagePolicy 20 string
	imagePullPolicy 14 string
	stdin 16 bool
	stdinOnce 17 bool
	tty 18 bool
Port
	name 1 string
	hostPort 2 int32
	containerPort 3 ! int32
	protocol 4 string
	hostIP 5 string
Env
	name 1 ! string
	value 2 string
	valueFrom 3 ? FieldRef
Resources
	limits 1 map[quantity]
	requests 2 map[quantity]
Mount
	name 1 ! string
	readOnly 2 bool
	mountPath 3 ! string
	subPath 4 string
	subPathExpr 6 string
Probe
	httpGet 1.2 ? HTTPGet
	initialDelaySeconds 2 int32
	timeoutSeconds 3 int32
	periodSeconds 4 int32
	successThreshold 5 int32
	failureThreshold 6 int32
HTTPGet
	path 1 string
	port 2 ! intorstring
	host 3 string
	scheme 4 string
PodStatus
	phase 1 string
	conditions 2 []Condition
	message 3 string
	reason 4 string
	nominatedNodeName 11 string
	hostIP 5 string
	podIP 6 string
	podIPs 12 []PodIP
	startTime 7 ? time
	initContainerStatuses 10 []ContainerStatus
	containerStatuses 8 []ContainerStatus
	qosClass 9 string
Condition
	type 1 ! string
	status 2 ! string
	lastProbeTime 3 ! time
	lastTransitionTime 4 ! time
	reason 5 string
	message 6 string
PodIP
	ip 1 string
ContainerStatus
	name 1 ! string
	state 2 ! State
	lastState 3 ! State
	ready 4 ! bool
	restartCount 5 ! int32
	image 6 ! string
	imageID 7 ! string
	containerID 8 string
	started 9 ? bool
State
	waiting 1 ? PodIP
	running 2 ? Running
Running
	startedAt 1 ! time
`

func podResource() *api.Resource {
	table := parseTable(podShape)
	return &api.Resource{
		GV: &api.GroupVersion{Version: "v1", Table: table}, Type: table.Root("Pod"), Plural: "pods", Kind: "Pod",
		Columns: []api.Column{
			{Name: "Name", Type: "string", Format: "name", Path: ".metadata.name"},
			{Name: "Status", Type: "string", Path: ".status.phase"},
			{Name: "Age", Type: "string", Path: ".metadata.creationTimestamp"},
			{Name: "IP", Type: "string", Priority: 1, Path: ".status.podIP"},
			{Name: "Node", Type: "string", Priority: 1, Path: ".spec.nodeName"},
		},
	}
}

func podJSON(tb testing.TB) []byte {
	text, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.TrimSpace(text)
}

// TestPodBytes compares the message of a whole pod with the one that the
// Kubernetes client library writes, kept in testdata/pod.bin.
func TestPodBytes(t *testing.T) {
	res, body := podResource(), podJSON(t)
	b := NewBinary(res.GV.Table)
	want, err := os.ReadFile("testdata/pod.bin")
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Append(nil, res.Type, body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%d bytes, want %d\n got %q\nwant %q", len(got), len(want), got, want)
	}
	text, err := b.Decode(res.Type, want)
	if err != nil {
		t.Fatal(err)
	}
	again, err := b.Append(nil, res.Type, text)
	if err != nil || !bytes.Equal(again, want) {
		t.Errorf("read back and written again it differs (%v): %s", err, text)
	}
}

func BenchmarkBinaryAppend(b *testing.B) {
	res, body := podResource(), podJSON(b)
	codec := NewBinary(res.GV.Table)
	var dst []byte
	var err error
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if dst, err = codec.Append(dst[:0], res.Type, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBinaryDecode(b *testing.B) {
	res, body := podResource(), podJSON(b)
	codec := NewBinary(res.GV.Table)
	message, err := codec.Append(nil, res.Type, body)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(message)))
	for b.Loop() {
		if _, err := codec.Decode(res.Type, message); err != nil {
			b.Fatal(err)
		}
	}
}
