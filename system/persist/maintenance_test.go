package persist_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// eager is how clients keep a shard in tests: all the time, in small pieces.
var eager = persist.Config{
	RollupInterval: 3, CollectInterval: 2, MergeBatches: 2, PartUpdates: 2,
	DowngradeInterval: time.Millisecond, RetryMax: 200 * time.Millisecond, PollMax: 50 * time.Millisecond,
}

// naive is every update ever appended to a shard.
type naive []persist.Update

// asOf is what the shard holds as of a time.
func (n naive) asOf(t uint64) []persist.Update {
	contents := []persist.Update{}
	for _, u := range n {
		if u.Time <= t {
			contents = append(contents, update(u.Data, t, u.Diff))
		}
	}
	return persist.Consolidate(contents)
}

// in is what was written of times in [from, to).
func (n naive) in(from, to uint64) []persist.Update {
	updates := []persist.Update{}
	for _, u := range n {
		if u.Time >= from && u.Time < to {
			updates = append(updates, u)
		}
	}
	return persist.Consolidate(updates)
}

// flow is the work of some clients on one shard, over stores that may fail. Appends are retried
// until they are settled, so that what the shard holds is known, in the end.
type flow struct {
	t    *testing.T
	w    *sim.World
	s    stores
	rate int64
	// definite is whether what is written at a time depends on nothing else, so that writers
	// need not agree on who writes it.
	definite bool
	log      naive
	upper    uint64 // that somebody was told of
	writing  int
	reads    []sight
	events   []sight
}

// sight is something that was read. What it ought to have been is known in the end.
type sight struct {
	snapshot bool   // as of from
	from, to uint64 // the times it covers, otherwise
	got      []persist.Update
}

func (f *flow) judge() {
	if f.definite {
		f.log = definite(0, f.upper)
	}
	for _, s := range append(f.reads, f.events...) {
		want := f.log.in(s.from, s.to)
		if s.snapshot {
			want = f.log.asOf(s.from)
		}
		require.Equal(f.t, want, append([]persist.Update{}, s.got...), "snapshot: %t, from %d to %d", s.snapshot, s.from, s.to)
	}
}

// definite is the data of the times in [from, to) of a definite flow.
func definite(from, to uint64) (rows []persist.Update) {
	for at := from; at < to; at++ {
		rows = append(rows, update(fmt.Sprint("definite ", at%3), at, []int64{1, 2, -1}[at%3]))
	}
	return rows
}

func (f *flow) client(name string) *persist.Client {
	u := newUnreliable(f.w, f.rate, name)
	cfg := eager
	cfg.MergeBatches = int(2 + u.random.N(3))
	return persist.NewClient(f.w.Host(), unreliableBlob{u, f.s.blob(f.w.Host())}, unreliableConsensus{u, f.s.consensus(f.w.Host())}, cfg)
}

func (f *flow) write(name string, appends int) {
	defer func() { f.writing-- }()
	random := f.w.NewStream("test", name)
	writer, err := f.client(name).OpenWriter(background, shard)
	require.NoError(f.t, err)
	upper, err := writer.FetchRecentUpper(background)
	require.NoError(f.t, err)
	for range appends {
		from := upperOf(upper)
		to := from + random.N(4)
		var rows []persist.Update
		for range random.N(5) {
			if to > from {
				rows = append(rows, update(fmt.Sprint("row ", random.N(6)), from+random.N(to-from), random.Between(-1, 2)))
			}
		}
		switch {
		case f.definite:
			from -= min(from, random.N(3))
			err = writer.Append(background, definite(from, to), at(from), at(to))
		case to == from || random.N(2) == 0:
			err = writer.CompareAndAppend(background, rows, at(from), at(to))
		default: // written for more than it is appended as
			b := writer.NewBatch(at(from - min(from, 2)))
			require.NoError(f.t, b.Add(background, rows...))
			require.NoError(f.t, b.Add(background, update("not seen", to+1, 1)))
			if from > 0 {
				require.NoError(f.t, b.Add(background, update("not seen", from-1, 1)))
			}
			batch, finishErr := b.Finish(background, at(to+2))
			require.NoError(f.t, finishErr)
			err = writer.CompareAndAppendBatch(background, []*persist.Batch{batch}, at(from), at(to), true)
			batch.Discard()
		}
		var mismatch *persist.UpperMismatch
		switch {
		case err == nil:
			f.log = append(f.log, rows...)
			f.upper = max(f.upper, to)
			upper = writer.Upper()
		case errors.As(err, &mismatch):
			upper = mismatch.Current
		default:
			require.NoError(f.t, err)
		}
		f.w.Sleep(time.Duration(random.Between(0, 20)) * time.Millisecond)
	}
}

