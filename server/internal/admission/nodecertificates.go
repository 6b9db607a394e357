package admission

import (
	"context"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/signing"
)

// ownCertificate permits requests of an agent for a certificate of its own.
func (w *nodeWrite) ownCertificate() error {
	signer := w.Object.At("spec", "signerName")
	if w.Operation != Create || !w.config.since("1.31") || w.config.gate("AllowInsecureKubeletCertificateSigningRequests") ||
		!signer.Equals(signing.NodeServingSigner) && !signer.Equals(signing.NodeClientSigner) {
		return nil
	}
	request, err := signingRequest(w.Object)
	if err != nil {
		return w.forbidf("unable to parse csr: %v", err)
	}
	if request.Subject.CommonName != "system:node:"+w.node {
		return w.forbidf("can only create a node CSR with CN=system:node:%s", w.node)
	}
	return nil
}

// podCertificate permits requests for certificates of the pods on the node, which name node, pod and account as they are.
func (w *nodeWrite) podCertificate(ctx context.Context) error {
	switch {
	case !w.config.since("1.34"):
		return nil
	case !w.config.gate("PodCertificateRequest"):
		return w.forbidf("PodCertificateRequest feature gate is disabled")
	case w.Operation != Create:
		return w.forbidf("unexpected operation %s", words[w.Operation])
	case w.Subresource != "":
		return w.forbidf("unexpected subresource %s", w.Subresource)
	}
	spec := w.Object.Get("spec")
	if on := spec.Get("nodeName"); !on.Equals(w.node) {
		return w.forbidf("PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", on.Text(), w.node)
	}
	pod := w.Namespace + "/" + spec.Get("podName").Text()
	node, release, err := w.get(ctx, "nodes", "", w.node)
	defer release()
	if err != nil {
		return w.forbidf("while retrieving node %q named in the PodCertificateRequest: %v", w.node, err)
	}
	if uid, is := spec.Get("nodeUID").Text(), node.At("metadata", "uid").Text(); uid != is {
		return w.forbidf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)", pod, uid, is)
	}
	if err := w.certifiedPod(ctx, spec, pod); err != nil {
		return err
	}
	return w.certifiedAccount(ctx, spec, pod)
}

// certifiedPod requires that the pod of a request runs on the node.
func (w *nodeWrite) certifiedPod(ctx context.Context, spec document.Value, name string) error {
	pod, release, err := w.get(ctx, "pods", w.Namespace, spec.Get("podName").Text())
	defer release()
	if err != nil {
		return w.forbidf("while retrieving pod %q named in the PodCertificateRequest: %v", name, err)
	}
	if uid, is := spec.Get("podUID").Text(), pod.At("metadata", "uid").Text(); uid != is {
		return w.forbidf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", name, uid, is)
	}
	if !w.runs(pod) {
		return w.forbidf("pod %q is not running on node %q named in the PodCertificateRequest", name, w.node)
	}
	if pod.At("metadata", "annotations").Get(mirrorAnnotation).Exists() {
		return w.forbidf("pod %q is a mirror pod", name)
	}
	if named, is := spec.Get("serviceAccountName").Text(), pod.At("spec", "serviceAccountName").Text(); named != is {
		return w.forbidf("PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)", name, named, is)
	}
	return nil
}

// certifiedAccount requires that the service account of a request exists.
func (w *nodeWrite) certifiedAccount(ctx context.Context, spec document.Value, pod string) error {
	named := spec.Get("serviceAccountName").Text()
	account, release, err := w.get(ctx, "serviceaccounts", w.Namespace, named)
	defer release()
	if err != nil {
		return w.forbidf("while retrieving service account %q named in the PodCertificateRequest: %v", w.Namespace+"/"+named, err)
	}
	if uid, is := spec.Get("serviceAccountUID").Text(), account.At("metadata", "uid").Text(); uid != is {
		return w.forbidf("PodCertificateRequest for pod %q names service account UID %q, which differs from the running service account (%q)", pod, uid, is)
	}
	return nil
}
