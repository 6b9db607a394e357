// Command wardle is the sample extension server of upstream, with an etcd of its own in the
// same process that keeps its objects in the directory of --etcd-dir.
package main

import (
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/sample-apiserver/pkg/cmd/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	options := server.NewWardleServerOptions(os.Stdout, os.Stderr)
	cmd := server.NewCommandStartWardleServer(genericapiserver.SetupSignalContext(), options, false)
	dir := cmd.Flags().String("etcd-dir", "", "directory of the store")
	if err := cmd.ParseFlags(os.Args[1:]); err != nil {
		return err
	}
	endpoint, stop, err := startStore(*dir)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer stop()
	cmd.SetArgs(append(os.Args[1:], "--etcd-servers="+endpoint))
	return cmd.Execute()
}

// startStore starts etcd on a socket in its directory.
func startStore(dir string) (endpoint string, stop func(), err error) {
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = dir, "error"
	clients, peers := url.URL{Scheme: "unix", Host: "127.0.0.1:0"}, url.URL{Scheme: "unix", Host: "127.0.0.1:1"}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peers}, []url.URL{peers}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return "", nil, err
	}
	<-e.Server.ReadyNotify()
	return clients.String(), e.Close, nil
}
