package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/webhook"
)

func newToken(signals catcher) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Tokens of service accounts",
		Args:  commandsOnly,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTokenCreate(signals))
	return cmd
}

// tokenRequest is the part of a TokenRequest that the command sends and reads.
type tokenRequest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Audiences         []string     `json:"audiences"`
		ExpirationSeconds int64        `json:"expirationSeconds,omitempty"`
		BoundObjectRef    *boundObject `json:"boundObjectRef,omitempty"`
	} `json:"spec"`
	Status struct {
		Token               string    `json:"token"`
		ExpirationTimestamp time.Time `json:"expirationTimestamp"`
	} `json:"status"`
}

// boundObject is the object with which a token ends.
type boundObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid,omitempty"`
}

// tokenFlags describe a token.
type tokenFlags struct {
	credentials
	namespace, output string
	audiences         []string
	duration          time.Duration
	bound             boundObject
}

func newTokenCreate(signals catcher) *cobra.Command {
	var flags tokenFlags
	cmd := &cobra.Command{
		Use:   "create ACCOUNT",
		Short: "Request a token of a service account",
		Long: `Request a token of a service account from a running server, as 'kubectl create token' does.
The token goes to the standard output, or into a file that only its owner may read; the name
of the account and the end of the token are reported next to it.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return usageError{errors.New("name one service account")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := flags.request()
			if err != nil {
				return usageError{err}
			}
			ctx, stop := until(cmd.Context(), signals(os.Interrupt, syscall.SIGTERM))
			defer stop()
			return flags.create(ctx, args[0], request, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.namespace, "namespace", "n", "default", "namespace of the account")
	f.StringArrayVar(&flags.audiences, "audience", nil, "audience of the token; may be given several times (default: the server)")
	f.DurationVar(&flags.duration, "duration", 0, "life of the token, at least 10m (default: the server's)")
	f.StringVar(&flags.bound.Kind, "bound-object-kind", "", "kind of the object with which the token ends: Pod or Secret")
	f.StringVar(&flags.bound.Name, "bound-object-name", "", "name of that object")
	f.StringVar(&flags.bound.UID, "bound-object-uid", "", "uid of that object (default: the present one's)")
	flags.credentials.add(f, "create tokens")
	f.StringVarP(&flags.output, "output", "o", "", "new file for the token (default: the standard output)")
	return cmd
}

// create requests the token of an account, and writes it.
func (f *tokenFlags) create(ctx context.Context, account string, request *tokenRequest, stdout, stderr io.Writer) error {
	file, err := f.file()
	if err != nil {
		return err
	}
	target, err := webhook.ReadKubeconfig(file)
	if err != nil {
		return err
	}
	target.URL = strings.TrimSuffix(target.URL, "/") + "/api/v1/namespaces/" + url.PathEscape(f.namespace) + "/serviceaccounts/" +
		url.PathEscape(account) + "/token"
	client, err := webhook.New(target, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	answer, err := client.Call(ctx, webhook.Call{Body: body, Timeout: 30 * time.Second})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, request); err != nil || request.Status.Token == "" {
		return errors.New("the server's answer has no token")
	}
	where, out := "token", stderr
	if f.output != "" {
		if err := writeNew(f.output, []byte(request.Status.Token)); err != nil {
			return err
		}
		where, out = "wrote "+f.output+": a token", stdout
	} else {
		fmt.Fprintln(stdout, request.Status.Token)
	}
	fmt.Fprintf(out, "%s of the service account %s/%s for %s, until %s\n", where, f.namespace, account,
		strings.Join(request.Spec.Audiences, ", "), request.Status.ExpirationTimestamp.UTC().Format(time.RFC3339))
	return nil
}

// request is the request that the flags describe.
func (f *tokenFlags) request() (*tokenRequest, error) {
	r := &tokenRequest{APIVersion: "authentication." + profile.GroupSuffix + "/v1", Kind: "TokenRequest"}
	switch {
	case f.namespace == "":
		return nil, errors.New("--namespace: empty")
	case f.duration < 0 || f.duration%time.Second != 0:
		return nil, errors.New("--duration: not a number of whole seconds")
	case (f.bound.Kind == "") != (f.bound.Name == ""):
		return nil, errors.New("--bound-object-kind and --bound-object-name belong together; set both or none")
	case f.bound.UID != "" && f.bound.Kind == "":
		return nil, errors.New("--bound-object-uid needs --bound-object-kind and --bound-object-name")
	}
	r.Spec.Audiences, r.Spec.ExpirationSeconds = f.audiences, int64(f.duration/time.Second)
	if f.bound.Kind != "" {
		f.bound.APIVersion = "v1"
		r.Spec.BoundObjectRef = &f.bound
	}
	return r, nil
}
