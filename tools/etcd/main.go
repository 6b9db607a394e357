// Command etcd runs one member of upstream's etcd for tests, on a free port of loopback. It prints
// its address, and ends with its input.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
)

func main() {
	config := embed.NewConfig()
	config.LogLevel, config.UnsafeNoFsync = "error", true // a test's store may be lost: nothing waits for the disk
	flag.StringVar(&config.Dir, "dir", "", "the data directory")
	flag.DurationVar(&config.WatchProgressNotifyInterval, "progress", 10*time.Minute, "the interval in which watches tell their progress")
	flag.Int64Var(&config.QuotaBackendBytes, "quota", 0, "the most bytes of the database")
	flag.StringVar(&config.ClientTLSInfo.CertFile, "cert", "", "the certificate of the member; it serves https then")
	flag.StringVar(&config.ClientTLSInfo.KeyFile, "key", "", "its private key")
	flag.StringVar(&config.ClientTLSInfo.TrustedCAFile, "ca", "", "the authorities of clients, which need certificates then")
	flag.StringVar(&config.Name, "name", config.Name, "the name of the member")
	members := flag.String("members", "", "the names of all members of its cluster, with commas between; their sockets are in the working directory")
	release := flag.String("release", "", "the release that an etcd says it is of which does nothing else")
	flag.Parse()
	work := func() error { return run(config, *members) }
	if *release != "" {
		work = func() error { return pretend(*release) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

// run serves until the input of the process ends.
func run(config *embed.Config, members string) error {
	client, peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}, url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	if config.ClientTLSInfo.CertFile != "" {
		client.Scheme = "https"
		config.ClientTLSInfo.ClientCertAuth = config.ClientTLSInfo.TrustedCAFile != ""
	}
	if members != "" {
		peer = socket(config.Name)
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	if members != "" {
		var all []string
		for name := range strings.SplitSeq(members, ",") {
			at := socket(name)
			all = append(all, name+"="+at.String())
		}
		config.InitialCluster = strings.Join(all, ",")
	}
	member, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer member.Close()
	select {
	case <-member.Server.ReadyNotify():
	case err := <-member.Err():
		return err
	}
	fmt.Printf("%s://%s\n", client.Scheme, member.Clients[0].Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// named is an etcd that knows its release.
type named struct {
	etcdserverpb.UnimplementedMaintenanceServer
	release string
}

// Status implements etcdserverpb.MaintenanceServer.
func (n *named) Status(context.Context, *etcdserverpb.StatusRequest) (*etcdserverpb.StatusResponse, error) {
	return &etcdserverpb.StatusResponse{Header: &etcdserverpb.ResponseHeader{}, Version: n.release}, nil
}

// pretend serves the name of a release until the input of the process ends.
func pretend(release string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	etcdserverpb.RegisterMaintenanceServer(s, &named{release: release})
	go func() { _ = s.Serve(l) }()
	defer s.Stop()
	fmt.Printf("http://%s\n", l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// socket is the address of a member for others.
func socket(name string) url.URL { return url.URL{Scheme: "unix", Host: name + ":0"} }
