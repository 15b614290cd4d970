package coordtest

import (
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/coord"
)

func watchFrom(e Env) {
	c := e.Open()
	first := e.write(c, coord.Put("k/1", "a"), coord.Put("other", ""), coord.Put("k/0", "b"))
	second := e.write(c, coord.Delete(coord.Prefix("k/")))
	e.write(c, coord.Put("other", "x"))
	third := e.write(c, coord.Put("k/1", "c"))
	put := func(key, value string, r coord.Revision) coord.Event {
		return coord.Event{KeyValue: coord.KeyValue{Key: key, Value: value, CreateRevision: r, ModRevision: r, Version: 1}}
	}
	deleted := func(key string, r coord.Revision) coord.Event {
		return coord.Event{KeyValue: coord.KeyValue{Key: key, ModRevision: r}}
	}
	want := []coord.Event{
		put("k/0", "b", first), put("k/1", "a", first), deleted("k/0", second), deleted("k/1", second), put("k/1", "c", third),
	}
	for _, begin := range []struct {
		from    coord.Revision
		skipped int
	}{{first, 0}, {second, 2}, {second + 1, 4}, {third, 4}} {
		w := c.Watch(coord.Prefix("k/"), begin.from)
		events := e.take(w, len(want)-begin.skipped)
		require.Equal(e.T, want[begin.skipped:], events)
		for _, event := range events {
			require.Equal(e.T, event.Version == 0, event.Deleted())
		}
		w.Close()
	}
	one := c.Watch(coord.One("k/1"), first)
	defer one.Close()
	require.Equal(e.T, []coord.Event{want[1], want[3], want[4]}, e.take(one, 3))
	ctx, cancel := e.Host.Clock().WithTimeout(background, 20*time.Millisecond)
	defer cancel()
	_, err := one.Next(ctx)
	require.ErrorIs(e.T, err, ctx.Err(), "there is no more")
	last := e.write(c, coord.Put("k/1", "d"))
	require.Equal(e.T, last, e.take(one, 1)[0].ModRevision, "a watch goes on after a context ended")
}

func watchFromNow(e Env) {
	c := e.Open()
	e.write(c, coord.Put("k", "before"))
	w := c.Watch(coord.One("k"), 0)
	defer w.Close()
	ctx, cancel := e.Host.Clock().WithTimeout(background, 100*time.Millisecond)
	defer cancel()
	_, err := w.Next(ctx) // it has begun after this, at the latest
	require.Error(e.T, err)
	e.write(c, coord.Put("k", "after"))
	require.Equal(e.T, "after", e.take(w, 1)[0].Value)
}

func watchWhileWritten(e Env) {
	const writes = 50
	c := e.Open()
	from := e.revision(c) + 1
	e.parallel(3, func(i int) {
		if i == 0 {
			for n := range writes {
				e.write(c, coord.Put("k", strconv.Itoa(n)))
			}
			return
		}
		w := e.Open().Watch(coord.One("k"), from)
		defer w.Close()
		for n, event := range e.take(w, writes) {
			require.Equal(e.T, strconv.Itoa(n), event.Value)
			require.Equal(e.T, from+coord.Revision(n), event.ModRevision)
		}
	})
}

func watchCompacted(e Env) {
	c := e.Open()
	first := e.write(c, coord.Put("k", "1"))
	idle := c.Watch(coord.One("idle"), first)
	defer idle.Close()
	second := e.write(c, coord.Put("k", "2"))
	require.NoError(e.T, c.Compact(background, second))
	w := c.Watch(coord.One("k"), first)
	defer w.Close()
	for range 2 {
		_, err := w.Next(background)
		require.ErrorIs(e.T, err, coord.ErrCompacted)
		var compacted *coord.CompactedError
		require.ErrorAs(e.T, err, &compacted)
		require.Equal(e.T, second, compacted.Oldest)
	}
	there := c.Watch(coord.One("k"), second)
	defer there.Close()
	require.Equal(e.T, "2", e.take(there, 1)[0].Value, "the revision compacted to is there")
}

func watchAcrossRestart(e Env) {
	c := e.Open()
	w := c.Watch(coord.One("k"), e.revision(c)+1)
	defer w.Close()
	for n := range 6 {
		e.write(c, coord.Put("k", strconv.Itoa(n)))
		if n%2 == 0 {
			e.Restart()
		}
		require.Equal(e.T, strconv.Itoa(n), e.take(w, 1)[0].Value)
	}
}
