// Command etcd runs one member of upstream's etcd for tests, on a free port of loopback. It prints
// its address, and ends with its input.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	dir := flag.String("dir", "", "the data directory")
	progress := flag.Duration("progress", 10*time.Minute, "the interval in which watches tell their progress")
	flag.Parse()
	if err := run(*dir, *progress); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		os.Exit(1)
	}
}

// run serves until the input of the process ends. A test's store may be lost: nothing waits for
// the disk.
func run(dir string, progress time.Duration) error {
	any, err := url.Parse("http://127.0.0.1:0")
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir, config.LogLevel, config.UnsafeNoFsync = dir, "error", true
	config.WatchProgressNotifyInterval = progress
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*any}, []url.URL{*any}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*any}, []url.URL{*any}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
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
	fmt.Printf("http://%s\n", member.Clients[0].Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
