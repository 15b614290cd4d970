package persist

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/simrun-dev/simrun/system/host"
)

// MemConsensus is a Consensus in memory, gone with the process.
type MemConsensus struct {
	mu        *host.Mutex
	registers registers
}

// NewMemConsensus returns an empty store.
func NewMemConsensus(h host.Host) *MemConsensus {
	return &MemConsensus{mu: host.NewMutex(h, "mem consensus"), registers: registers{}}
}

// Head is part of Consensus.
func (m *MemConsensus) Head(ctx context.Context, key string) (Versioned, error) {
	if ctx.Err() != nil {
		return Versioned{}, determinate("head", key, ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.registers.head(key), nil
}

// CompareAndSet is part of Consensus.
func (m *MemConsensus) CompareAndSet(ctx context.Context, key string, expected SeqNo, next Versioned) (bool, error) {
	if ctx.Err() != nil {
		return false, determinate("compare-and-set", key, ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	allowed, err := checkSet(key, m.registers.head(key).SeqNo, expected, next)
	if allowed {
		m.registers.apply(change{Kind: changeSet, Key: key, Versioned: next})
	}
	return allowed, err
}

// Scan is part of Consensus.
func (m *MemConsensus) Scan(ctx context.Context, key string, from SeqNo, limit int) ([]Versioned, error) {
	if ctx.Err() != nil {
		return nil, determinate("scan", key, ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.registers.scan(key, from, limit), nil
}

// Truncate is part of Consensus.
func (m *MemConsensus) Truncate(ctx context.Context, key string, seqno SeqNo) (int, error) {
	if ctx.Err() != nil {
		return 0, determinate("truncate", key, ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := checkTruncate(key, m.registers.head(key).SeqNo, seqno); err != nil {
		return 0, err
	}
	return m.registers.apply(change{Kind: changeTruncate, Key: key, Versioned: Versioned{SeqNo: seqno}}), nil
}

// ListKeys is part of Consensus.
func (m *MemConsensus) ListKeys(ctx context.Context) ([]string, error) {
	if ctx.Err() != nil {
		return nil, determinate("list", "", ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.registers.keys(), nil
}

// MemBlob is a Blob in memory, gone with the process.
type MemBlob struct {
	mu     *host.Mutex
	values map[string][]byte
}

// NewMemBlob returns an empty store.
func NewMemBlob(h host.Host) *MemBlob {
	return &MemBlob{mu: host.NewMutex(h, "mem blob"), values: map[string][]byte{}}
}

// Get is part of Blob.
func (m *MemBlob) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if ctx.Err() != nil {
		return nil, false, determinate("get", key, ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[key]
	return value, ok, nil
}

// Set is part of Blob.
func (m *MemBlob) Set(ctx context.Context, key string, value []byte) error {
	if ctx.Err() != nil {
		return determinate("set", key, ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values[key] = value
	return nil
}

// Delete is part of Blob.
func (m *MemBlob) Delete(ctx context.Context, key string) (int64, bool, error) {
	if ctx.Err() != nil {
		return 0, false, determinate("delete", key, ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	value, ok := m.values[key]
	delete(m.values, key)
	return int64(len(value)), ok, nil
}

// List is part of Blob.
func (m *MemBlob) List(ctx context.Context, prefix string) ([]BlobInfo, error) {
	if ctx.Err() != nil {
		return nil, determinate("list", prefix, ctx.Err())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var infos []BlobInfo
	for _, key := range slices.Sorted(maps.Keys(m.values)) {
		if strings.HasPrefix(key, prefix) {
			infos = append(infos, BlobInfo{Key: key, Size: int64(len(m.values[key]))})
		}
	}
	return infos, nil
}
