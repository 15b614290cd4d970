package persisttest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// register checks one Consensus as a test drives it.
type register struct {
	t *testing.T
	c persist.Consensus
}

func version(n persist.SeqNo, data string) persist.Versioned {
	return persist.Versioned{SeqNo: n, Data: []byte(data)}
}

// numbered is a version whose data tells its number.
func numbered(n persist.SeqNo) persist.Versioned { return version(n, fmt.Sprint("v", n)) }

func (r register) cas(key string, expected persist.SeqNo, next persist.Versioned, want bool) {
	r.t.Helper()
	committed, err := r.c.CompareAndSet(background, key, expected, next)
	require.NoError(r.t, err)
	require.Equal(r.t, want, committed, "compare-and-set of %q: %d after %d", key, next.SeqNo, expected)
}

// set sets numbered versions one after the other.
func (r register) set(key string, numbers ...persist.SeqNo) {
	r.t.Helper()
	v, err := r.c.Head(background, key)
	require.NoError(r.t, err)
	last := v.SeqNo
	for _, n := range numbers {
		r.cas(key, last, numbered(n), true)
		last = n
	}
}

func (r register) casInvalid(key string, expected, next persist.SeqNo) {
	r.t.Helper()
	committed, err := r.c.CompareAndSet(background, key, expected, version(next, "invalid"))
	require.False(r.t, committed)
	requireInvalid(r.t, err)
}

// requireInvalid: what can't be right is refused for good, and not to be tried again.
func requireInvalid(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, persist.ErrInvalidSeqNo)
	require.NotErrorIs(t, err, persist.ErrDeterminate)
	require.NotErrorIs(t, err, persist.ErrIndeterminate)
}

func (r register) head(key string, want persist.Versioned) {
	r.t.Helper()
	v, err := r.c.Head(background, key)
	require.NoError(r.t, err)
	require.Equal(r.t, want.SeqNo, v.SeqNo, "head of %q", key)
	require.Equal(r.t, string(want.Data), string(v.Data), "head of %q", key)
}

func (r register) scan(key string, from persist.SeqNo, limit int, want ...persist.SeqNo) {
	r.t.Helper()
	versions, err := r.c.Scan(background, key, from, limit)
	require.NoError(r.t, err)
	var got []persist.SeqNo
	for _, v := range versions {
		require.Equal(r.t, fmt.Sprint("v", v.SeqNo), string(v.Data))
		got = append(got, v.SeqNo)
	}
	require.Equal(r.t, want, got, "scan of %q from %d, at most %d", key, from, limit)
}

func (r register) all(key string, want ...persist.SeqNo) {
	r.t.Helper()
	r.scan(key, 0, math.MaxInt32, want...)
}

func (r register) truncate(key string, to persist.SeqNo, want int) {
	r.t.Helper()
	dropped, err := r.c.Truncate(background, key, to)
	require.NoError(r.t, err)
	require.Equal(r.t, want, dropped, "truncate %q to %d", key, to)
}

func (r register) truncateInvalid(key string, to persist.SeqNo) {
	r.t.Helper()
	dropped, err := r.c.Truncate(background, key, to)
	require.Zero(r.t, dropped)
	requireInvalid(r.t, err)
}

func (r register) keys(want ...string) {
	r.t.Helper()
	keys, err := r.c.ListKeys(background)
	require.NoError(r.t, err)
	require.Equal(r.t, len(want), len(keys), "%q", keys)
	for i, key := range keys {
		require.Equal(r.t, want[i], key)
	}
}

// onRegister is a test of one caller.
func onRegister(fn func(r register)) func(*testing.T, Bench[persist.Consensus]) {
	return func(t *testing.T, b Bench[persist.Consensus]) { fn(register{t, b.Client()}) }
}

const maxSeqNo = persist.MaxSeqNo

