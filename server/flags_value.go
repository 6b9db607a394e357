package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
)

// number is a type of limited fields.
type number interface {
	int | int64 | time.Duration
}

// limited is a field of Config with a least and a most value, and the flag that sets it.
type limited[T number] struct {
	flag        string
	at          *T
	least, most T
	help        string
}

// Bounds far from anything sensible, so that sums stay in range.
const (
	longestTime  = 10 * 365 * 24 * time.Hour
	largestBytes = 1 << 30
	mostBytes    = 1 << 40
)

// times are the fields that hold a time.
func (c *Config) times() []limited[time.Duration] {
	return []limited[time.Duration]{
		{"history", &c.History, time.Second, longestTime, "how long old revisions can be read and watches resumed"},
		{"request-timeout", &c.RequestTimeout, time.Millisecond, longestTime, "longest time for a request that is not a watch, with its body and its answer"},
		{"slow-request-threshold", &c.SlowRequestThreshold, time.Millisecond, longestTime, "time from which a request is shown at /debug/slow_requests"},
		{"cluster-signing-duration", &c.ClusterSigningDuration, 10 * time.Minute, longestTime,
			"life of the certificates of certificate signing requests, which may ask for less"},
		{"livez-grace-period", &c.LivezGracePeriod, 0, longestTime, "time after the start in which /livez counts unfinished start-up steps as healthy"},
		{"shutdown-delay-duration", &c.ShutdownDelay, 0, longestTime, "how long to go on serving, with /readyz failing, before new requests are refused"},
		{"kubelet-timeout", &c.KubeletTimeout, time.Millisecond, longestTime, "how long connecting to the agent of a node may take"},
		{"etcd-healthcheck-timeout", &c.EtcdHealthcheckTimeout, time.Millisecond, longestTime, "time that etcd has to answer the health check etcd"},
		{"etcd-readycheck-timeout", &c.EtcdReadycheckTimeout, time.Millisecond, longestTime, "time that etcd has to answer the health check etcd-readiness"},
		{"etcd-max-lag", &c.EtcdMaxLag, time.Millisecond, longestTime, "time by which this server may be behind etcd and still be ready"},
		{"shutdown-timeout", &c.ShutdownTimeout, time.Millisecond, longestTime, "how long requests in flight may take in a shutdown"},
	}
}

// sizes are the fields that hold a number of bytes or seconds.
func (c *Config) sizes() []limited[int64] {
	return []limited[int64]{
		{"max-request-bytes", &c.MaxRequestBytes, 1, largestBytes, "largest body of a request"},
		{"list-memory-bytes", &c.ListMemoryBytes, 1, mostBytes, "memory for lists that have to be gathered before they are sent, all together"},
		{"binary-cache-bytes", &c.BinaryCacheBytes, 1, mostBytes, "memory for objects in the binary form, and cells of tables, kept for further answers"},
		{"max-object-bytes", &c.MaxObjectBytes, 1, largestBytes, "largest object as it is stored"},
	}
}

// counts are the fields that hold a small number.
func (c *Config) counts() []limited[int] {
	return []limited[int]{
		{"secure-port", &c.SecurePort, 0, 65535, "port to listen on; 0 for any free one"},
		{"kubelet-port", &c.KubeletPort, 1, 65535, "port of agents of nodes that report none"},
		{"http2-max-streams-per-connection", &c.MaxStreamsPerConnection, 1, 1 << 20, "requests that a client may have under way on one HTTP/2 connection"},
	}
}

// check reports a value out of bounds.
func (v limited[T]) check(value T) error {
	if value < v.least || value > v.most {
		return fmt.Errorf("%v is out of range; use %v to %v", value, v.least, v.most)
	}
	return nil
}

// valid checks the present value of the field.
func (v limited[T]) valid() error {
	if err := v.check(*v.at); err != nil {
		return fmt.Errorf("--%s: %w", v.flag, err)
	}
	return nil
}