// read takes snapshots, and gives up the times before them.
func (f *flow) read(name string) {
	random := f.w.NewStream("test", name)
	client := f.client(name)
	reader, err := client.OpenReader(background, shard)
	require.NoError(f.t, err)
	for f.writing > 0 {
		since := upperOf(reader.Since())
		asOf := since + random.N(f.upper-min(f.upper, since)+1)
		if f.upper == 0 {
			f.w.Sleep(10 * time.Millisecond)
			continue
		}
		ctx, cancel := f.w.Host().Clock().WithTimeout(background, time.Second)
		snapshot, err := reader.Snapshot(ctx, asOf)
		if err != nil {
			cancel()
			require.NotNil(f.t, ctx.Err(), "%v", err)
			continue
		}
		if random.N(2) == 0 { // pinned, so it does not matter what is given up before it is fetched
			_, err := reader.DowngradeSince(background, at(asOf+random.N(3)))
			require.NoError(f.t, err)
			f.w.Sleep(time.Duration(random.Between(0, 300)) * time.Millisecond)
		}
		got, err := snapshot.Fetch(background)
		cancel()
		require.NoError(f.t, err)
		snapshot.Close()
		f.reads = append(f.reads, sight{snapshot: true, from: asOf, got: got})
		if random.N(4) == 0 {
			require.NoError(f.t, reader.Expire(background))
			reader, err = client.OpenReader(background, shard)
			require.NoError(f.t, err)
		}
	}
	require.NoError(f.t, reader.Expire(background))
}

// listen follows the shard, and begins anew now and then.
func (f *flow) listen(name string) {
	random := f.w.NewStream("test", name)
	client := f.client(name)
	for f.writing > 0 {
		reader, err := client.OpenReader(background, shard)
		require.NoError(f.t, err)
		since := upperOf(reader.Since())
		asOf := since + random.N(3)
		var l *persist.Listener
		subscribes := random.N(2) == 0
		if subscribes {
			l, err = reader.Subscribe(background, asOf)
		} else {
			l, err = reader.Listen(background, asOf)
		}
		require.NoError(f.t, err)
		from := asOf + 1
		for range random.N(30) {
			ctx, cancel := f.w.Host().Clock().WithTimeout(background, time.Second)
			e, err := l.Next(ctx)
			cancel()
			if err != nil {
				require.NotNil(f.t, ctx.Err(), "%v", err)
				break
			}
			if e.Snapshot {
				require.True(f.t, subscribes)
				f.events = append(f.events, sight{snapshot: true, from: asOf, got: e.Updates})
				subscribes = false
				continue
			}
			require.False(f.t, subscribes)
			progress := upperOf(e.Progress)
			require.Greater(f.t, progress, asOf)
			f.events = append(f.events, sight{from: from, to: progress, got: e.Updates})
			from = progress
			f.w.Sleep(time.Duration(random.Between(0, 30)) * time.Millisecond)
		}
		require.NoError(f.t, l.Expire(background))
	}
}

