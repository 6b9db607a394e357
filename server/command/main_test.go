package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// capstan is the program with the built-in groups.
var capstan = program{"capstan", server.Config{}, nil, func(program string) error { return errors.New(program + " is not there") }}

// command runs one command line to its end.
func command(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = capstan.run(context.Background(), args, &out, &err, from(nil))
	return code, out.String(), err.String()
}

// from returns a test's signals that end a command.
func from(signals <-chan os.Signal) catcher { return fromBoth(signals, nil) }

// fromBoth returns a test's signals, and those that have a server look at its files.
func fromBoth(stop, reload <-chan os.Signal) catcher {
	return func(kinds ...os.Signal) <-chan os.Signal {
		if kinds[0] == syscall.SIGHUP {
			return reload
		}
		return stop
	}
}

// codeFor is the exit code of a mistake.
func codeFor(usage bool) int {
	if usage {
		return misuse
	}
	return failed
}

func TestMistakes(t *testing.T) {
	taken := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(taken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, want string
		usage      bool
	}{
		{"serve --secureport=1", "capstan: unknown flag --secureport; did you mean --secure-port?\n", true},
		{"serve --secure-port=x", "capstan: invalid argument \"x\" for \"--secure-port\" flag: ", true},
		{"serve extra", "capstan: unexpected argument \"extra\": capstan serve takes flags only\n", true},
		{"serve --in-memory --bind-address=here --max-request-bytes=1", "capstan: bind address: \"here\" is not an IP address; use one of this machine's, or 0.0.0.0 for all of them; --max-request-bytes: 1 bytes is less", true},
		{"serve --history=-1s", "capstan: invalid argument \"-1s\" for \"--history\" flag: -1s is out of range; use 1s to ", true},
		{"serve --in-memory --v=-1", "capstan: --v: -1 is no verbosity; use 0 or more\n", true},
		{"serve --in-memory --encryption-provider-config-automatic-reload --bind-address=x", "capstan: bind address: \"x\" is not an IP address; use one of this machine's, or 0.0.0.0 for all of them; --encryption-provider-config-automatic-reload: there is no file to follow; add --encryption-provider-config", true},
		{"serve --in-memory --audit-policy-file a", "capstan: --audit-policy-file: without a place for the events nothing is recorded; ", true},
		{"serve --in-memory --enable-admission-plugins=PodSecurity,AlwaysDemy", "capstan: --enable-admission-plugins: there is no admission plug-in \"AlwaysDemy\"; there are ", true},
		{"serve --in-memory --feature-gates=CSRDuration=false", "capstan: --feature-gates CSRDuration=false: cannot set feature gate CSRDuration to false, feature is locked to true", true},
		{"serve --in-memory --kubelet-preferred-address-types=InternalIP,Foo", "capstan: --kubelet-preferred-address-types: nodes report no addresses of the type \"Foo\"; there are Hostname, ", true},
		{"serve --in-memory --controllers=*,gc", "capstan: --controllers: \"gc\" is not known; ", true},
		{"serve --in-memory --egress-selector-config-file=e", "capstan: --egress-selector-config-file: this server connects to ", true},
		{"serve --in-memory --authentication-token-webhook-version=v2", "capstan: --authentication-token-webhook-version: \"v2\" is neither v1 nor v1beta1, nor one of them after ", true},
		{"serve --in-memory --oidc-client-id=x", "capstan: --oidc-issuer-url and --oidc-client-id belong together; ", true},
		{"serve --in-memory --service-account-issuer=", "capstan: --service-account-issuer: an issuer has no name; ", true},
		{"serve --in-memory --service-account-issuer=a,b,a", "capstan: --service-account-issuer: \"a\" is given twice; name it once\n", true},
		{"serve --in-memory --service-account-issuer=https://%zz", "capstan: --service-account-issuer: \"https://%zz\" has a colon and is no URL: ", true},
		{"serve --in-memory --service-account-jwks-uri=http://a/keys", "capstan: --service-account-jwks-uri: \"http://a/keys\" is no URL with the scheme https\n", true},
		{"serve --in-memory --log-level=loud", "capstan: log level: \"loud\" is unknown", true},
		{"serve --in-memory --secure-port=0 --token-auth-file=" + taken + "x", "capstan: token file: open ", false},
		{"serve --secure-port=0 --data-dir=" + taken, "capstan: ", false},
		{"version --output=xml", "capstan: output format \"xml\" is unknown", true},
		{"store chekc", "capstan: unknown command \"chekc\" for \"capstan store\"; did you mean check?\n", true},
		{"store frobnicate", "capstan: unknown command \"frobnicate\" for \"capstan store\"\n", true},
		{"sevre", "capstan: unknown command \"sevre\" for \"capstan\"; did you mean serve?\n", true},
	} {
		code, stdout, stderr := command(strings.Fields(c.args)...)
		lines := strings.Count(stderr, "\n")
		if code != codeFor(c.usage) || stdout != "" || !strings.HasPrefix(stderr, c.want) || strings.Contains(stderr, "--help' for usage") != c.usage || lines > 2 || !c.usage && lines != 1 {
			t.Errorf("%s: code %d, stdout %q, stderr %q", c.args, code, stdout, stderr)
		}
	}
}

