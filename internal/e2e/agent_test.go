package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	protocols "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/kubelet/pkg/cri/streaming/portforward"
	commands "k8s.io/kubelet/pkg/cri/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// agent is the endpoint of a node, with the streaming of a real one and containers that
// echo.
type agent struct{ more chan string }

func (a agent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	const idle = time.Minute
	switch parts[0] {
	case "containerLogs":
		_, _ = fmt.Fprintf(w, "first line of %s\n", parts[3])
		w.(http.Flusher).Flush()
		for r.URL.Query().Get("follow") == "true" {
			line, ok := <-a.more
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line)
			w.(http.Flusher).Flush()
		}
	case "exec", "attach":
		options, err := commands.NewOptions(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if parts[0] == "exec" {
			commands.ServeExec(w, r, a, parts[2], "", parts[3], r.URL.Query()["command"], options, idle, idle, protocols.SupportedStreamingProtocols)
		} else {
			commands.ServeAttach(w, r, a, parts[2], "", parts[3], options, idle, idle, protocols.SupportedStreamingProtocols)
		}
	case "portForward":
		options, err := portforward.NewV4Options(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, r, a, parts[2], "", options, idle, idle, portforward.SupportedProtocols)
	default:
		_, _ = io.WriteString(w, r.URL.String())
	}
}

// ExecInContainer writes the command and the input; the command false fails.
func (agent) ExecInContainer(_ context.Context, _ string, _ types.UID, container string, cmd []string, in io.Reader, out, failures io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize, _ time.Duration) error {
	_, _ = fmt.Fprintf(out, "%s: %s\n", container, strings.Join(cmd, " "))
	if in != nil {
		_, _ = io.Copy(out, in)
	}
	if cmd[0] == "false" {
		_, _ = io.WriteString(failures, "that failed\n")
		return utilexec.CodeExitError{Err: errors.New("false"), Code: 7}
	}
	return nil
}

func (a agent) AttachContainer(ctx context.Context, name string, uid types.UID, container string, in io.Reader, out, failures io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	return a.ExecInContainer(ctx, name, uid, container, []string{"attached"}, in, out, failures, tty, resize, 0)
}

func (agent) PortForward(_ context.Context, _ string, _ types.UID, port int32, stream io.ReadWriteCloser) error {
	defer stream.Close()
	line := make([]byte, 5)
	if _, err := io.ReadFull(stream, line); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stream, "%d says %s", port, line)
	return err
}

// TestNodeAgent: kubectl logs, exec, attach and port-forward through the server, over SPDY
// and, as far as agents have it, over WebSockets.
func TestNodeAgent(t *testing.T) {
	t.Parallel()
	a := agent{make(chan string)}
	endpoint := httptest.NewTLSServer(a)
	defer endpoint.Close()
	_, text, _ := net.SplitHostPort(endpoint.Listener.Addr().String())
	port, _ := strconv.Atoi(text)
	server, err := start(t.TempDir(), "--connect-to-local-addresses", "--disable-admission-plugins=ServiceAccount")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.stop(); err != nil {
			t.Errorf("%v\n%s", err, server.log.String())
		}
	}()
	config, pods := placePod(t, server, int32(port))

	run := func(env, input string, args ...string) (string, int) {
		cmd := exec.Command(binaries.kubectl, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+server.kubeconfig, "HOME="+t.TempDir(), env)
		if input != "" {
			cmd.Stdin = strings.NewReader(input)
		}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, c := range []struct {
		input, args, want string
		code              int
	}{
		{"", "logs p", `^first line of c\n$`, 0},
		{"", "exec p -- ls -l", `^c: ls -l\n$`, 0},
		{"hello\n", "exec -i p -c c -- cat", `^c: cat\nhello\n$`, 0},
		{"", "exec p -- false", `that failed\n(?s:.*)exit code 7`, 7},
		{"hello\n", "attach -i p", `(?s)c: attached\n.*hello\n`, 0},
		{"", "get --raw /api/v1/nodes/n/proxy/stats/summary?x=1", `^/stats/summary\?x=1$`, 0},
	} {
		for _, env := range []string{"KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false", "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true"} {
			if got, code := run(env, c.input, strings.Fields(c.args)...); !regexp.MustCompile(c.want).MatchString(got) || code != c.code {
				t.Errorf("%s kubectl %s: %d %q, want %d %q", env, c.args, code, got, c.code, c.want)
			}
		}
	}

	follow := exec.Command(binaries.kubectl, "logs", "-f", "p")
	follow.Env = append(os.Environ(), "KUBECONFIG="+server.kubeconfig, "HOME="+t.TempDir())
	var lines bytes.Buffer
	follow.Stdout = &lines
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	a.more <- "second line\n"
	close(a.more)
	if err := follow.Wait(); err != nil || lines.String() != "first line of c\nsecond line\n" {
		t.Errorf("logs -f: %v %q", err, lines.String())
	}

	for _, env := range []string{"KUBECTL_PORT_FORWARD_WEBSOCKETS=false", "KUBECTL_PORT_FORWARD_WEBSOCKETS=true"} {
		if got := forwarded(t, server, env); got != "80 says hello" {
			t.Errorf("%s port-forward: %q", env, got)
		}
	}

	// What kubectl asks for first is newer than agents; this protocol is theirs.
	socket, err := remotecommand.NewWebSocketExecutorForProtocols(config, "GET", pods+"/p/exec?command=ls&stdout=true", protocols.StreamProtocolV4Name)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := socket.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdout: &out}); err != nil || out.String() != "c: ls\n" {
		t.Errorf("exec over a WebSocket: %v %q", err, out.String())
	}
}

// placePod makes the node n, whose agent listens on a port of this machine, and the
// running pod p on it.
func placePod(t *testing.T, server *instance, port int32) (config *rest.Config, pods string) {
	config, client := server.config(t), server.client(t)
	ctx := t.Context()
	node, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	if err == nil {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
		node.Status.DaemonEndpoints.KubeletEndpoint.Port = port
		_, err = client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	pod, err := client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i", Stdin: true}}}}, metav1.CreateOptions{})
	if err == nil {
		pod.Status.Phase = corev1.PodRunning
		_, err = client.CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return config, config.Host + "/api/v1/namespaces/default/pods"
}

// forwarded is the answer of port 80 of the pod through kubectl port-forward.
func forwarded(t *testing.T, server *instance, env string) string {
	cmd := exec.Command(binaries.kubectl, "port-forward", "--address=127.0.0.1", "p", ":80")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+server.kubeconfig, "HOME="+t.TempDir(), env)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line := make([]byte, 200)
	n, err := stdout.Read(line)
	at := regexp.MustCompile(`127\.0\.0\.1:\d+`).Find(line[:n])
	if err != nil || at == nil {
		return fmt.Sprintf("%s %v", line[:n], err)
	}
	conn, err := net.Dial("tcp", string(at))
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "hello")
	answer, err := io.ReadAll(conn)
	if err != nil {
		return err.Error()
	}
	return string(answer)
}
