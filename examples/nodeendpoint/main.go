// Nodeendpoint serves /healthz and /metrics of a node over HTTPS, to users that the API
// server knows and permits: an example of package nodeapi.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/client"
	"github.com/capstan-dev/capstan/nodeapi"
)

func main() {
	var config nodeapi.Config
	flag.StringVar(&config.Node, "node", "", "name of the node")
	flag.BoolVar(&config.RefuseAnonymous, "refuse-anonymous", false, "refuse requests without credentials")
	listen := flag.String("listen", ":10250", "address to listen on")
	kubeconfig := flag.String("kubeconfig", "", "client configuration for the API server that reviews tokens and rights (default: none, and all may do everything)")
	authorities := flag.String("client-ca-file", "", "authorities of client certificates, PEM (default: none)")
	cert := flag.String("tls-cert-file", "", "serving certificate, PEM")
	key := flag.String("tls-private-key-file", "", "private key of --tls-cert-file, PEM")
	flag.Parse()
	config.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := serve(config, *listen, *kubeconfig, *authorities, *cert, *key); err != nil {
		config.Logger.Error(err.Error())
		os.Exit(1)
	}
}

func serve(config nodeapi.Config, listen, kubeconfig, authorities, cert, key string) error {
	serving, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return err
	}
	if authorities != "" {
		text, err := os.ReadFile(authorities)
		if err != nil {
			return err
		}
		if config.ClientCAs = x509.NewCertPool(); !config.ClientCAs.AppendCertsFromPEM(text) {
			return errors.New(authorities + ": no certificates in PEM")
		}
	}
	if kubeconfig != "" {
		server, _, err := client.LoadKubeconfig(kubeconfig, "")
		if err != nil {
			return err
		}
		if config.Server, err = client.NewREST(server); err != nil {
			return err
		}
	}
	guarded, err := nodeapi.Guard(config, endpoint())
	if err != nil {
		return err
	}
	s := &http.Server{Addr: listen, Handler: guarded, TLSConfig: nodeapi.TLS(config, serving), ReadHeaderTimeout: 10 * time.Second}
	return s.ListenAndServeTLS("", "")
}

// endpoint answers the paths of the node.
func endpoint() http.Handler {
	var requests atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# HELP node_endpoint_requests_total Number of requests.\n# TYPE node_endpoint_requests_total counter\nnode_endpoint_requests_total %d\n", requests.Load())
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		mux.ServeHTTP(w, r)
	})
}