// Whatever is merged, rolled up and collected, and however the stores fail: readers read, and
// listeners emit, what was appended.
func TestShardUnderMaintenance(t *testing.T) {
	sometimes := map[string]int{}
	inWorld(t, 40, func(w *sim.World) {
		f := &flow{t: t, w: w, s: inMemory(w), rate: int64(w.Seed()%3) * 15, definite: w.Seed()%4 == 3}
		group := host.NewWaitGroup(w.Host(), "flow")
		for i := range 3 {
			f.writing++
			group.Go(w.Host(), "write", func() { f.write(fmt.Sprint("writer ", i), 60) })
		}
		for i := range 2 {
			group.Go(w.Host(), "read", func() { f.read(fmt.Sprint("reader ", i)) })
			group.Go(w.Host(), "listen", func() { f.listen(fmt.Sprint("listener ", i)) })
		}
		group.Wait()
		require.NotEmpty(t, f.reads)
		require.NotEmpty(t, f.events)
		w.Sleep(10 * time.Second)
		reader, err := f.s.client(w.Host(), persist.Config{}).OpenReader(background, shard)
		require.NoError(t, err)
		for asOf := upperOf(reader.Since()); asOf < f.upper; asOf++ {
			got, err := reader.SnapshotAndFetch(background, asOf)
			require.NoError(t, err)
			f.reads = append(f.reads, sight{snapshot: true, from: asOf, got: got})
		}
		f.judge()
		require.NoError(t, persist.CheckHistory(background, f.s.blob(w.Host()), f.s.consensus(w.Host()), shard))
		for name, n := range w.Sometimes() {
			sometimes[name] += n
		}
	})
	for _, name := range []string{
		"persist: a collection found that others had been there",
		"persist: a listener had to wait for the upper",
		"persist: a listener met a batch of which it had emitted a part",
		"persist: a listener met a merged batch",
		"persist: a merge came too late",
		"persist: a rollup came too late",
		"persist: a rollup was added",
		"persist: a state was rebuilt from a rollup",
		"persist: batches were merged",
		"persist: batches were merged up to a since",
		"persist: blobs were collected",
		"persist: maintenance counts as applied because it may have been",
		"persist: maintenance was still busy when it was asked for again",
		"persist: the versions since the last look were dropped already",
		"persist: versions were dropped",
	} {
		require.Positive(t, sometimes[name], name)
	}
}

// settle appends until maintenance has seen all there is.
func settle(t *testing.T, w *sim.World, writer *persist.WriteHandle) {
	for range 12 {
		from := upperOf(writer.Upper())
		require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update(fmt.Sprint("tick ", from), from, 1)}, at(from), at(from+1)))
		w.Sleep(2 * time.Second)
	}
}

func blobKeys(t *testing.T, w *sim.World, s stores) (keys []string) {
	infos, err := s.blob(w.Host()).List(background, string(shard)+"/")
	require.NoError(t, err)
	for _, b := range infos {
		keys = append(keys, b.Key)
	}
	return keys
}

