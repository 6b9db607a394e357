package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/server"
)

// explorerFlags say whose link is made.
type explorerFlags struct {
	credentials
	account string
}

func newExplorer(signals catcher) *cobra.Command {
	var flags explorerFlags
	cmd := &cobra.Command{
		Use:   "explorer",
		Short: "Make a one-time login link of the explorer, the page of a running server",
		Long: `Make a link by which a browser logs in to the explorer, the page at /explorer/ of a running
server. The link counts once and for ten minutes; it is a secret, and goes to the standard output
only. The page acts as a service account: kube-system/explorer, which is made and bound to
cluster-admin when it is missing, so that this needs the credentials of an administrator; or
another account that exists, with its own rights (--service-account). A session ends with the
log-out, or twelve hours after the link was made.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			account, err := parseAccount(flags.account)
			if err != nil {
				return usageError{err}
			}
			ctx, stop := until(cmd.Context(), signals(os.Interrupt, syscall.SIGTERM))
			defer stop()
			file, err := flags.file()
			if err != nil {
				return err
			}
			config, _, err := client.LoadKubeconfig(file, "")
			if err != nil {
				return err
			}
			link, err := explorerLink(ctx, config, account)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), link)
			fmt.Fprintf(cmd.ErrOrStderr(), "counts once, for %d minutes; the page acts as the service account %s\n", int(linkLife.Minutes()), account)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.account, "service-account", "",
		"account that the page acts as, NAMESPACE/NAME (default "+administrator.String()+", bound to cluster-admin)")
	flags.credentials.add(f, "make the link")
	return cmd
}

// parseAccount reads NAMESPACE/NAME; "" is the administrator's account.
func parseAccount(text string) (account, error) {
	if text == "" {
		return administrator, nil
	}
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return account{}, fmt.Errorf("--service-account: %q is not an account; write NAMESPACE/NAME", text)
	}
	return account{namespace, name}, nil
}

// explorerLink makes a link with the rights of a client.
func explorerLink(ctx context.Context, config client.Config, as account) (string, error) {
	rest, err := client.NewREST(config)
	if err != nil {
		return "", err
	}
	defer rest.Close()
	l := linkMaker{rest: rest, as: as, now: time.Now()}
	page := strings.TrimSuffix(config.Host, "/") + "/explorer/"
	if err := l.possible(ctx, page); err != nil {
		return "", err
	}
	if err := l.removeOld(ctx); err != nil {
		return "", err
	}
	if err := l.prepare(ctx); err != nil {
		return "", err
	}
	token, err := l.token(ctx)
	if err != nil {
		return "", err
	}
	return page + "#link=" + url.QueryEscape(token), nil
}

// announceExplorer prints the address of the page when the server is ready, with a login link. The
// link is a secret, so nothing is printed where a file or a log may keep it.
func announceExplorer(ctx context.Context, s *server.Server, out io.Writer) {
	select {
	case <-s.Bootstrapped():
	case <-s.Done():
		return
	}
	page := s.URL() + "/explorer/"
	link, err := linkOf(ctx, s)
	if err != nil {
		fmt.Fprintf(out, "explorer: %s (no login link: %s)\n", page, oneLine(err))
		return
	}
	fmt.Fprintf(out, "explorer: %s\n", link)
}

// linkOf makes a link with the rights of the server's administrator.
func linkOf(ctx context.Context, s *server.Server) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	kubeconfig := s.Kubeconfig()
	if kubeconfig == nil {
		return "", errors.New("the server has no administrator's certificate; use 'capstan explorer --kubeconfig FILE'")
	}
	config, _, err := client.ParseKubeconfig(kubeconfig, "")
	if err != nil {
		return "", err
	}
	return explorerLink(ctx, config, administrator)
}
