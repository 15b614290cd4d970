package persist

import (
	"context"

	"github.com/simrun-dev/simrun/system/host"
)

// Client opens handles on shards. All of a process's handles on a shard share what they know
// of its state, so a process has one Client.
type Client struct {
	h         host.Host
	cfg       Config
	blob      Blob
	consensus Consensus
	life      context.Context
	end       context.CancelFunc

	mu       *host.Mutex
	machines map[ShardID]*machine
}

// NewClient returns a client of the two stores.
func NewClient(h host.Host, blob Blob, consensus Consensus, cfg Config) *Client {
	cfg = cfg.withDefaults()
	if h.Buggify("persist/eager maintenance") {
		cfg = cfg.eager(h.Rand())
	}
	c := &Client{
		h: h, cfg: cfg, blob: blob, consensus: consensus,
		mu: host.NewMutex(h, "persist client"), machines: map[ShardID]*machine{},
	}
	c.life, c.end = host.WithCancel(h, context.Background())
	return c
}

// Close ends the heartbeats of all readers, and what else the client does in the background.
// Their handles must not be used any more; their leases run out.
func (c *Client) Close() { c.end() }

// OpenWriter returns a handle that appends to the shard, which comes into being when it is
// first opened. It retries until ctx ends, as all methods do; like all that take a shard it fails with
// ErrBadShardID where that can't be one.
func (c *Client) OpenWriter(ctx context.Context, shard ShardID) (*WriteHandle, error) {
	m, err := c.machine(ctx, shard)
	if err != nil {
		return nil, err
	}
	return newWriteHandle(c, m), nil
}

// OpenReader registers a leased reader at the shard's since, and keeps it alive.
func (c *Client) OpenReader(ctx context.Context, shard ShardID) (*ReadHandle, error) {
	m, err := c.machine(ctx, shard)
	if err != nil {
		return nil, err
	}
	return openReadHandle(ctx, c, m, (*state).registerReader)
}

// OpenReaderAtCritical is OpenReader for who reads on behalf of those that hold the shard by
// critical sinces: the reader is registered at what they hold, which may be ahead of the
// shard's since, and so does not hold the since back. Without any it is OpenReader.
func (c *Client) OpenReaderAtCritical(ctx context.Context, shard ShardID) (*ReadHandle, error) {
	m, err := c.machine(ctx, shard)
	if err != nil {
		return nil, err
	}
	return openReadHandle(ctx, c, m, (*state).registerReaderAtCritical)
}

// OpenCritical returns a handle on the critical since of that id. When there is none yet it is
// made, at the shard's since and with the opaque initial; otherwise it is picked up as it is.
func (c *Client) OpenCritical(ctx context.Context, shard ShardID, id CriticalID, initial Opaque) (*SinceHandle, error) {
	m, err := c.machine(ctx, shard)
	if err != nil {
		return nil, err
	}
	return openSinceHandle(ctx, m, id, initial)
}

func (c *Client) machine(ctx context.Context, shard ShardID) (*machine, error) {
	if err := shard.check(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	m, ok := c.machines[shard]
	if !ok {
		m = newMachine(c.h, c.cfg, shard, c.blob, c.consensus, c.life)
		c.machines[shard] = m
	}
	c.mu.Unlock()
	return m, m.open(ctx)
}
