package coordtest

import (
	"fmt"
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/coord"
)

func revisions(e Env) {
	c := e.Open()
	start := e.revision(c)
	require.Positive(e.T, start)
	first := e.write(c, coord.Put("a", "1"))
	require.Equal(e.T, start+1, first)
	require.Equal(e.T, coord.KeyValue{Key: "a", Value: "1", CreateRevision: first, ModRevision: first, Version: 1}, e.read(c, "a"))
	second := e.write(c, coord.Put("a", "2"), coord.Put("b", ""))
	require.Equal(e.T, first+1, second)
	require.Equal(e.T, coord.KeyValue{Key: "a", Value: "2", CreateRevision: first, ModRevision: second, Version: 2}, e.read(c, "a"))
	require.Equal(e.T, coord.KeyValue{Key: "b", CreateRevision: second, ModRevision: second, Version: 1}, e.read(c, "b"))

	require.Equal(e.T, second, e.write(c, coord.Delete(coord.One("none"))), "what changes nothing makes no revision")
	require.Equal(e.T, second, e.write(c))
	gone := e.write(c, coord.Delete(coord.One("a")))
	require.Equal(e.T, second+1, gone)
	require.Zero(e.T, e.read(c, "a"))
	again := e.write(c, coord.Put("a", "3"))
	require.Equal(e.T, coord.KeyValue{Key: "a", Value: "3", CreateRevision: again, ModRevision: again, Version: 1}, e.read(c, "a"))
	odd := string([]byte{0, 0xff, '\n'})
	e.write(c, coord.Put(odd, odd))
	require.Equal(e.T, odd, e.read(c, odd).Value)
}

func compares(e Env) {
	c := e.Open()
	first := e.write(c, coord.Put("k", "m"))
	second := e.write(c, coord.Put("k", "m"))
	lease := e.grant(c, 1e12)
	e.write(c, coord.PutLeased("leased", "", lease))
	holds := func(want bool, compares ...coord.Compare) {
		e.T.Helper()
		r := e.txn(c, coord.Txn{If: compares, Then: []coord.Op{coord.Get(coord.One("k"))}}, want)
		require.Len(e.T, r.Ops, map[bool]int{true: 1}[want])
	}
	for _, target := range []struct {
		target coord.Target
		number uint64
	}{
		{coord.CreateRevision, uint64(first)}, {coord.ModRevision, uint64(second)}, {coord.Version, 2},
	} {
		for _, r := range []struct {
			is    coord.Relation
			below bool // holds when what is compared with is below, equal, above
			equal bool
			above bool
		}{
			{coord.Equal, false, true, false}, {coord.NotEqual, true, false, true},
			{coord.Less, false, false, true}, {coord.Greater, true, false, false},
		} {
			for i, want := range []bool{r.below, r.equal, r.above} {
				holds(want, coord.Compare{Key: "k", Target: target.target, Is: r.is, Number: target.number + uint64(i) - 1})
			}
		}
	}
	holds(true, coord.ValueIs("k", "m"))
	holds(false, coord.ValueIs("k", "n"))
	holds(true, coord.Compare{Key: "k", Target: coord.Value, Is: coord.Less, Value: "n"})
	holds(true, coord.Compare{Key: "leased", Target: coord.Lease, Is: coord.Equal, Number: uint64(lease)})
	holds(true, coord.Compare{Key: "k", Target: coord.Lease, Is: coord.Equal})
	holds(true, coord.Exists("k"), coord.Absent("none"), coord.CreatedAt("k", first), coord.ModifiedAt("k", second), coord.ModifiedAt("none", 0))
	holds(false, coord.Exists("k"), coord.Exists("none"))
	holds(false, coord.Absent("k"))
	holds(true)
}

func transactions(e Env) {
	c := e.Open()
	r := e.txn(c, coord.Txn{
		If:   []coord.Compare{coord.Absent("a/1")},
		Then: []coord.Op{coord.Get(coord.Prefix("a/")), coord.Put("a/1", "x"), coord.Put("a/2", "y"), coord.Get(coord.Prefix("a/"))},
		Else: []coord.Op{coord.Delete(coord.All())},
	}, true)
	require.Equal(e.T, e.revision(c), r.Revision)
	require.Empty(e.T, r.Ops[0].KVs, "an operation sees what those before it did")
	require.Len(e.T, r.Ops[3].KVs, 2)
	for _, kv := range r.Ops[3].KVs {
		require.Equal(e.T, r.Revision, kv.ModRevision, "all of a transaction is of one revision")
	}
	r = e.txn(c, coord.Txn{
		If:   []coord.Compare{coord.Absent("a/1")},
		Else: []coord.Op{coord.Delete(coord.Prefix("a/")), coord.Get(coord.Prefix("a/")), coord.Put("b", "z")},
	}, false)
	require.Equal(e.T, 2, r.Ops[0].Deleted)
	require.Empty(e.T, r.Ops[1].KVs)
	require.Equal(e.T, r.Revision, e.read(c, "b").CreateRevision)
	before := e.revision(c)
	r = e.txn(c, coord.Txn{If: []coord.Compare{coord.Absent("b")}, Then: []coord.Op{coord.Put("b", "")}}, false)
	require.Equal(e.T, before, r.Revision)
	require.Empty(e.T, r.Ops)
}

