package etcd

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// messageCodec encodes the messages of etcd with the methods that were generated for them. The codec of gRPC
// does not know those, and encodes each message once more to learn its size. It has the same name, so that etcd takes
// it for that one.
type messageCodec struct{}

var _ encoding.CodecV2 = messageCodec{}

// message has the generated methods of a message of etcd.
type message interface {
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
	Unmarshal(data []byte) error
}

// Name implements encoding.CodecV2.
func (messageCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (messageCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(message)
	if !ok {
		return nil, fmt.Errorf("etcd: %T is no message of etcd", v)
	}
	size := m.Size()
	if size == 0 {
		return nil, nil
	}
	pool := mem.DefaultBufferPool()
	data := pool.Get(size)
	if _, err := m.MarshalToSizedBuffer((*data)[:size]); err != nil {
		pool.Put(data)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(data, pool)}, nil
}

// Unmarshal implements encoding.CodecV2. The message copies what it keeps.
func (messageCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(message)
	if !ok {
		return fmt.Errorf("etcd: %T is no message of etcd", v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	return m.Unmarshal(whole.ReadOnlyData())
}