var consensusTests = []test[persist.Consensus]{
	{"nothing is there", onRegister(func(r register) {
		r.head("k", persist.Versioned{})
		r.all("k")
		r.scan("k", maxSeqNo, 10)
		r.keys()
		for _, to := range []persist.SeqNo{0, 1, maxSeqNo, math.MaxUint64} {
			r.truncateInvalid("k", to)
		}
		r.keys() // asking makes nothing
	})},
	{"the first version", onRegister(func(r register) {
		for i, n := range []persist.SeqNo{1, 2, 1 << 40, maxSeqNo} {
			key := fmt.Sprint(i)
			r.cas(key, 1, numbered(maxSeqNo), false) // there is none
			r.cas(key, n-1, numbered(n), n == 1)
			r.cas(key, 0, numbered(n), n != 1)
			r.cas(key, 0, numbered(maxSeqNo), false)
			r.head(key, numbered(n))
			r.all(key, n)
		}
	})},
	{"mismatches", onRegister(func(r register) {
		r.cas("k", 3, numbered(5), false)
		r.keys()
		r.set("k", 5)
		for _, expected := range []persist.SeqNo{0, 1, 4, 6, maxSeqNo - 1} {
			r.cas("k", expected, version(expected+1, "lost"), false)
			r.cas("k", expected, version(maxSeqNo, "lost"), false)
		}
		r.head("k", numbered(5))
		r.all("k", 5)
		r.cas("k", 5, numbered(6), true)
		r.cas("k", 5, version(6, "again"), false)
		r.all("k", 5, 6)
	})},
	{"invalid numbers", onRegister(func(r register) {
		for _, key := range []string{"missing", "k"} {
			for _, next := range []persist.SeqNo{0, 1, 6, 7, maxSeqNo + 1, math.MaxUint64} {
				r.casInvalid(key, 7, next)
			}
			r.casInvalid(key, 0, 0)
			r.casInvalid(key, 0, maxSeqNo+1)
			r.casInvalid(key, math.MaxUint64, math.MaxUint64)
			r.casInvalid(key, maxSeqNo, maxSeqNo)
			if key == "missing" {
				r.keys()
				r.set("k", 7)
			}
		}
		r.casInvalid("k", 9, 9) // invalid whatever is there
		r.head("k", numbered(7))
		r.all("k", 7)
	})},
	{"numbers may skip", onRegister(func(r register) {
		r.set("k", 2, 3, 9, 1<<33, maxSeqNo-1, maxSeqNo)
		r.all("k", 2, 3, 9, 1<<33, maxSeqNo-1, maxSeqNo)
		r.casInvalid("k", maxSeqNo, maxSeqNo+1)
		r.head("k", numbered(maxSeqNo))
	})},
	{"scan", onRegister(func(r register) {
		r.set("k", 5, 9, 10, 255, 256, 300)
		r.set("l", 7)
		r.all("k", 5, 9, 10, 255, 256, 300)
		r.scan("k", 5, 10, 5, 9, 10, 255, 256, 300)
		r.scan("k", 6, 10, 9, 10, 255, 256, 300)
		r.scan("k", 255, 10, 255, 256, 300)
		r.scan("k", 300, 10, 300)
		r.scan("k", 301, 10)
		r.scan("k", math.MaxUint64, 10)
		r.scan("k", 0, 2, 5, 9)
		r.scan("k", 6, 1, 9)
		r.scan("k", 6, 5, 9, 10, 255, 256, 300)
		r.scan("k", 0, 6, 5, 9, 10, 255, 256, 300)
		r.scan("k", 0, 0)
		r.scan("k", 0, -1)
		r.scan("k", 0, math.MaxInt32, 5, 9, 10, 255, 256, 300)
	})},
	{"truncate", onRegister(func(r register) {
		r.set("k", 5, 9, 10, 12)
		r.set("l", 5, 9)
		r.truncate("k", 0, 0)
		r.truncate("k", 5, 0)
		r.all("k", 5, 9, 10, 12)
		r.truncate("k", 8, 1) // between two
		r.all("k", 9, 10, 12)
		r.truncate("k", 8, 0)
		r.truncate("k", 2, 0) // below what is there
		r.truncateInvalid("k", 13)
		r.truncateInvalid("k", maxSeqNo+1)
		r.all("k", 9, 10, 12)
		r.scan("k", 0, 1, 9)
		r.truncate("k", 12, 2)
		r.all("k", 12)
		r.truncate("k", 12, 0)
		r.truncateInvalid("k", 13)
		r.head("k", numbered(12)) // the latest always stays
		r.cas("k", 0, numbered(1), false)
		r.set("k", 13, 14)
		r.all("k", 12, 13, 14)
		r.truncate("k", 13, 1)
		r.all("k", 13, 14)
		r.all("l", 5, 9)
		r.keys("k", "l")
	})},
	{"many versions", onRegister(func(r register) {
		const n = 600
		var want []persist.SeqNo
		for i := persist.SeqNo(1); i <= n; i++ {
			want = append(want, i)
		}
		r.set("k", want...)
		r.all("k", want...)
		r.scan("k", 200, 300, want[199:499]...)
		r.truncate("k", 401, 400)
		r.all("k", want[400:]...)
		r.truncate("k", n, n-401)
		r.all("k", n)
	})},
	{"keys of every kind", onRegister(func(r register) {
		sorted := slices.Sorted(slices.Values(oddKeys))
		for i, key := range oddKeys {
			r.head(key, persist.Versioned{})
			r.set(key, persist.SeqNo(i+1), persist.SeqNo(i+2))
		}
		r.keys(sorted...)
		for i, key := range oddKeys {
			n := persist.SeqNo(i + 1)
			r.all(key, n, n+1)
			if i%2 == 0 {
				r.truncate(key, n+1, 1)
			}
		}
		for i, key := range oddKeys {
			n := persist.SeqNo(i + 1)
			if i%2 == 0 {
				r.all(key, n+1)
			} else {
				r.all(key, n, n+1)
			}
		}
		r.keys(sorted...)
	})},
	{"data of every kind", onRegister(func(r register) {
		sizes := []int{0, 1, 2, 255, 256, 1000, 4095, 4096, 4097, 65_536, 1_000_000, 3}
		last := persist.SeqNo(0)
		for i, size := range sizes {
			next := persist.Versioned{SeqNo: last + 1, Data: bytesOf(i, size)}
			r.cas("k", last, next, true)
			r.head("k", persist.Versioned{SeqNo: next.SeqNo, Data: bytesOf(i, size)})
			last++
		}
		r.cas("nil", 0, persist.Versioned{SeqNo: 1}, true)
		r.head("nil", version(1, ""))
		versions, err := r.c.Scan(background, "k", 0, 100)
		require.NoError(r.t, err)
		require.Len(r.t, versions, len(sizes))
		for i, v := range versions {
			require.True(r.t, string(bytesOf(i, sizes[i])) == string(v.Data), "version %d, of %d bytes", v.SeqNo, sizes[i])
		}
	})},
	{"what was handed out never changes", onRegister(func(r register) {
		r.cas("k", 0, persist.Versioned{SeqNo: 1, Data: bytesOf(1, 3000)}, true)
		head, err := r.c.Head(background, "k")
		require.NoError(r.t, err)
		versions, err := r.c.Scan(background, "k", 0, 10)
		require.NoError(r.t, err)
		for n := persist.SeqNo(2); n < 60; n++ {
			r.cas("k", n-1, persist.Versioned{SeqNo: n, Data: bytesOf(int(n), 3000)}, true)
			r.truncate("k", n, 1)
			r.cas(fmt.Sprint("other", n), 0, persist.Versioned{SeqNo: 1, Data: bytesOf(int(n), 20_000)}, true)
		}
		require.Equal(r.t, bytesOf(1, 3000), head.Data)
		require.Len(r.t, versions, 1)
		require.Equal(r.t, persist.SeqNo(1), versions[0].SeqNo)
		require.Equal(r.t, bytesOf(1, 3000), versions[0].Data)
	})},
	{"what was acknowledged is seen at once", func(t *testing.T, b Bench[persist.Consensus]) {
		clients := []register{{t, b.Client()}, {t, b.Client()}, {t, b.Client()}}
		for n := persist.SeqNo(1); n <= 60; n++ {
			writer := clients[n%3]
			writer.cas("k", n-1, numbered(n), true)
			for _, r := range clients {
				r.head("k", numbered(n))
				r.scan("k", n, 10, n)
				r.cas("k", n-1, version(n, "late"), false)
			}
			if n%7 == 0 {
				writer.truncate("k", n-1, min(7, int(n)-2))
				for _, r := range clients {
					r.all("k", n-1, n)
				}
			}
		}
	}},
	{"contended", contended},
	{"readers never go back", readersNeverGoBack},
	{"truncated while written to", truncatedWhileWritten},
	{"ended contexts", func(t *testing.T, b Bench[persist.Consensus]) {
		r, ctx := register{t, b.Client()}, cancelled(b.Host)
		r.set("k", 1, 2)
		_, err := r.c.Head(ctx, "k")
		require.ErrorIs(t, err, context.Canceled)
		_, err = r.c.Scan(ctx, "k", 0, 10)
		require.ErrorIs(t, err, context.Canceled)
		_, err = r.c.ListKeys(ctx)
		require.ErrorIs(t, err, context.Canceled)
		committed, err := r.c.CompareAndSet(ctx, "k", 2, numbered(3))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, persist.ErrDeterminate)
		require.False(t, committed)
		_, err = r.c.Truncate(ctx, "k", 2)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, persist.ErrDeterminate)
		r.all("k", 1, 2)
	}},
	{"callers that give up", callersThatGiveUp},
	{"opened again", consensusReopened},
	{"crashed under its callers", consensusCrashed},
}

