package persisttest_test

import (
	"context"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// The broken Blob stores.

type needsKey struct{ persist.Blob }

func (b needsKey) Delete(ctx context.Context, key string) (int64, bool, error) {
	size, existed, err := b.Blob.Delete(ctx, key)
	if err == nil && !existed {
		err = &persist.StoreError{Op: "delete", Key: key, Kind: persist.ErrDeterminate, Err: context.Canceled}
	}
	return size, existed, err
}

type noSize struct{ persist.Blob }

func (b noSize) Delete(ctx context.Context, key string) (int64, bool, error) {
	_, existed, err := b.Blob.Delete(ctx, key)
	return 0, existed, err
}

type keeps struct{ persist.Blob }

func (b keeps) Delete(ctx context.Context, key string) (int64, bool, error) {
	value, ok, err := b.Get(ctx, key)
	return int64(len(value)), ok, err
}

type noEmpty struct{ persist.Blob }

func (b noEmpty) Get(ctx context.Context, key string) ([]byte, bool, error) {
	value, ok, err := b.Blob.Get(ctx, key)
	return value, ok && len(value) > 0, err
}

type once struct{ persist.Blob }

func (b once) Set(ctx context.Context, key string, value []byte) error {
	if _, ok, err := b.Get(ctx, key); ok || err != nil {
		return err
	}
	return b.Blob.Set(ctx, key, value)
}

type overlays struct{ persist.Blob }

func (b overlays) Set(ctx context.Context, key string, value []byte) error {
	old, _, err := b.Get(ctx, key)
	if err == nil && len(old) > len(value) {
		value = append(slices.Clone(value), old[len(value):]...)
	}
	return b.Blob.Set(ctx, key, value)
}

type inHalves struct {
	persist.Blob
	h host.Host
}

func (b inHalves) Set(ctx context.Context, key string, value []byte) error {
	if err := b.Blob.Set(ctx, key, value[:len(value)/2]); err != nil {
		return err
	}
	b.h.Clock().Sleep(20 * time.Microsecond)
	return b.Blob.Set(ctx, key, value)
}

type deletesFirst struct {
	persist.Blob
	h host.Host
}

func (b deletesFirst) Set(ctx context.Context, key string, value []byte) error {
	if _, _, err := b.Delete(ctx, key); err != nil {
		return err
	}
	b.h.Clock().Sleep(20 * time.Microsecond)
	return b.Blob.Set(ctx, key, value)
}

type cutsLarge struct{ persist.Blob }

func (b cutsLarge) Set(ctx context.Context, key string, value []byte) error {
	return b.Blob.Set(ctx, key, value[:min(len(value), 1<<20)])
}

// foldedBlob takes some keys for others.
type foldedBlob struct {
	persist.Blob
	fold func(string) string
}

func (b foldedBlob) Get(ctx context.Context, key string) ([]byte, bool, error) {
	return b.Blob.Get(ctx, b.fold(key))
}

func (b foldedBlob) Set(ctx context.Context, key string, value []byte) error {
	return b.Blob.Set(ctx, b.fold(key), value)
}

func (b foldedBlob) Delete(ctx context.Context, key string) (int64, bool, error) {
	return b.Blob.Delete(ctx, b.fold(key))
}

func cleanPath(key string) string { return path.Clean(key) }

func unescape(key string) string {
	if plain, err := url.PathUnescape(key); err == nil {
		return plain
	}
	return key
}

// listing changes what List returns.
func listing(b persist.Blob, ctx context.Context, prefix string, change func([]persist.BlobInfo) []persist.BlobInfo) ([]persist.BlobInfo, error) {
	infos, err := b.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	return change(infos), nil
}

type directories struct{ persist.Blob }

func (b directories) List(ctx context.Context, prefix string) ([]persist.BlobInfo, error) {
	return listing(b.Blob, ctx, prefix, func(infos []persist.BlobInfo) []persist.BlobInfo {
		return slices.DeleteFunc(infos, func(i persist.BlobInfo) bool { return strings.Contains(i.Key[len(prefix):], "/") })
	})
}

type infix struct{ persist.Blob }

func (b infix) List(ctx context.Context, prefix string) ([]persist.BlobInfo, error) {
	return listing(b.Blob, ctx, "", func(infos []persist.BlobInfo) []persist.BlobInfo {
		return slices.DeleteFunc(infos, func(i persist.BlobInfo) bool { return !strings.Contains(i.Key, prefix) })
	})
}

type properPrefix struct{ persist.Blob }

func (b properPrefix) List(ctx context.Context, prefix string) ([]persist.BlobInfo, error) {
	return listing(b.Blob, ctx, prefix, func(infos []persist.BlobInfo) []persist.BlobInfo {
		return slices.DeleteFunc(infos, func(i persist.BlobInfo) bool { return prefix != "" && i.Key == prefix })
	})
}

type backwards struct{ persist.Blob }

func (b backwards) List(ctx context.Context, prefix string) ([]persist.BlobInfo, error) {
	return listing(b.Blob, ctx, prefix, func(infos []persist.BlobInfo) []persist.BlobInfo {
		slices.Reverse(infos)
		return infos
	})
}

type sizeless struct{ persist.Blob }

func (b sizeless) List(ctx context.Context, prefix string) ([]persist.BlobInfo, error) {
	return listing(b.Blob, ctx, prefix, func(infos []persist.BlobInfo) []persist.BlobInfo {
		for i := range infos {
			infos[i].Size = 0
		}
		return infos
	})
}

type staleList struct {
	persist.Blob
	last []persist.BlobInfo
}

func (b *staleList) List(ctx context.Context, prefix string) ([]persist.BlobInfo, error) {
	infos, err := b.Blob.List(ctx, prefix)
	infos, b.last = b.last, infos
	return infos, err
}

type cachedBlob struct {
	persist.Blob
	values map[string][]byte
}

func (b *cachedBlob) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if value, ok := b.values[key]; ok {
		return value, true, nil
	}
	value, ok, err := b.Blob.Get(ctx, key)
	if ok && err == nil {
		b.values[key] = value
	}
	return value, ok, err
}