// outOfBounds reports the fields of a list that are out of bounds.
func outOfBounds[T number](list []limited[T]) error {
	var all []error
	for _, v := range list {
		all = append(all, v.valid())
	}
	return errors.Join(all...)
}

func (v limited[T]) String() string {
	if v.at == nil { // pflag asks a zero value for its text
		return ""
	}
	return fmt.Sprint(*v.at)
}

func (v limited[T]) Type() string {
	if _, ok := any(v.least).(time.Duration); ok {
		return "duration"
	}
	return "int"
}

func (v limited[T]) Set(text string) error {
	var value T
	if _, ok := any(value).(time.Duration); ok {
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("%q is not a duration; write it like 90s or 1h30m", text)
		}
		value = T(d)
	} else {
		n, err := strconv.ParseInt(text, 10, strconv.IntSize)
		if err != nil {
			return fmt.Errorf("%q is not a whole number of the machine's size", text)
		}
		value = T(n)
	}
	if err := v.check(value); err != nil {
		return err
	}
	*v.at = value
	return nil
}

// expiration is a flag for the longest life of a token, 0 for no bound.
type expiration time.Duration

func (v *expiration) String() string { return time.Duration(*v).String() }
func (v *expiration) Type() string   { return "duration" }
func (v *expiration) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil {
		err = authn.CheckTokenLife(d)
	}
	if err != nil {
		return err
	}
	*v = expiration(d)
	return nil
}

// lasting is a flag for a time after which something ends, 0 for never. Never is negative
// in Config.
type lasting time.Duration

func (v *lasting) String() string { return max(time.Duration(*v), 0).String() }
func (v *lasting) Type() string   { return "duration" }
func (v *lasting) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time to come; write it like 90s or 1h30m, or 0 for never", text)
	}
	if *v = lasting(d); d == 0 {
		*v = -1
	}
	return nil
}

// issuers is a flag for a list of issuers, whose first use replaces the default. One use
// may name several with commas between.
type issuers struct {
	list  *[]string
	given bool
}

func (v *issuers) String() string {
	if v.list == nil {
		return ""
	}
	return strings.Join(*v.list, ",")
}
func (v *issuers) Type() string { return "strings" }
func (v *issuers) Set(text string) error {
	if !v.given {
		*v.list, v.given = nil, true
	}
	*v.list = append(*v.list, strings.Split(text, ",")...)
	return nil
}

// negated is a boolean flag for a field with the opposite meaning.
type negated bool

func (v *negated) String() string { return strconv.FormatBool(!bool(*v)) }
func (v *negated) Type() string   { return "bool" }
func (v *negated) Set(text string) error {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*v = negated(!b)
	return nil
}

// seconds is a flag with a whole number of seconds for a duration.
type seconds time.Duration

func (v *seconds) String() string { return strconv.FormatInt(int64(time.Duration(*v)/time.Second), 10) }
func (v *seconds) Type() string   { return "int" }
func (v *seconds) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > int64(longestTime/time.Second) {
		return fmt.Errorf("%q is not a whole number of seconds from 1 to %d", text, longestTime/time.Second)
	}
	*v = seconds(time.Duration(n) * time.Second)
	return nil
}

// bound is a flag for a number whose 0 is -1 in the field, since the field's own 0 is the
// default.
type bound int

func (v *bound) String() string { return strconv.Itoa(max(int(*v), 0)) }
func (v *bound) Type() string   { return "int" }
func (v *bound) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number from 0 to 2147483647", text)
	}
	if n == 0 {
		n = -1
	}
	*v = bound(n)
	return nil
}

// instead is the path of a file that takes the place of other flags, whose defaults do not count then.
type instead struct {
	path   *string
	forget func() // the defaults
}

func (i *instead) String() string {
	if i.path == nil {
		return ""
	}
	return *i.path
}

func (i *instead) Type() string { return "string" }

func (i *instead) Set(path string) error {
	if *i.path = path; path != "" {
		i.forget()
	}
	return nil
}
