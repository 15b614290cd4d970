package persisttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/persist"
)

// values checks one Blob as a test drives it.
type values struct {
	t *testing.T
	b persist.Blob
}

func (v values) get(key, want string) {
	v.t.Helper()
	value, ok, err := v.b.Get(background, key)
	require.NoError(v.t, err)
	require.True(v.t, ok, "%q is not there", key)
	require.True(v.t, want == string(value), "%q is %.50q, of %d bytes", key, value, len(value))
}

func (v values) missing(key string) {
	v.t.Helper()
	value, ok, err := v.b.Get(background, key)
	require.NoError(v.t, err)
	require.False(v.t, ok, "%q is there", key)
	require.Empty(v.t, value)
}

func (v values) set(key, value string) {
	v.t.Helper()
	require.NoError(v.t, v.b.Set(background, key, []byte(value)))
}

func (v values) remove(key string, size int64, existed bool) {
	v.t.Helper()
	gotSize, gotExisted, err := v.b.Delete(background, key)
	require.NoError(v.t, err)
	require.Equal(v.t, existed, gotExisted, key)
	require.Equal(v.t, size, gotSize, key)
}

// list checks a listing against keys in their order, each followed by its value.
func (v values) list(prefix string, want ...string) {
	v.t.Helper()
	infos, err := v.b.List(background, prefix)
	require.NoError(v.t, err)
	require.Equal(v.t, len(want)/2, len(infos), "%q", infos)
	for i, info := range infos {
		require.Equal(v.t, want[2*i], info.Key)
		require.Equal(v.t, int64(len(want[2*i+1])), info.Size, "%q", info.Key)
	}
}

// onValues is a test of one caller.
func onValues(fn func(v values)) func(*testing.T, Bench[persist.Blob]) {
	return func(t *testing.T, b Bench[persist.Blob]) { fn(values{t, b.Client()}) }
}