type sharedValues struct {
	persist.Blob
	buffer []byte
}

func (b *sharedValues) Get(ctx context.Context, key string) ([]byte, bool, error) {
	value, ok, err := b.Blob.Get(ctx, key)
	b.buffer = append(b.buffer[:0], value...)
	return b.buffer, ok, err
}

func (b *sharedValues) Set(ctx context.Context, key string, value []byte) error {
	b.buffer = append(b.buffer[:0], value...)
	return b.Blob.Set(ctx, key, slices.Clone(b.buffer))
}

type tirelessBlob struct{ persist.Blob }

func (b tirelessBlob) Set(ctx context.Context, key string, value []byte) error {
	return b.Blob.Set(context.WithoutCancel(ctx), key, value)
}

type blobSaysNo struct {
	persist.Blob
	h host.Host
}

func (b blobSaysNo) Set(ctx context.Context, key string, value []byte) (err error) {
	if ended := late(ctx, b.h, func() { err = b.Blob.Set(context.WithoutCancel(ctx), key, value) }); ended != nil {
		return &persist.StoreError{Op: "set", Key: key, Kind: persist.ErrDeterminate, Err: ended}
	}
	return err
}

type blobSaysYes struct {
	persist.Blob
	h host.Host
}

func (b blobSaysYes) Set(ctx context.Context, key string, value []byte) error {
	if late(ctx, b.h, func() {}) != nil {
		return nil
	}
	return b.Blob.Set(ctx, key, value)
}

// losesSet forgets, when it starts again, what it was told last.
type losesSet struct {
	persist.Blob
	undo func()
}

func (b *losesSet) Set(ctx context.Context, key string, value []byte) error {
	old, ok, err := b.Get(ctx, key)
	if err != nil {
		return err
	}
	b.undo = func() {
		if ok {
			_ = b.Blob.Set(context.Background(), key, old)
		} else {
			_, _, _ = b.Blob.Delete(context.Background(), key)
		}
	}
	return b.Blob.Set(ctx, key, value)
}

func (b *losesSet) restart() { b.undo() }

// undeletes has, when it starts again, what was deleted last.
type undeletes struct {
	persist.Blob
	undo func()
}

func (b *undeletes) Delete(ctx context.Context, key string) (int64, bool, error) {
	old, ok, err := b.Get(ctx, key)
	if ok && err == nil {
		b.undo = func() { _ = b.Blob.Set(context.Background(), key, old) }
	}
	return b.Blob.Delete(ctx, key)
}

func (b *undeletes) restart() {
	if b.undo != nil {
		b.undo()
	}
}