// Tasks count up together. Each number is handed out once, and stands for who got it.
func contended(t *testing.T, b Bench[persist.Consensus]) {
	const tasks, each = 5, 12
	counts := make([]int, tasks)
	takers := make([]map[persist.SeqNo]bool, tasks)
	together(t, b.Host, tasks, func(i int) {
		c := b.Client()
		takers[i] = map[persist.SeqNo]bool{}
		for counts[i] < each {
			v, err := c.Head(background, "counter")
			require.NoError(t, err)
			pause(b.Host, i)
			committed, err := c.CompareAndSet(background, "counter", v.SeqNo, version(v.SeqNo+1, fmt.Sprint(i)))
			require.NoError(t, err)
			if committed {
				takers[i][v.SeqNo+1] = true
				counts[i]++
			}
		}
	})
	versions, err := b.Client().Scan(background, "counter", 0, 1000)
	require.NoError(t, err)
	require.Len(t, versions, tasks*each)
	for i, v := range versions {
		require.Equal(t, persist.SeqNo(i+1), v.SeqNo)
		for k, taker := range takers {
			require.Equal(t, fmt.Sprint(k) == string(v.Data), taker[v.SeqNo], "version %d", v.SeqNo)
		}
	}
}

// Who reads while others write sees versions in their order, each with all before it.
func readersNeverGoBack(t *testing.T, b Bench[persist.Consensus]) {
	const last = 80
	acknowledged := host.NewChan[persist.SeqNo](b.Host, "acknowledged", 1)
	acknowledged.Send(0)
	together(t, b.Host, 4, func(i int) {
		r := register{t, b.Client()}
		if i == 0 {
			for n := persist.SeqNo(1); n <= last; n++ {
				r.cas("k", n-1, numbered(n), true)
				pause(b.Host, i)
				acknowledged.Recv()
				acknowledged.Send(n)
			}
			return
		}
		for seen := persist.SeqNo(0); seen < last && !t.Failed(); {
			least, _ := acknowledged.Recv()
			acknowledged.Send(least)
			pause(b.Host, i)
			least = max(least, seen)
			if i%2 == 0 {
				v, err := r.c.Head(background, "k")
				require.NoError(t, err)
				seen = v.SeqNo
			} else {
				versions, err := r.c.Scan(background, "k", 0, 1000)
				require.NoError(t, err)
				for k, v := range versions {
					require.Equal(t, persist.SeqNo(k+1), v.SeqNo)
				}
				seen = persist.SeqNo(len(versions))
			}
			require.GreaterOrEqual(t, seen, least, "what was acknowledged, or seen before, is not to be seen")
		}
	})
}

