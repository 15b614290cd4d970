package scenarios

import (
	"context"
	"errors"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// onlooker is Consensus for who watches a run and has no part in it: it looks at the versions where they lie, in the
// server's present life, and sees what a client is answered then, without the messages. Those who watch look so often
// that their messages were an eighth of a run's. What it changes goes the way of all.
type onlooker struct {
	persist.Consensus
	c *persistCluster
}

// onlooker returns a client of the servers for who watches.
func (c *persistCluster) onlooker(h host.Host, cfg persist.Config) *persist.Client {
	blob, consensus := c.stores(h)
	return persist.NewClient(h, blob, &onlooker{consensus, c}, cfg)
}

var errDown = errors.New("the server is down")

// look returns the server, or says that it is down.
func (o *onlooker) look(op, key string) (*persist.DiskConsensus, error) {
	if !o.c.serving[consensusNode] {
		return nil, &persist.StoreError{Op: op, Key: key, Kind: persist.ErrDeterminate, Err: errDown}
	}
	return o.c.consensus, nil
}

func (o *onlooker) Head(ctx context.Context, key string) (persist.Versioned, error) {
	d, err := o.look("head", key)
	if err != nil {
		return persist.Versioned{}, err
	}
	return d.Head(ctx, key)
}

func (o *onlooker) Scan(ctx context.Context, key string, from persist.SeqNo, limit int) ([]persist.Versioned, error) {
	d, err := o.look("scan", key)
	if err != nil {
		return nil, err
	}
	return d.Scan(ctx, key, from, limit)
}
