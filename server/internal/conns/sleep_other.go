//go:build !linux

package conns

import "syscall"

// sleepers exists with epoll only: elsewhere each connection has a goroutine.
type sleepers struct{}

func (*sleepers) add(*timedConn, syscall.RawConn) bool { return false }

func (*sleepers) remove(*timedConn, syscall.RawConn) {}

func (*sleepers) close() {}
