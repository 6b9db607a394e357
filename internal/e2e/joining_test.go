package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/certificate/csr"
)

const (
	joinID, joinSecret = "abcdef", "0123456789abcdef"
	nodeClientRole     = "system:certificates.k8s.io:certificatesigningrequests:nodeclient"
)

// must makes an object, or ends the test.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// prepareJoining makes the objects that an installer makes for joining nodes.
func prepareJoining(ctx context.Context, t *testing.T, i *instance) {
	admin := i.client(t)
	must[*corev1.Secret](t)(admin.CoreV1().Secrets("kube-system").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + joinID},
		Type: corev1.SecretTypeBootstrapToken, StringData: map[string]string{"token-id": joinID, "token-secret": joinSecret,
			"usage-bootstrap-authentication": "true", "usage-bootstrap-signing": "true"}}, metav1.CreateOptions{}))
	config := i.config(t)
	kubeconfig := `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"","cluster":{"server":"` + config.Host + `","certificate-authority-data":"` + base64.StdEncoding.EncodeToString(config.CAData) + `"}}]}`
	must[*corev1.ConfigMap](t)(admin.CoreV1().ConfigMaps("kube-public").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-info"},
		Data: map[string]string{"kubeconfig": kubeconfig}}, metav1.CreateOptions{}))
	must[*rbacv1.Role](t)(admin.RbacV1().Roles("kube-public").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "cluster-info"},
		Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"cluster-info"}}}}, metav1.CreateOptions{}))
	must[*rbacv1.RoleBinding](t)(admin.RbacV1().RoleBindings("kube-public").Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "cluster-info"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "cluster-info"}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "system:anonymous"}}}, metav1.CreateOptions{}))
	for name, role := range map[string]string{"ask": "system:node-bootstrapper", "have": nodeClientRole} {
		must[*rbacv1.ClusterRoleBinding](t)(admin.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "nodes-" + name},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:bootstrappers"}}}, metav1.CreateOptions{}))
	}
}

// eventually waits until a condition holds.
func eventually(ctx context.Context, t *testing.T, what string, holds func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, holds); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// discover reads the information about the cluster without a login and without trust in
// the server, and checks it by the token.
func discover(ctx context.Context, t *testing.T, url string) *rest.Config {
	t.Helper()
	stranger := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(&rest.Config{Host: url, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}))
	var info *corev1.ConfigMap
	eventually(ctx, t, "a signature", func(ctx context.Context) (bool, error) {
		var err error
		info, err = stranger.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
		return err == nil && info.Data["jws-kubeconfig-"+joinID] != "", err
	})
	parts := strings.Split(info.Data["jws-kubeconfig-"+joinID], ".")
	if len(parts) != 3 || parts[1] != "" {
		t.Fatalf("signature %q", parts)
	}
	var header struct{ Alg, Kid string }
	if text, err := base64.RawURLEncoding.DecodeString(parts[0]); err != nil || json.Unmarshal(text, &header) != nil || header.Alg != "HS256" || header.Kid != joinID {
		t.Fatalf("header %q", parts[0])
	}
	mac := hmac.New(sha256.New, []byte(joinSecret))
	mac.Write([]byte(parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(info.Data["kubeconfig"]))))
	if base64.RawURLEncoding.EncodeToString(mac.Sum(nil)) != parts[2] {
		t.Fatal("the information about the cluster is not signed by the token")
	}
	clusters := must[*clientcmdapi.Config](t)(clientcmd.Load([]byte(info.Data["kubeconfig"])))
	at := clusters.Clusters[""]
	return &rest.Config{Host: at.Server, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: at.CertificateAuthorityData}}
}

// certificate requests the client certificate of a node as a kubelet does.
func certificate(ctx context.Context, t *testing.T, client kubernetes.Interface, node string) (cert, key []byte) {
	t.Helper()
	private := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := must[[]byte](t)(x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}}, private))
	name, uid, err := csr.RequestCertificate(client, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), "", certificatesv1.KubeAPIServerClientKubeletSignerName, nil,
		[]certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}, private)
	if err != nil {
		t.Fatal(err)
	}
	cert = must[[]byte](t)(csr.WaitForCertificate(ctx, client, name, uid))
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must[[]byte](t)(x509.MarshalPKCS8PrivateKey(private))})
}

// TestNodeJoins: a node that knows a bootstrap token finds the cluster, gets a certificate,
// and may do what a node may do with it, and nothing else.
func TestNodeJoins(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	i := serve(t, "", "--enable-bootstrap-token-auth", "--controllers", "*,bootstrapsigner,tokencleaner", "--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction")
	prepareJoining(ctx, t, i)
	admin := i.client(t)

	config := discover(ctx, t, i.url)
	byToken := rest.CopyConfig(config)
	byToken.BearerToken = joinID + "." + joinSecret
	joining := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(byToken))
	if _, err := joining.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a token lists nodes: %v", err)
	}
	config.CertData, config.KeyData = certificate(ctx, t, joining, "n1")
	node := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(config))

	forbidden := func(what string, err error) {
		t.Helper()
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	must[*corev1.Node](t)(node.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}, metav1.CreateOptions{}))
	_, err := node.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}, metav1.CreateOptions{})
	forbidden("another node", err)
	_, err = node.CoreV1().Nodes().Patch(ctx, "n1", types.MergePatchType, []byte(`{"metadata":{"labels":{"node-restriction.kubernetes.io/zone":"a"}}}`), metav1.PatchOptions{})
	forbidden("a restricted label", err)
	_, err = node.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{})
	forbidden("a namespace", err)
	for _, name := range []string{"used", "unused"} {
		must[*corev1.Secret](t)(admin.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
	}
	_, err = node.CoreV1().Secrets("default").Get(ctx, "used", metav1.GetOptions{})
	forbidden("the secret of no pod", err)
	must[*corev1.Pod](t)(admin.CoreV1().Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{NodeName: "n1",
		Containers: []corev1.Container{{Name: "c", Image: "x"}}, Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "used"}}}}}}, metav1.CreateOptions{}))
	must[*corev1.Secret](t)(node.CoreV1().Secrets("default").Get(ctx, "used", metav1.GetOptions{}))
	_, err = node.CoreV1().Secrets("default").Get(ctx, "unused", metav1.GetOptions{})
	forbidden("the secret of another pod", err)

	// The token ends, and its signature with it; the node stays.
	if err := admin.CoreV1().Secrets("kube-system").Delete(ctx, "bootstrap-token-"+joinID, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := joining.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a deleted token: %v", err)
	}
	eventually(ctx, t, "the signature's end", func(ctx context.Context) (bool, error) {
		info, err := admin.CoreV1().ConfigMaps("kube-public").Get(ctx, "cluster-info", metav1.GetOptions{})
		return err == nil && len(info.Data) == 1, err
	})
	must[*corev1.Node](t)(node.CoreV1().Nodes().Get(ctx, "n1", metav1.GetOptions{}))
}