// One writes, one truncates, others read: there is a head all the time, and no hole.
func truncatedWhileWritten(t *testing.T, b Bench[persist.Consensus]) {
	const last = 80
	first := register{t, b.Client()}
	first.set("k", 1)
	together(t, b.Host, 4, func(i int) {
		r := register{t, b.Client()}
		for n := persist.SeqNo(2); n <= last; n++ {
			pause(b.Host, i)
			switch i {
			case 0:
				r.cas("k", n-1, numbered(n), true)
			case 1:
				v, err := r.c.Head(background, "k")
				require.NoError(t, err)
				_, err = r.c.Truncate(background, "k", v.SeqNo-min(2, v.SeqNo))
				require.NoError(t, err)
			default:
				versions, err := r.c.Scan(background, "k", 0, 1000)
				require.NoError(t, err)
				require.NotEmpty(t, versions, "there is always a head")
				for k, v := range versions {
					require.Equal(t, versions[0].SeqNo+persist.SeqNo(k), v.SeqNo)
					require.Equal(t, string(numbered(v.SeqNo).Data), string(v.Data))
				}
			}
		}
	})
	first.head("k", numbered(last))
}

// callersThatGiveUp have contexts that end at any moment. What they are told of the operation is so.
func callersThatGiveUp(t *testing.T, b Bench[persist.Consensus]) {
	const tasks, each = 4, 25
	type try struct {
		n    persist.SeqNo
		what known
	}
	tries := make([][]try, tasks)
	together(t, b.Host, tasks, func(i int) {
		c, r := b.Client(), random(i)
		key := fmt.Sprint(i)
		for n := 0; n < each; n++ {
			head, err := c.Head(background, key)
			require.NoError(t, err)
			impatient(b.Host, r, func(ctx context.Context) {
				// Numbers skip, so that a late one does not look like another.
				next := numbered(persist.SeqNo(10 * (n + 1)))
				committed, err := c.CompareAndSet(ctx, key, head.SeqNo, next)
				what := classify(t, err)
				if err == nil && !committed {
					what = notDone // one given up before came late
				}
				require.False(t, committed && err != nil)
				tries[i] = append(tries[i], try{next.SeqNo, what})
			})
		}
	})
	for i := range tasks {
		r := register{t, b.Client()}
		key := fmt.Sprint(i)
		// What is still on its way does not get past this one.
		var head persist.Versioned
		for committed := false; !committed; {
			var err error
			head, err = r.c.Head(background, key)
			require.NoError(t, err)
			committed, err = r.c.CompareAndSet(background, key, head.SeqNo, numbered(persist.SeqNo(10*(each+1))))
			require.NoError(t, err)
		}
		versions, err := r.c.Scan(background, key, 0, 1000)
		require.NoError(t, err)
		there := map[persist.SeqNo]bool{}
		for _, v := range versions {
			require.Equal(t, string(numbered(v.SeqNo).Data), string(v.Data))
			there[v.SeqNo] = true
		}
		for _, try := range tries[i] {
			if try.what != unknown {
				require.Equal(t, try.what == done, there[try.n], "version %d of %q", try.n, key)
			}
		}
	}
}