var blobTests = []test[persist.Blob]{
	{"nothing is there", onValues(func(v values) {
		v.missing("k")
		v.remove("k", 0, false)
		v.list("")
		v.list("k")
	})},
	{"set, get, delete", onValues(func(v values) {
		v.set("k", "hello")
		v.get("k", "hello")
		v.get("k", "hello")
		v.missing("K")
		v.missing("k/")
		v.missing("")
		v.set("k", "hi")
		v.get("k", "hi")
		v.set("k", "longer than before")
		v.get("k", "longer than before")
		v.set("l", "l")
		v.remove("k", 18, true)
		v.missing("k")
		v.remove("k", 0, false)
		v.get("l", "l")
		v.list("", "l", "l")
		v.set("k", "again")
		v.get("k", "again")
		v.remove("l", 1, true)
		v.remove("k", 5, true)
		v.list("")
	})},
	{"empty values", onValues(func(v values) {
		v.set("empty", "")
		require.NoError(v.t, v.b.Set(background, "nil", nil))
		v.get("empty", "")
		v.get("nil", "")
		v.list("", "empty", "", "nil", "")
		v.remove("empty", 0, true)
		v.remove("empty", 0, false)
		v.set("nil", "something")
		v.set("nil", "")
		v.get("nil", "")
		v.remove("nil", 0, true)
		v.list("")
	})},
	{"values of every kind", onValues(func(v values) {
		sizes := []int{0, 1, 3, 4, 5, 511, 512, 513, 4095, 4096, 4097, 65_536, 300_000, 4 << 20}
		var want []string
		for i, size := range sizes {
			value := string(bytesOf(i, size))
			v.set(fmt.Sprint(i+100), value)
			v.get(fmt.Sprint(i+100), value)
			want = append(want, fmt.Sprint(i+100), value)
		}
		v.list("1", want...)
		for i, size := range sizes {
			v.get(fmt.Sprint(i+100), string(bytesOf(i, size)))
			v.remove(fmt.Sprint(i+100), int64(size), true)
		}
	})},
	{"keys of every kind", onValues(func(v values) {
		for _, key := range oddKeys {
			v.missing(key)
			v.set(key, "of "+key)
		}
		var want []string
		for _, key := range slices.Sorted(slices.Values(oddKeys)) {
			want = append(want, key, "of "+key)
		}
		v.list("", want...)
		for i, key := range oddKeys {
			v.get(key, "of "+key)
			if i%2 == 0 {
				v.remove(key, int64(len("of "+key)), true)
			}
		}
		for i, key := range oddKeys {
			if i%2 == 0 {
				v.missing(key)
			} else {
				v.get(key, "of "+key)
			}
		}
	})},
	{"list by prefix", onValues(func(v values) {
		var want []string
		for i, key := range oddKeys {
			v.set(key, strings.Repeat("x", i))
			want = append(want, key)
		}
		slices.Sort(want)
		prefixes := append(slices.Clone(oddKeys), "a/b/c", "%2", "s17/", "s17/b-", "s17/b-0001/", "012345678", "\xfe", "zzz")
		for _, prefix := range prefixes {
			infos, err := v.b.List(background, prefix)
			require.NoError(v.t, err)
			var got []string
			for _, info := range infos {
				got = append(got, info.Key)
				require.Equal(v.t, int64(slices.Index(oddKeys, info.Key)), info.Size, "%q", info.Key)
			}
			matching := slices.DeleteFunc(slices.Clone(want), func(key string) bool { return !strings.HasPrefix(key, prefix) })
			require.Equal(v.t, len(matching), len(got), "%q: %q", prefix, got)
			for i := range got {
				require.Equal(v.t, matching[i], got[i], "%q", prefix)
			}
		}
	})},
	{"what was handed out never changes", onValues(func(v values) {
		v.set("k", string(bytesOf(1, 5000)))
		value, _, err := v.b.Get(background, "k")
		require.NoError(v.t, err)
		for i := range 20 {
			v.set("k", string(bytesOf(i+2, 5000)))
			v.set(fmt.Sprint("other", i), string(bytesOf(i+2, 5000)))
			if i%5 == 4 {
				v.remove("k", 5000, true)
			}
		}
		require.Equal(v.t, bytesOf(1, 5000), value)
	})},
	{"what was acknowledged is seen at once", func(t *testing.T, b Bench[persist.Blob]) {
		clients := []values{{t, b.Client()}, {t, b.Client()}, {t, b.Client()}}
		for n := range 20 {
			writer, value := clients[n%3], fmt.Sprint("value ", n)
			writer.set("k", value)
			for _, v := range clients {
				v.get("k", value)
				v.list("k", "k", value)
			}
			clients[(n+1)%3].remove("k", int64(len(value)), true)
			for _, v := range clients {
				v.missing("k")
				v.list("k")
			}
		}
	}},
	{"a value is set whole", setWhole},
	{"many callers", manyCallers},
	{"ended contexts", func(t *testing.T, b Bench[persist.Blob]) {
		v, ctx := values{t, b.Client()}, cancelled(b.Host)
		v.set("k", "old")
		_, _, err := v.b.Get(ctx, "k")
		require.ErrorIs(t, err, context.Canceled)
		_, err = v.b.List(ctx, "")
		require.ErrorIs(t, err, context.Canceled)
		err = v.b.Set(ctx, "k", []byte("new"))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, persist.ErrDeterminate)
		_, _, err = v.b.Delete(ctx, "k")
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, persist.ErrDeterminate)
		v.get("k", "old")
	}},
	{"callers that give up", settersThatGiveUp},
	{"opened again", blobReopened},
	{"crashed under its callers", blobCrashed},
}

// setWhole: several set the same key to values of their own, others read. Nobody sees a mixture.
func setWhole(t *testing.T, b Bench[persist.Blob]) {
	const writers, each = 3, 15
	value := func(i int) string { return strings.Repeat(fmt.Sprint(i), 2000*(i+1)) }
	whole := map[string]bool{}
	for i := range writers {
		whole[value(i)] = true
	}
	values{t, b.Client()}.set("k", value(0))
	together(t, b.Host, writers+2, func(i int) {
		v := values{t, b.Client()}
		for range each {
			pause(b.Host, i)
			if i < writers {
				v.set("k", value(i))
				continue
			}
			got, ok, err := v.b.Get(background, "k")
			require.NoError(t, err)
			require.True(t, ok, "a value is always there")
			require.True(t, whole[string(got)], "%d bytes of a mixture", len(got))
			infos, err := v.b.List(background, "k")
			require.NoError(t, err)
			require.Len(t, infos, 1)
			require.Contains(t, []int64{2000, 4000, 6000}, infos[0].Size)
		}
	})
}

