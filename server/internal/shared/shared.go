// Package shared is about a store that several servers share: its settings, and the promises that
// the server asks of it beyond those of a store. The store itself is opened by server/internal/etcdstore,
// which a program links when it wants etcd's client.
//
// # Decisions
//
// The client of etcd makes a program 11 MB larger, and 9 MiB of that are mapped at rest, whether
// it is used or not. So capstan does not have it: the program capstan-etcd does, which is the same
// otherwise. Capstan starts it when it is asked for etcd.
package shared

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Settings say where etcd is, and how the servers on it behave. The names of flags are those of
// kube-apiserver.
type Settings struct {
	// EtcdServers are the URLs of etcd's members. Default: none, the server has a store of its own.
	EtcdServers []string
	// EtcdServersOverrides name etcds of their own for resources, each as GROUP/RESOURCE#URL;URL.
	// Events can have one: "/events#https://10.0.0.9:2379". Default: none.
	EtcdServersOverrides []string
	// EtcdCAFile names the authorities of etcd's certificate, EtcdCertFile and EtcdKeyFile the
	// certificate of the client, PEM. Defaults: the authorities of the machine, and none.
	EtcdCAFile, EtcdCertFile, EtcdKeyFile string
	// EtcdPrefix begins all keys in etcd. Default /registry.
	EtcdPrefix string
	// StorageMediaType is the form in which built-in objects are written to etcd: that of the binary
	// form, which is the default, application/json or application/yaml. All are read.
	StorageMediaType string
	// EtcdHealthcheckTimeout and EtcdReadycheckTimeout bound the health checks etcd and
	// etcd-readiness. Default 2s.
	EtcdHealthcheckTimeout, EtcdReadycheckTimeout time.Duration
	// EtcdMaxLag is the time without news of etcd after which the server is not ready. Default 5s.
	EtcdMaxLag time.Duration
	// EtcdCompactionInterval is the time between compactions of etcd; negative for none.
	// Default 5m.
	EtcdCompactionInterval time.Duration
	// EtcdCountPeriod is the time after which objects are counted again for metrics, and
	// EtcdSizeInterval that between questions for the size of etcd's database; negative for never.
	// Defaults 1m and 30s.
	EtcdCountPeriod, EtcdSizeInterval time.Duration
	// LeaseReuseDuration is the time in which objects that expire get the same lease of etcd.
	// Default 1m.
	LeaseReuseDuration time.Duration

	// InconsistentAuthorization lets a server decide on the rights that it knows of, though another
	// one may have taken some away a moment ago. Then reads of any revision do not need etcd.
	InconsistentAuthorization bool

	// OpenEtcd opens the store of the settings; nil for a program without etcd's client.
	OpenEtcd Open
}

// Check asks for a check of the values that servers keep in etcd.
type Check struct {
	Settings
	// EncryptionFile has the keys of encrypted values; "" for none.
	EncryptionFile string
	// EmulatedVersion has the release of the servers, whose built-in kinds are read. Default: 1.25.
	EmulatedVersion []string
	// Remove has the keys of unreadable values to remove.
	Remove []string
}

// Open opens a shared store.
type Open func(context.Context, Config) (Store, error)

// Config has the needs of a shared store.
type Config struct {
	Settings
	// Catalog has the built-in kinds; custom kinds come and go in it.
	Catalog *catalog.Catalog
	// Form is a fingerprint of how the built-in kinds are stored. A replica of another form is made
	// anew.
	Form string
	// Observe receives the operation of each request to etcd, its key ("" for none), and its time.
	Observe func(operation, key string, took time.Duration)
	// Size receives the bytes of the database of a member of etcd, which its URL names.
	Size func(member string, bytes int64)
	// Cipher encrypts values in etcd; nil for none.
	Cipher *encryption.Cipher
	// Replica is the place of the replica, and its bounds.
	Replica store.Config
	// Lives is the time after its last write after which an object at a key vanishes; 0 for never.
	Lives  func(key string) time.Duration
	Logger *slog.Logger
}

// Store is a store that several servers share.
type Store interface {
	store.Store
	// Replica is the server's own copy, for figures about it.
	Replica() *store.Engine
	// Lead calls do while this server leads the others in a task, until ctx ends. The context that
	// do gets ends with the lead. A write with that context is only made while the lead lasts.
	Lead(ctx context.Context, task string, do func(context.Context))
	// Present keeps a record of this server among those of all servers for a while, and returns the
	// names of all records. The value is in the form of endpoints, as kube-apiserver keeps it.
	Present(ctx context.Context, name string, endpoints store.Value) ([]string, error)
}

