package cdc

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
)

// owner is a capture's term of ownership.
type owner struct {
	l        *life
	h        host.Host
	cfg      Config
	election *coord.Election
	epoch    coord.Revision

	// Of the ticking task. Loose are the names under which history is held that is not needed any more. Turn counts
	// the ticks: each begins with another changefeed.
	feeds map[model.ChangeFeedID]*feed
	loose map[string]bool
	turn  int

	mu       *host.Mutex
	adapters map[model.ChangeFeedID]*adapter // those that hear messages
	jobs     []job
	resign   bool
}

// job is what a client asks of the owner's scheduler.
type job struct {
	feed      model.ChangeFeedID
	rebalance bool
	span      model.KeySpanID
	target    model.CaptureID
}

func newOwner(l *life, e *coord.Election) *owner {
	return &owner{
		l: l, h: l.h, cfg: l.cfg, election: e, epoch: e.Revision(),
		feeds: map[model.ChangeFeedID]*feed{}, loose: map[string]bool{},
		mu: host.NewMutex(l.h, "cdc owner"), adapters: map[model.ChangeFeedID]*adapter{},
	}
}

// run ticks until the owner learns that it is none any more, is asked to resign, or ctx ends, and returns
// why.
func (o *owner) run(ctx context.Context) error {
	defer func() {
		for _, id := range slices.Sorted(maps.Keys(o.feeds)) {
			o.feeds[id].stop()
		}
	}()
	for {
		if err := o.tick(ctx); err != nil {
			return err
		}
		_ = host.Sleep(ctx, o.h, o.cfg.OwnerInterval)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// tick reads what there is, and does what is due for every changefeed. What can't be reached now is left
// to the next tick.
func (o *owner) tick(ctx context.Context) error {
	if err := o.l.session.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	resign, jobs := o.resign, o.jobs
	o.jobs = nil
	o.mu.Unlock()
	if resign {
		return errResigned
	}
	var s coord.Snapshot
	_, err := o.within(ctx, func(ctx context.Context) (err error) {
		s, err = o.cfg.Coord.Range(ctx, coord.Prefix(Root), 0)
		return err
	})
	if err != nil {
		o.requeue(jobs)
		return nil
	}
	now, bad := pictureOf(s.KVs, s.Revision)
	for _, key := range bad {
		o.h.Logf("cdc: the value of %s can't be read", key)
	}
	if !now.led || now.leader.Revision != o.epoch || now.leader.Key != o.election.Key() {
		return errDeposed
	}
	if _, listed := now.captures[o.l.id]; !listed {
		return errUnlisted
	}
	for _, id := range slices.Sorted(maps.Keys(now.captures)) {
		o.l.node.Add(id, now.captures[id].info.AdvertiseAddr)
	}
	o.follow(now, bad)
	ids := o.order(now)
	for _, id := range ids {
		if inTime, _ := o.within(ctx, func(ctx context.Context) error {
			o.feeds[id].hold(ctx, now.feeds[id])
			return nil
		}); !inTime {
			break // what is not held shows below
		}
	}
	_, _ = o.within(ctx, func(ctx context.Context) error {
		o.release(ctx)
		return nil
	})
	// Read after the changefeeds: what is wanted is complete up to a ts beyond each checkpoint.
	var spans source.Spans
	_, err = o.within(ctx, func(ctx context.Context) (err error) {
		spans, err = o.cfg.Upstream.Spans(ctx)
		return err
	})
	if err != nil {
		o.h.Sometimes("cdc: an owner can't reach the upstream store", true)
		o.requeue(jobs)
		return nil
	}
	if o.h.Buggify("cdc/an owner is slow to schedule") && o.h.Rand().IntN(8) == 0 {
		// By then others may have taken over.
		_ = host.Sleep(ctx, o.h, time.Duration(o.h.Rand().Int64N(int64(o.cfg.Timeout/2))))
	}
	for _, id := range ids {
		o.feeds[id].apply(jobs, now)
	}
	for _, id := range ids {
		if inTime, _ := o.within(ctx, func(ctx context.Context) error {
			o.feeds[id].tick(ctx, now, spans)
			return nil
		}); !inTime {
			return nil // what was read grows old
		}
	}
	return nil
}

// within makes calls within a Timeout of their own, and tells whether they came to their end before it did.
func (o *owner) within(ctx context.Context, calls func(ctx context.Context) error) (inTime bool, err error) {
	ctx, cancel := o.h.Clock().WithTimeout(ctx, o.cfg.Timeout)
	defer cancel()
	err = calls(ctx)
	return ctx.Err() == nil, err
}

// order is the order in which changefeeds have their turn in a tick: of many, for which there may not be the time,
// none is always the last.
func (o *owner) order(now *picture) []model.ChangeFeedID {
	ids := slices.Sorted(maps.Keys(now.feeds))
	if len(ids) == 0 {
		return nil
	}
	o.turn++
	first := o.turn % len(ids)
	return slices.Concat(ids[first:], ids[:first])
}

// follow makes feeds of the changefeeds there are, and of no others: one that was created again under the id of
// another has nothing to do with that one. One whose info can't be read is not gone.
func (o *owner) follow(now *picture, bad []string) {
	for _, id := range slices.Sorted(maps.Keys(o.feeds)) {
		f, entry := o.feeds[id], now.feeds[id]
		if entry != nil && entry.incarnation == f.incarnation {
			continue
		}
		o.h.Sometimes("cdc: a changefeed was created again between two looks of its owner", entry != nil)
		f.stop()
		if slices.Contains(bad, InfoKey(id)) {
			continue
		}
		o.loose[HoldOf(id, f.incarnation)] = true
		delete(o.feeds, id)
	}
	for id, entry := range now.feeds {
		if o.feeds[id] == nil {
			o.feeds[id] = &feed{o: o, id: id, incarnation: entry.incarnation}
		}
	}
}

func (o *owner) requeue(jobs []job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.jobs = append(slices.Clone(jobs), o.jobs...)
}

// receive takes in a message of an agent.
func (o *owner) receive(from model.CaptureID, m message) {
	o.mu.Lock()
	a := o.adapters[m.Feed]
	o.mu.Unlock()
	if a == nil {
		o.h.Sometimes("cdc: an agent tells of itself before the owner has a scheduler", m.Statuses != nil)
		return
	}
	a.receive(from, m)
}

// ask takes in what a client asks for.
func (o *owner) ask(j job) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.jobs = append(o.jobs, j)
}

// askToResign makes the owner resign at its next tick.
func (o *owner) askToResign() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.resign = true
}