func invalidTransactions(e Env) {
	c := e.Open()
	for _, t := range []coord.Txn{
		{Then: []coord.Op{coord.Put("a", "1"), coord.Put("a", "2")}},
		{Then: []coord.Op{coord.Put("a", "1"), coord.Delete(coord.Prefix("a"))}},
		{Then: []coord.Op{coord.Delete(coord.All()), coord.Put("a", "1")}},
		{Else: []coord.Op{coord.Put("a", "1"), coord.Put("a", "2")}},
		{Then: []coord.Op{{}}},
		{If: []coord.Compare{{Key: "a"}}},
	} {
		_, err := c.Txn(background, t)
		require.ErrorIs(e.T, err, coord.ErrInvalid, "%+v", t)
	}
	_, err := coord.Write(background, c, coord.Put("b", ""), coord.PutLeased("a", "", 17))
	require.ErrorIs(e.T, err, coord.ErrNoLease)
	require.Zero(e.T, e.read(c, "b"), "nothing of it is done")
	_, err = c.Range(background, coord.All(), e.revision(c)+1)
	require.ErrorIs(e.T, err, coord.ErrFutureRevision)
	require.ErrorIs(e.T, c.Compact(background, e.revision(c)+1), coord.ErrFutureRevision)
}

func ranges(e Env) {
	c := e.Open()
	keys := []string{"", "a", "a/", "a/1", "a/2", "a0", "b", "\xff", "\xff\xff", "\xff\xff1"}
	for _, key := range keys {
		e.write(c, coord.Put(key, key))
	}
	has := func(k coord.Keys, want ...string) {
		e.T.Helper()
		s, err := c.Range(background, k, 0)
		require.NoError(e.T, err)
		var got []string
		for _, kv := range s.KVs {
			got = append(got, kv.Key)
		}
		require.Equal(e.T, want, got)
	}
	has(coord.All(), keys...)
	has(coord.Prefix(""), keys...)
	has(coord.One("a"), "a")
	has(coord.One(""), "")
	has(coord.One("c"))
	has(coord.Prefix("a/"), "a/", "a/1", "a/2")
	has(coord.Prefix("\xff"), "\xff", "\xff\xff", "\xff\xff1")
	has(coord.Keys{From: "a/1", To: "b"}, "a/1", "a/2", "a0")
	has(coord.Keys{From: "a0", To: coord.Unbounded}, "a0", "b", "\xff", "\xff\xff", "\xff\xff1")
	has(coord.Keys{From: "b", To: "a"})
}

func history(e Env) {
	c := e.Open()
	var at []coord.Revision
	for i := range 5 {
		at = append(at, e.write(c, coord.Put("k", strconv.Itoa(i))))
	}
	other := e.write(c, coord.Put("other", "o"))
	gone := e.write(c, coord.Delete(coord.One("k")))
	value := func(r coord.Revision) string {
		e.T.Helper()
		s, err := c.Range(background, coord.One("k"), r)
		require.NoError(e.T, err)
		require.Equal(e.T, r, s.Revision)
		kv, _ := s.Get("k")
		return kv.Value
	}
	for i, r := range at {
		require.Equal(e.T, strconv.Itoa(i), value(r))
	}
	require.Equal(e.T, "4", value(other))
	require.Empty(e.T, value(gone))
	require.NoError(e.T, c.Compact(background, at[2]))
	require.NoError(e.T, c.Compact(background, at[1]), "what was compacted already is no error")
	require.Equal(e.T, "2", value(at[2]))
	_, err := c.Range(background, coord.One("k"), at[1])
	require.ErrorIs(e.T, err, coord.ErrCompacted)
	var compacted *coord.CompactedError
	require.ErrorAs(e.T, err, &compacted)
	require.Equal(e.T, &coord.CompactedError{Asked: at[1], Oldest: at[2]}, compacted)
	require.NoError(e.T, c.Compact(background, gone))
	require.Empty(e.T, value(gone))
	require.Equal(e.T, "o", e.read(c, "other").Value)
}

// Read, compare and write, by several at once: nothing is lost.
func increments(e Env) {
	const tasks, each = 4, 5
	e.parallel(tasks, func(int) {
		c := e.Open()
		for done := 0; done < each; {
			kv := e.read(c, "counter")
			n, _ := strconv.Atoi(kv.Value)
			r, err := c.Txn(background, coord.Txn{
				If:   []coord.Compare{coord.ModifiedAt("counter", kv.ModRevision)},
				Then: []coord.Op{coord.Put("counter", fmt.Sprint(n+1))},
			})
			require.NoError(e.T, err)
			if r.Succeeded {
				done++
			}
		}
	})
	kv := e.read(e.Open(), "counter")
	require.Equal(e.T, fmt.Sprint(tasks*each), kv.Value)
	require.EqualValues(e.T, tasks*each, kv.Version)
}

func restart(e Env) {
	c := e.Open()
	lease := e.grant(c, 1e12)
	e.write(c, coord.Put("a", "1"), coord.PutLeased("l", "", lease))
	old := e.write(c, coord.Put("a", "2"), coord.Put("b", "1"))
	e.write(c, coord.Delete(coord.One("b")))
	before, err := c.Range(background, coord.All(), 0)
	require.NoError(e.T, err)
	for range 2 {
		e.Restart()
		after, err := c.Range(background, coord.All(), 0)
		require.NoError(e.T, err)
		require.Equal(e.T, before, after)
		past, err := c.Range(background, coord.All(), old)
		require.NoError(e.T, err)
		require.Len(e.T, past.KVs, 3)
	}
	info, err := c.Lease(background, lease)
	require.NoError(e.T, err)
	require.Equal(e.T, []string{"l"}, info.Keys)
	require.NoError(e.T, c.Revoke(background, lease))
	require.Zero(e.T, e.read(c, "l"))
}