// consensusReopened: all that was acknowledged outlives the store's process.
func consensusReopened(t *testing.T, b Bench[persist.Consensus]) {
	r := register{t, b.Client()}
	r.set("dropped", 1, 2, 3)
	r.truncate("dropped", 3, 2)
	r.cas("large", 0, persist.Versioned{SeqNo: 4, Data: bytesOf(4, 300_000)}, true)
	next := persist.SeqNo(1)
	for range 4 {
		for range 5 {
			r.cas("k", next-1, numbered(next), true)
			next++
		}
		if b.Reopen == nil {
			continue
		}
		b.Reopen()
		r = register{t, b.Client()}
		r.head("k", numbered(next-1))
		r.cas("k", next-2, numbered(next), false)
		r.all("dropped", 3)
		r.head("large", persist.Versioned{SeqNo: 4, Data: bytesOf(4, 300_000)})
		r.keys("dropped", "k", "large")
	}
	var want []persist.SeqNo
	for n := persist.SeqNo(1); n < next; n++ {
		want = append(want, n)
	}
	r.all("k", want...)
	for i, key := range oddKeys {
		r.set("odd "+key, persist.SeqNo(i+1))
	}
	if b.Reopen != nil {
		b.Reopen()
		r = register{t, b.Client()}
	}
	for i, key := range oddKeys {
		r.all("odd "+key, persist.SeqNo(i+1))
	}
}

// consensusCrashed: the store's process dies while it is written to and read. What was acknowledged,
// or only seen, stays; what surely failed is not there.
func consensusCrashed(t *testing.T, b Bench[persist.Consensus]) {
	if b.Crash == nil {
		return // a store in its callers' process dies with them
	}
	const callers = 3
	outcomes := make([][]known, callers)
	underCrashes(t, b, callers, func(i int, c persist.Consensus, quit func() bool) {
		key, seen := fmt.Sprint(i), persist.SeqNo(0)
		for n := 1; !quit(); n++ {
			var v persist.Versioned
			require.NoError(t, untilDone(b.Host, func(ctx context.Context) (err error) {
				v, err = c.Head(ctx, key)
				return err
			}))
			require.GreaterOrEqual(t, v.SeqNo, seen, "a version that was seen is gone")
			seen = v.SeqNo
			ctx, cancel := b.Host.Clock().WithTimeout(background, patience)
			next := numbered(persist.SeqNo(n))
			committed, err := c.CompareAndSet(ctx, key, v.SeqNo, next)
			cancel()
			what := classify(t, err)
			switch {
			case what == done && committed:
				seen = next.SeqNo
			case what == done:
				what = notDone // an earlier one came late
			}
			outcomes[i] = append(outcomes[i], what)
			b.Host.Clock().Sleep(patience / 1000)
		}
	})
	for i, outcomes := range outcomes {
		var versions []persist.Versioned
		require.NoError(t, untilDone(b.Host, func(ctx context.Context) (err error) {
			versions, err = b.Client().Scan(ctx, fmt.Sprint(i), 0, math.MaxInt32)
			return err
		}))
		there := map[persist.SeqNo]bool{}
		for _, v := range versions {
			require.Equal(t, string(numbered(v.SeqNo).Data), string(v.Data))
			there[v.SeqNo] = true
		}
		require.Contains(t, outcomes, done)
		for n, what := range outcomes {
			if what != unknown {
				require.Equal(t, what == done, there[persist.SeqNo(n+1)], "version %d of %d", n+1, i)
			}
		}
	}
}
