package persist

import (
	"context"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

// The methods of a Blob service.
const (
	methodGet    rpc.Method[keyRequest, getReply]    = "blob/get"
	methodSet    rpc.Method[setRequest, struct{}]    = "blob/set"
	methodDelete rpc.Method[keyRequest, deleteReply] = "blob/delete"
	methodList   rpc.Method[keyRequest, []BlobInfo]  = "blob/list"
)

type getReply struct {
	_     struct{} `cbor:",toarray"`
	Value []byte
	Found bool
}

type setRequest struct {
	_     struct{} `cbor:",toarray"`
	Key   string
	Value []byte
}

type deleteReply struct {
	_       struct{} `cbor:",toarray"`
	Size    int64
	Existed bool
}

// HandleBlob adds the methods of a Blob to a service, answered from b.
func HandleBlob(s *rpc.Service, b Blob) {
	methodGet.Handle(s, func(ctx context.Context, r keyRequest) (getReply, error) {
		value, found, err := b.Get(ctx, r.Key)
		return getReply{Value: value, Found: found}, toWire(err)
	})
	methodSet.Handle(s, func(ctx context.Context, r setRequest) (struct{}, error) {
		return struct{}{}, toWire(b.Set(ctx, r.Key, r.Value))
	})
	methodDelete.Handle(s, func(ctx context.Context, r keyRequest) (deleteReply, error) {
		size, existed, err := b.Delete(ctx, r.Key)
		return deleteReply{Size: size, Existed: existed}, toWire(err)
	})
	methodList.Handle(s, func(ctx context.Context, r keyRequest) ([]BlobInfo, error) {
		infos, err := b.List(ctx, r.Key)
		return infos, toWire(err)
	})
}

// ServeBlob serves a [DiskBlob] in the directory "blob" of the host's disk.
func ServeBlob(h host.Host, port string) (*rpc.Server, error) {
	b, err := OpenDiskBlob(h, "blob")
	if err != nil {
		return nil, err
	}
	s := rpc.NewService()
	HandleBlob(s, b)
	return rpc.Serve(h, port, s, serverOptions(h))
}

// BlobClient is a Blob that is served elsewhere.
type BlobClient struct{ c *rpc.Client }

// NewBlobClient returns a client of the Blob served at addr.
func NewBlobClient(h host.Host, addr string) *BlobClient {
	return NewBlobClientOf(rpc.NewClient(h, addr, rpc.ClientOptions{}))
}

// NewBlobClientOf returns a client that makes its calls with c.
func NewBlobClientOf(c *rpc.Client) *BlobClient { return &BlobClient{c: c} }

// Get is part of Blob.
func (b *BlobClient) Get(ctx context.Context, key string) ([]byte, bool, error) {
	r, err := methodGet.Call(ctx, b.c, keyRequest{Key: key})
	return r.Value, r.Found, fromWire("get", key, err)
}

// Set is part of Blob.
func (b *BlobClient) Set(ctx context.Context, key string, value []byte) error {
	_, err := methodSet.Call(ctx, b.c, setRequest{Key: key, Value: value})
	return fromWire("set", key, err)
}

// Delete is part of Blob.
func (b *BlobClient) Delete(ctx context.Context, key string) (int64, bool, error) {
	r, err := methodDelete.Call(ctx, b.c, keyRequest{Key: key})
	return r.Size, r.Existed, fromWire("delete", key, err)
}

// List is part of Blob.
func (b *BlobClient) List(ctx context.Context, prefix string) ([]BlobInfo, error) {
	infos, err := methodList.Call(ctx, b.c, keyRequest{Key: prefix})
	return infos, fromWire("list", prefix, err)
}