// AddConnectionFlags defines the flags by which etcd is reached, but for those of its members.
func (s *Settings) AddConnectionFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.EtcdCAFile, "etcd-cafile", s.EtcdCAFile, "authorities of the certificate of etcd, PEM (default: those of the machine)")
	fs.StringVar(&s.EtcdCertFile, "etcd-certfile", s.EtcdCertFile, "certificate by which etcd knows this program, PEM")
	fs.StringVar(&s.EtcdKeyFile, "etcd-keyfile", s.EtcdKeyFile, "private key of --etcd-certfile, PEM")
	fs.StringVar(&s.EtcdPrefix, "etcd-prefix", cmp.Or(s.EtcdPrefix, "/registry"), "beginning of the keys of the cluster in etcd")
}

// Validate reports mistakes.
func (s *Settings) Validate() error {
	var all []error
	for _, u := range s.EtcdServers {
		all = append(all, checkMember("--etcd-servers", u))
	}
	if (s.EtcdCertFile == "") != (s.EtcdKeyFile == "") {
		all = append(all, errors.New("--etcd-certfile and --etcd-keyfile go together: give both, or none"))
	}
	if len(s.EtcdServers) > 0 && strings.Trim(s.EtcdPrefix, "/") == "" {
		all = append(all, errors.New("--etcd-prefix: it is empty; use the cluster's own, as /registry"))
	}
	_, err := s.EventServers()
	all = append(all, err)
	_, err = s.Format()
	return errors.Join(append(all, err)...)
}

// EventServers are the URLs of the members of the etcd of events; none when events lie with everything
// else. The errors name the flag.
func (s *Settings) EventServers() (urls []string, err error) {
	const flag = "--etcd-servers-overrides"
	for _, override := range s.EtcdServersOverrides {
		resource, servers, found := strings.Cut(override, "#")
		switch {
		case !found || strings.Count(resource, "/") != 1:
			return nil, fmt.Errorf("%s: %q is not of the form GROUP/RESOURCE#URL;URL; write one like /events#https://10.0.0.9:2379", flag, override)
		case resource == "events."+profile.GroupSuffix+"/events":
			return nil, fmt.Errorf("%s: events of both groups are stored as those of the core group: write /events#%s", flag, servers)
		case resource != "/events":
			return nil, fmt.Errorf("%s: %s cannot lie in an etcd of their own, only /events can: "+
				"what depends on other objects is written in one transaction with them", flag, resource)
		case urls != nil:
			return nil, fmt.Errorf("%s: it names /events twice; separate the URLs of one etcd with a semicolon", flag)
		}
		for u := range strings.SplitSeq(servers, ";") {
			if err := checkMember(flag, u); err != nil {
				return nil, err
			}
			urls = append(urls, u)
		}
	}
	return urls, nil
}

// checkMember refuses a text that does not have the form of the URL of a member of etcd.
func checkMember(flag, u string) error {
	if parsed, err := url.Parse(u); err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fmt.Errorf("%s: %q is not the URL of a member of etcd; use one like https://10.0.0.5:2379", flag, u)
	}
	return nil
}

// Format is the form of StorageMediaType. The error names the flag, and the forms that there are.
func (s *Settings) Format() (codec.Format, error) {
	format, err := codec.ParseContentType(s.StorageMediaType, codec.BinaryMedia, false)
	if err != nil {
		return 0, fmt.Errorf("--storage-media-type: %q is no form of objects in etcd; use %s, application/json or application/yaml",
			s.StorageMediaType, codec.BinaryMedia)
	}
	return format, nil
}

// SetDefaults fills in every field that is not set.
func (s *Settings) SetDefaults() {
	for field, value := range map[*time.Duration]time.Duration{&s.EtcdHealthcheckTimeout: 2 * time.Second, &s.EtcdReadycheckTimeout: 2 * time.Second,
		&s.EtcdMaxLag: 5 * time.Second, &s.EtcdCompactionInterval: 5 * time.Minute, &s.LeaseReuseDuration: time.Minute,
		&s.EtcdCountPeriod: time.Minute, &s.EtcdSizeInterval: 30 * time.Second} {
		if *field == 0 {
			*field = value
		}
	}
	if s.StorageMediaType == "" {
		s.StorageMediaType = codec.BinaryMedia
	}
	if s.EtcdPrefix == "" {
		s.EtcdPrefix = "/registry"
	}
	// Kube-apiserver accepts a prefix with or without slashes around it.
	if s.EtcdPrefix = strings.Trim(s.EtcdPrefix, "/"); s.EtcdPrefix != "" {
		s.EtcdPrefix = "/" + s.EtcdPrefix
	}
}