// manyCallers each use keys of their own, and find them as they left them.
func manyCallers(t *testing.T, b Bench[persist.Blob]) {
	together(t, b.Host, 5, func(i int) {
		v := values{t, b.Client()}
		var want []string
		for n := range 10 {
			key := fmt.Sprintf("%d/%02d", i, n)
			v.set(key, "of "+key)
			want = append(want, key, "of "+key)
			v.list(fmt.Sprint(i, "/"), want...)
			v.get(key, "of "+key)
		}
		for len(want) > 0 {
			v.remove(want[0], int64(len(want[1])), true)
			want = want[2:]
			v.list(fmt.Sprint(i, "/"), want...)
		}
	})
	values{t, b.Client()}.list("")
}

// settersThatGiveUp have contexts that end at any moment. What they are told of the operation is so.
func settersThatGiveUp(t *testing.T, b Bench[persist.Blob]) {
	const tasks, each = 4, 25
	together(t, b.Host, tasks, func(i int) {
		v, r := values{t, b.Client()}, random(i)
		for n := range each {
			key, deleted := fmt.Sprint(i, "/", n), fmt.Sprint(i, "/deleted ", n)
			v.set(deleted, "there")
			impatient(b.Host, r, func(ctx context.Context) {
				switch classify(t, v.b.Set(ctx, key, []byte("set"))) {
				case done:
					v.get(key, "set")
				case notDone:
					v.missing(key)
				}
			})
			impatient(b.Host, r, func(ctx context.Context) {
				_, existed, err := v.b.Delete(ctx, deleted)
				switch classify(t, err) {
				case done:
					require.True(t, existed)
					v.missing(deleted)
				case notDone:
					v.get(deleted, "there")
				}
			})
		}
	})
}

// blobReopened: all that was acknowledged outlives the store's process.
func blobReopened(t *testing.T, b Bench[persist.Blob]) {
	v := values{t, b.Client()}
	reopen := func() {
		if b.Reopen != nil {
			b.Reopen()
			v = values{t, b.Client()}
		}
	}
	large := string(bytesOf(1, 300_000))
	v.set("large", large)
	for i := range 4 {
		v.set("k", fmt.Sprint("value ", i))
		v.set("deleted", "x")
		v.remove("deleted", 1, true)
		v.set("empty", "")
		reopen()
		v.get("k", fmt.Sprint("value ", i))
		v.missing("deleted")
		v.get("large", large)
		v.list("", "empty", "", "k", fmt.Sprint("value ", i), "large", large)
	}
	for _, key := range oddKeys {
		v.set(key, "of "+key)
	}
	reopen()
	for _, key := range oddKeys {
		v.get(key, "of "+key)
	}
}

// blobCrashed: the store's process dies while it is used. What was acknowledged stays; what surely
// failed is not there.
func blobCrashed(t *testing.T, b Bench[persist.Blob]) {
	if b.Crash == nil {
		return // a store in its callers' process dies with them
	}
	const callers = 3
	acknowledged := make([]int, callers)
	underCrashes(t, b, callers, func(i int, blob persist.Blob, quit func() bool) {
		there := map[string]bool{} // as far as was acknowledged
		lives := map[int]int{}     // of each slot: a key of which something is not known is left alone
		for n := 0; !quit(); n++ {
			slot := n % 7
			key := fmt.Sprint(i, "/", slot, ".", lives[slot])
			ctx, cancel := b.Host.Clock().WithTimeout(background, patience)
			var what known
			switch n % 3 {
			case 0:
				if what = classify(t, blob.Set(ctx, key, []byte("of "+key))); what == done {
					there[key] = true
					acknowledged[i]++
				}
			case 1:
				_, existed, err := blob.Delete(ctx, key)
				if what = classify(t, err); what == done {
					require.Equal(t, there[key], existed, key)
					there[key] = false
				}
			case 2:
				value, found, err := blob.Get(ctx, key)
				if err != nil {
					classify(t, err)
					what = notDone
					break
				}
				require.Equal(t, there[key], found, key)
				if found {
					require.Equal(t, "of "+key, string(value))
				}
			}
			cancel()
			if what == unknown {
				lives[slot]++
			}
			b.Host.Clock().Sleep(patience / 1000)
		}
	})
	for i := range callers {
		require.Positive(t, acknowledged[i])
	}
}