// A snapshot that is not closed keeps blobs that only old versions refer to; one whose reader's
// lease has expired does not.
func TestCollectionLeavesWhatReadersPin(t *testing.T) {
	inWorld(t, 4, func(w *sim.World) {
		s := inMemory(w)
		cfg := eager
		cfg.ReaderLease = 10 * time.Second
		_, writer, reader := opened(t, w, s, cfg)
		asleep := w.NewNode("asleep", func(host.Host) {})
		sleeper, err := s.client(asleep.Host(), cfg).OpenReader(background, shard)
		require.NoError(t, err)
		for i := range uint64(6) {
			require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", i, 1)}, at(i), at(i+1)))
		}
		want := []persist.Update{update("x", 5, 6)}
		kept, err := reader.Snapshot(background, 5)
		require.NoError(t, err)
		lost, err := sleeper.Snapshot(background, 5)
		require.NoError(t, err)
		early := blobKeys(t, w, s)

		for _, r := range []*persist.ReadHandle{reader, sleeper} {
			_, err = r.DowngradeSince(background, at(100))
			require.NoError(t, err)
		}
		settle(t, w, writer)
		got, err := kept.Fetch(background)
		require.NoError(t, err)
		require.Equal(t, want, got)
		got, err = lost.Fetch(background)
		require.NoError(t, err)
		require.Equal(t, want, got)

		asleep.Pause()
		settle(t, w, writer)
		got, err = kept.Fetch(background)
		require.NoError(t, err, "the other one still holds it")
		require.Equal(t, want, got)
		kept.Close()
		settle(t, w, writer)
		settle(t, w, writer)
		now := strings.Join(blobKeys(t, w, s), " ")
		if w.Seed()%2 == 0 { // without Buggify, which puts maintenance off
			for _, key := range early {
				require.NotContains(t, now, key)
			}
		}
		asleep.Resume()
		_, err = lost.Fetch(background)
		if w.Seed()%2 == 0 || err != nil {
			require.ErrorIs(t, err, persist.ErrLeaseExpired)
		}
	})
}

// A merge that went in though its answer was lost, and was merged away by others before it was
// tried again, does not take its blobs for unused.
func TestHiddenMerge(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		if w.Seed()%2 == 1 {
			return // the script is for the commands of the test
		}
		s := inMemory(w)
		sc := &script{Consensus: s.consensus(w.Host())}
		cfg := persist.Config{MergeBatches: 2, CollectInterval: 1000}
		writer, err := persist.NewClient(w.Host(), s.blob(w.Host()), sc, cfg).OpenWriter(background, shard)
		require.NoError(t, err)
		cfg.NoMaintenance = true
		rival, err := s.client(w.Host(), cfg).OpenWriter(background, shard)
		require.NoError(t, err)
		_, _, reader := opened(t, w, s, cfg)
		append := func(writer *persist.WriteHandle, from uint64) {
			require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update(fmt.Sprint(from), from, 1)}, at(from), at(from+1)))
		}
		append(writer, 0)
		before := len(blobKeys(t, w, s))
		sc.cas = []func(func() (bool, error)) (bool, error){
			func(do func() (bool, error)) (bool, error) { return do() }, // the append
			after(lostReply, func() { append(rival, 2) }),               // the merge
		}
		_, err = writer.FetchRecentUpper(background)
		require.NoError(t, err)
		append(writer, 1)
		w.Sleep(10 * time.Second)
		require.Empty(t, sc.cas)
		require.Len(t, blobKeys(t, w, s), before+3, "two more appends, and the merge")
		got, err := reader.SnapshotAndFetch(background, 2)
		require.NoError(t, err)
		require.Len(t, got, 3)
	})
}