func TestVersion(t *testing.T) {
	code, stdout, stderr := command("version")
	if code != 0 || !strings.HasPrefix(stdout, "capstan ") || strings.Count(stdout, "\n") != 1 || stderr != "" {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	var b build
	code, stdout, _ = command("version", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &b); code != 0 || err != nil || b.Kubernetes != "1.25" || b.Go == "" {
		t.Errorf("code %d, %v: %s", code, err, stdout)
	}
	if code, stdout, _ = command("serve", "--version"); code != 0 || !strings.Contains(stdout, b.Version) {
		t.Errorf("code %d, stdout %q", code, stdout)
	}
}

func TestHelpAndCompletion(t *testing.T) {
	if code, stdout, _ := command("serve", "--help"); code != 0 || !strings.Contains(stdout, "--secure-port") || strings.Contains(stdout, "--watch-cache") {
		t.Errorf("code %d: %s", code, stdout)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code, stdout, _ := command("completion", shell); code != 0 || !strings.Contains(stdout, "capstan") {
			t.Errorf("%s: code %d", shell, code)
		}
	}
}

var kubeconfigLine = regexp.MustCompile(`^export KUBECONFIG=(\S+)$`)

// TestServe starts a server, reads what it prints, and ends it.
func TestServe(t *testing.T) {
	for name, end := range map[string]func(cancel func(), signals chan<- os.Signal){
		"signal":  func(_ func(), signals chan<- os.Signal) { signals <- syscall.SIGTERM },
		"context": func(cancel func(), _ chan<- os.Signal) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			signals := make(chan os.Signal, 2)
			kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
			stdout, w := io.Pipe()
			var stderr bytes.Buffer
			code := make(chan int, 1)
			go func() {
				code <- capstan.run(ctx, []string{"serve", "--in-memory", "--secure-port=0", "--write-kubeconfig=" + kubeconfig, "--allow-privileged", "--etcd-servers=x", "--watch-cache", "--oidc-groups-claim=g"}, w, &stderr, from(signals))
				w.Close()
			}()
			lines := bufio.NewScanner(stdout)
			var said []string
			for lines.Scan() {
				said = append(said, lines.Text())
				if m := kubeconfigLine.FindStringSubmatch(lines.Text()); m != nil {
					if m[1] != kubeconfig {
						t.Errorf("kubeconfig %s", m[1])
					}
					end(cancel, signals)
				}
			}
			if got := <-code; got != 0 {
				t.Fatalf("code %d: %s", got, &stderr)
			}
			if len(said) != 2 || !strings.HasPrefix(said[0], "capstan listens on https://127.0.0.1:") {
				t.Errorf("stdout %q", said)
			}
			if n := strings.Count(stderr.String(), "have no effect"); n != 3 || !strings.Contains(stderr.String(), "--oidc-issuer-url\" flags=--oidc-groups-claim") ||
				!strings.Contains(stderr.String(), "on this server\" flags=--watch-cache") || !strings.Contains(stderr.String(), "--in-memory=true\" flags=--etcd-servers") {
				t.Errorf("stderr %s", &stderr)
			}
			if info, err := os.Stat(kubeconfig); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

// TestServeOnEtcd: a program without etcd's client says which one has it.
func TestServeOnEtcd(t *testing.T) {
	code, stdout, stderr := command("serve", "--etcd-servers=http://127.0.0.1:1")
	if want := "capstan: --etcd-servers needs a program with etcd's client: capstan-etcd is not there\nRun 'capstan serve --help' for usage.\n"; code != misuse || stdout != "" || stderr != want {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine(errors.Join(errors.New("a\n"), errors.New("\tb"))); got != "a; b" {
		t.Error(got)
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"/a/b-c.d": "/a/b-c.d", "/a b": "'/a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'"} {
		if got := shellWord(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
