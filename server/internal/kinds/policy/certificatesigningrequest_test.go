package policy_test

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"
)

func TestCertificateSigningRequest(t *testing.T) {
	pem, err := os.ReadFile("testdata/request.pem")
	if err != nil {
		t.Fatal(err)
	}
	chain, err := os.ReadFile("testdata/certificate.pem")
	if err != nil {
		t.Fatal(err)
	}
	request, certificate := base64.StdEncoding.EncodeToString(pem), base64.StdEncoding.EncodeToString(chain)
	twice := base64.StdEncoding.EncodeToString(append(chain, chain...))
	mixed := base64.StdEncoding.EncodeToString(append(chain, pem...))
	head := "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: 'a b'}\n"
	spec := "spec: {request: " + request + ", usages: [client auth], signerName: example.com/serving}\n"
	runCreate(t, head, []createCase{
		{"right", spec, ""},
		{"nothing", "", "spec.signerName: Required; spec.request: Invalid; spec.usages: Required"},
		{"no pem", "spec: {request: eA==, usages: [any], signerName: example.com/x}", "spec.request: Invalid"},
		{"a certificate", "spec: {request: " + certificate + ", usages: [any], signerName: example.com/x}", "spec.request: Invalid"},
		{"usages", "spec: {request: " + request + ", usages: [any, any, x], signerName: example.com/x}", "spec.usages[1]: Duplicate; spec.usages[2]: NotSupported"},
		{"no path", "spec: {request: " + request + ", usages: [any], signerName: example.com}", "spec.signerName: Invalid"},
		{"two slashes", "spec: {request: " + request + ", usages: [any], signerName: example.com/a/b}", "spec.signerName: Invalid"},
		{"short domain", "spec: {request: " + request + ", usages: [any], signerName: example/b}", "spec.signerName: Invalid"},
		{"bad path", "spec: {request: " + request + ", usages: [any], signerName: example.com/B}", "spec.signerName: Invalid"},
		{"long path", "spec: {request: " + request + ", usages: [any], signerName: example.com/" + strings.Repeat("abcdefghi.", 50) + "z}", ""},
		{"long domain", "spec: {request: " + request + ", usages: [any], signerName: " + strings.Repeat("abcdefghi.", 26) + "com/x}", "spec.signerName: TooLong"},
		{"long name", "spec: {request: " + request + ", usages: [any], signerName: example.com/" + strings.Repeat("abcdefghi.", 56) + "z}", "spec.signerName: TooLong"},
		{"old signer", "spec: {request: " + request + ", usages: [any], signerName: kubernetes.io/legacy-unknown}", "spec.signerName: Invalid"},
		{"soon", "spec: {expirationSeconds: 599, request: " + request + ", usages: [any], signerName: example.com/b}", "spec.expirationSeconds: Invalid"},
	})
	approved, denied := "{type: Approved, status: 'True'}", "{type: Denied, status: 'True'}"
	status := func(conditions, certificate string) string {
		return spec + "status: {conditions: [" + conditions + "], certificate: " + certificate + "}\n"
	}
	runStatus(t, head, []updateCase{
		{"approved", spec, status(approved, "''"), ""},
		{"both", spec, status(approved+","+denied, "''"), "status.conditions[1].type: Invalid"},
		{"twice", spec, status(approved+","+approved, "''"), "status.conditions[1].type: Duplicate"},
		{"false", spec, status("{type: Failed, status: 'False'}", "''"), "status.conditions[0].status: NotSupported"},
		{"own", spec, status("{type: Seen, status: 'False'}", "''"), ""},
		{"own, odd", spec, status("{type: Seen, status: Odd}", "''"), "status.conditions[0].status: NotSupported"},
		{"taken back", status(approved, "''"), status("", "''"), "status.conditions: Forbidden"},
		{"taken back for another one that is odd", status(approved, "''"), status("{type: Denied, status: 'False'}", "''"), "status.conditions[0].status: NotSupported; status.conditions: Forbidden"},
		{"turned round", status(approved, "''"), status(denied, "''"), "status.conditions: Forbidden"},
		{"issued", spec, status("", certificate), ""},
		{"chain", spec, status("", twice), ""},
		{"no certificate", spec, status("", "eA=="), "status.certificate: Invalid"},
		{"something else too", spec, status("", mixed), "status.certificate: Invalid"},
		{"other certificate", status("", certificate), status("", twice), "status.certificate: Forbidden"},
		{"no more certificate", status("", certificate), spec, "status.certificate: Forbidden"},
	})
	runCells(t, head, []cellCase{
		{"none", spec, "RequestedDuration", "<none>"},
		{"hour", "spec: {expirationSeconds: 3600}", "RequestedDuration", "60m"},
		{"new", spec, "Condition", "Pending"},
		{"denied", status(denied, "''"), "Condition", "Denied"},
		{"failed", status(approved+", {type: Failed, status: 'True'}", "''"), "Condition", "Approved,Failed"},
		{"issued", status(approved, certificate), "Condition", "Approved,Issued"},
	})
}