func TestFinalizeShard(t *testing.T) {
	inWorld(t, 6, func(w *sim.World) {
		s := inMemory(w)
		client, writer, reader := opened(t, w, s, eager)
		other := s.client(w.Host(), eager)
		critical, err := other.OpenCritical(background, shard, "c", 0)
		require.NoError(t, err)
		for i := range uint64(10) {
			require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", i, 1)}, at(i), at(i+1)))
		}
		refused := func(since, upper persist.Frontier) {
			var notClosed *persist.FinalizationError
			require.ErrorAs(t, client.Finalize(background, shard), &notClosed)
			require.Equal(t, &persist.FinalizationError{Shard: shard, Since: since, Upper: upper}, notClosed)
		}
		refused(at(0), at(10))
		require.NoError(t, writer.CompareAndAppend(background, nil, at(10), persist.Empty()))
		refused(at(0), persist.Empty())
		_, err = critical.CompareAndDowngradeSince(background, 0, 0, persist.Empty())
		require.NoError(t, err)
		_, err = reader.DowngradeSince(background, persist.Empty())
		require.NoError(t, err)

		group := host.NewWaitGroup(w.Host(), "finalize")
		for _, c := range []*persist.Client{client, other, s.client(w.Host(), eager)} {
			group.Go(w.Host(), "finalize", func() { require.NoError(t, c.Finalize(background, shard)) })
		}
		group.Wait()
		w.Sleep(time.Minute)
		require.NoError(t, client.Finalize(background, shard))
		require.Len(t, blobKeys(t, w, s), 1, "the rollup")
		versions, err := s.consensus(w.Host()).Scan(background, string(shard), 0, 100)
		require.NoError(t, err)
		require.LessOrEqual(t, len(versions), 4)
		last := versions[len(versions)-1].SeqNo

		// Nothing can be done with it, and nothing makes another version of it.
		for _, c := range []*persist.Client{client, s.client(w.Host(), eager)} {
			writer, err := c.OpenWriter(background, shard)
			require.NoError(t, err)
			var mismatch *persist.UpperMismatch
			require.ErrorAs(t, writer.CompareAndAppend(background, nil, at(10), at(11)), &mismatch)
			require.Equal(t, persist.Empty(), mismatch.Current)
			require.NoError(t, writer.Expire(background))
			reader, err := c.OpenReader(background, shard)
			require.NoError(t, err)
			require.Equal(t, persist.Empty(), reader.Since())
			_, err = reader.Snapshot(background, 5)
			require.ErrorAs(t, err, new(*persist.SinceError))
			_, err = reader.Listen(background, 5)
			require.ErrorAs(t, err, new(*persist.SinceError))
			held, err := reader.DowngradeSince(background, at(12))
			require.NoError(t, err)
			require.Equal(t, persist.Empty(), held)
			require.NoError(t, reader.Expire(background))
			critical, err := c.OpenCritical(background, shard, "d", 0)
			require.NoError(t, err)
			held, err = critical.CompareAndDowngradeSince(background, 77, 78, at(3))
			require.NoError(t, err)
			require.Equal(t, persist.Empty(), held)
		}
		head, err := s.consensus(w.Host()).Head(background, string(shard))
		require.NoError(t, err)
		require.Equal(t, last, head.SeqNo)
	})
}

func TestListUnreferenced(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		s := inMemory(w)
		client, writer, reader := opened(t, w, s, eager)
		b := built(t, writer, 0, 5, update("x", 1, 1))
		unreferenced := func() (keys []string) {
			infos, err := client.ListUnreferenced(background, shard)
			require.NoError(t, err)
			for _, b := range infos {
				keys = append(keys, b.Key)
			}
			return keys
		}
		require.Equal(t, blobKeys(t, w, s), unreferenced())
		require.NoError(t, writer.CompareAndAppendBatch(background, []*persist.Batch{b}, at(0), at(5), true))
		require.Empty(t, unreferenced())
		leaked := built(t, writer, 5, 9, update("x", 6, 1))
		require.Equal(t, 1, leaked.Updates())
		_, err := reader.DowngradeSince(background, at(5))
		require.NoError(t, err)
		settle(t, w, writer)
		if w.Seed()%2 == 0 { // Buggify leaves blobs behind
			require.Len(t, unreferenced(), 1)
		}
	})
}

func TestListenerReachesTheEndOfAClosedShard(t *testing.T) {
	inWorld(t, 2, func(w *sim.World) {
		_, writer, reader := opened(t, w, inMemory(w), eager)
		l, err := reader.Subscribe(background, 0)
		require.NoError(t, err)
		for i := range uint64(20) {
			require.NoError(t, writer.CompareAndAppend(background, []persist.Update{update("x", i, 1)}, at(i), at(i+1)))
		}
		require.NoError(t, writer.CompareAndAppend(background, nil, at(20), persist.Empty()))
		total := int64(0)
		for {
			e, err := l.Next(background)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			for _, u := range e.Updates {
				total += u.Diff
			}
		}
		require.Equal(t, int64(20), total)
	})
}
