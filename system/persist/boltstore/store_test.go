package boltstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	bolt "go.etcd.io/bbolt"

	"github.com/simrun-dev/simrun/system/persist"
)

var background = context.Background()

func version(n persist.SeqNo, data string) persist.Versioned {
	return persist.Versioned{SeqNo: n, Data: []byte(data)}
}

// in returns a store in a directory of its own, and its path.
func in(t *testing.T) (*Store, string) {
	path := filepath.Join(t.TempDir(), "consensus.db")
	s, err := Open(path, Options{})
	require.NoError(t, err)
	require.Equal(t, path, s.Path())
	return s, path
}

func set(t *testing.T, s *Store, key string, from, to persist.SeqNo) {
	for n := from; n <= to; n++ {
		committed, err := s.CompareAndSet(background, key, n-1, version(n, strings.Repeat(fmt.Sprint(n, " "), 300)))
		require.NoError(t, err)
		require.True(t, committed)
	}
}

func TestInUse(t *testing.T) {
	s, path := in(t)
	_, err := Open(path, Options{Timeout: time.Millisecond})
	require.ErrorIs(t, err, ErrInUse)
	require.ErrorContains(t, err, path)
	require.ErrorContains(t, err, "end the process")
	// Who waits for long enough gets it.
	opened := make(chan error, 1)
	go func() {
		s, err := Open(path, Options{Timeout: time.Hour})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	require.NoError(t, s.Close())
	require.NoError(t, <-opened)
}

func TestClosed(t *testing.T) {
	s, _ := in(t)
	set(t, s, "k", 1, 1)
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Close(), ErrClosed)
	_, err := s.Head(background, "k")
	require.ErrorIs(t, err, ErrClosed)
	_, err = s.CompareAndSet(background, "k", 1, version(2, ""))
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, err, persist.ErrDeterminate)
	_, err = s.Truncate(background, "k", 1)
	require.ErrorIs(t, err, ErrClosed)
}

// Callers that are under way when the store is closed are answered as it is.
func TestClosedUnderItsCallers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consensus.db")
	const callers = 4
	var acknowledged [callers]persist.SeqNo
	for range 10 {
		s, err := Open(path, Options{})
		require.NoError(t, err)
		for i, n := range acknowledged {
			v, err := s.Head(background, fmt.Sprint(i))
			require.NoError(t, err)
			require.Equal(t, n, v.SeqNo)
		}
		var group sync.WaitGroup
		started := make(chan struct{}, callers)
		for i := range callers {
			group.Go(func() {
				for n := 0; ; n++ {
					last := acknowledged[i]
					committed, err := s.CompareAndSet(background, fmt.Sprint(i), last, version(last+1, "x"))
					if n == 0 {
						started <- struct{}{}
					}
					if err != nil {
						if !errors.Is(err, ErrClosed) || !errors.Is(err, persist.ErrDeterminate) {
							t.Error(err)
						}
						return
					}
					if !committed {
						t.Error("nobody else sets this key")
						return
					}
					acknowledged[i]++
				}
			})
		}
		<-started
		require.NoError(t, s.Close())
		group.Wait()
	}
}

func TestTooLarge(t *testing.T) {
	s, _ := in(t)
	defer s.Close()
	longest := strings.Repeat("k", MaxKey)
	set(t, s, longest, 1, 2)
	v, err := s.Head(background, longest)
	require.NoError(t, err)
	require.Equal(t, persist.SeqNo(2), v.SeqNo)
	_, err = s.CompareAndSet(background, longest+"k", 0, version(1, ""))
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorIs(t, err, persist.ErrTooLarge)
	require.NotErrorIs(t, err, persist.ErrDeterminate, "trying again is of no use")
	v, err = s.Head(background, longest+"k")
	require.NoError(t, err)
	require.Zero(t, v.SeqNo)
}

// A file that may not grow refuses what does not fit, for sure, and goes on.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "consensus.db")
	s, err := Open(path, Options{MaxBytes: 1 << 20})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	set(t, s, "k", 1, 3)
	_, err = s.CompareAndSet(background, "k", 3, persist.Versioned{SeqNo: 4, Data: make([]byte, 2<<20)})
	require.ErrorIs(t, err, persist.ErrDeterminate)
	v, err := s.Head(background, "k")
	require.NoError(t, err)
	require.Equal(t, persist.SeqNo(3), v.SeqNo)
	set(t, s, "k", 4, 6)
}

var errInjected = errors.New("injected")

// A commit that fails before its last page is written did not happen, and the store goes on.
func TestFailedCommit(t *testing.T) {
	s, path := in(t)
	set(t, s, "k", 1, 3)
	s.commit = func(tx *bolt.Tx) error {
		require.NoError(t, tx.Rollback())
		return errInjected
	}
	_, err := s.CompareAndSet(background, "k", 3, version(4, "lost"))
	require.ErrorIs(t, err, errInjected)
	require.ErrorIs(t, err, persist.ErrDeterminate)
	require.NotErrorIs(t, err, persist.ErrIndeterminate)
	s.commit = (*bolt.Tx).Commit
	v, err := s.Head(background, "k")
	require.NoError(t, err)
	require.Equal(t, persist.SeqNo(3), v.SeqNo)
	set(t, s, "k", 4, 5)
	require.NoError(t, s.Close())
	s, err = Open(path, Options{})
	require.NoError(t, err)
	set(t, s, "k", 6, 6)
	require.NoError(t, s.Close())
}

// A commit whose last page was written and not synced may have happened, and nothing more is said.
func TestFailedSync(t *testing.T) {
	s, path := in(t)
	set(t, s, "k", 1, 3)
	s.commit = func(tx *bolt.Tx) error {
		require.NoError(t, tx.Commit())
		return errInjected
	}
	_, err := s.CompareAndSet(background, "k", 3, version(4, "who knows"))
	require.ErrorIs(t, err, errInjected)
	require.ErrorIs(t, err, persist.ErrIndeterminate)
	require.NotErrorIs(t, err, persist.ErrDeterminate)
	s.commit = (*bolt.Tx).Commit
	_, err = s.CompareAndSet(background, "k", 3, version(4, "refused"))
	require.ErrorIs(t, err, ErrFailed)
	require.ErrorIs(t, err, persist.ErrDeterminate)
	_, err = s.Head(background, "k")
	require.ErrorIs(t, err, ErrFailed, "what was seen could be lost")
	require.NoError(t, s.Close())

	s, err = Open(path, Options{})
	require.NoError(t, err)
	defer s.Close()
	v, err := s.Head(background, "k")
	require.NoError(t, err)
	require.Equal(t, persist.SeqNo(4), v.SeqNo)
}

// A commit that panics, as bbolt does at pages that make no sense, does not end the program.
func TestPanickingCommit(t *testing.T) {
	s, path := in(t)
	set(t, s, "k", 1, 3)
	s.commit = func(*bolt.Tx) error { panic("page 7 already freed") }
	_, err := s.CompareAndSet(background, "k", 3, version(4, "lost"))
	require.ErrorIs(t, err, persist.ErrCorrupt)
	require.ErrorContains(t, err, "page 7")
	require.NotErrorIs(t, err, persist.ErrDeterminate, "trying again is of no use")
	_, err = s.Head(background, "k")
	require.ErrorIs(t, err, persist.ErrCorrupt)
	_, err = s.Truncate(background, "k", 2)
	require.ErrorIs(t, err, persist.ErrCorrupt)
	require.NoError(t, s.Close())
	s, err = Open(path, Options{})
	require.NoError(t, err, "the lock is free")
	require.NoError(t, s.Close())
}

// Nobody sees a version before it is durable.
func TestNothingIsSeenBeforeItIsDurable(t *testing.T) {
	s, _ := in(t)
	defer s.Close()
	set(t, s, "k", 1, 1)
	seen := make(chan persist.SeqNo, 1)
	synced := false
	s.commit = func(tx *bolt.Tx) error {
		go func() {
			v, _ := s.Head(background, "k")
			if v.SeqNo == 2 && !synced {
				v.SeqNo = 0
			}
			seen <- v.SeqNo
		}()
		err := tx.Commit() // from here on bbolt shows it
		for range 1000 {
			select {
			case n := <-seen:
				seen <- n
				return fmt.Errorf("version %d was seen while it was synced", n)
			default:
			}
			time.Sleep(time.Microsecond)
		}
		synced = true
		return err
	}
	set(t, s, "k", 2, 2)
	require.Equal(t, persist.SeqNo(2), <-seen)
}

// Many callers' changes become few transactions, and each is judged on those before it.
func TestGroups(t *testing.T) {
	s, _ := in(t)
	defer s.Close()
	commits, begun, hold := 0, make(chan struct{}), make(chan struct{})
	s.commit = func(tx *bolt.Tx) error {
		if commits++; commits == 1 {
			close(begun)
			<-hold
		}
		return tx.Commit()
	}
	first := make(chan error, 1)
	go func() {
		_, err := s.CompareAndSet(background, "first", 0, version(1, ""))
		first <- err
	}()
	<-begun
	const callers = 50
	wins := make(chan bool, callers)
	for range callers {
		go func() {
			committed, err := s.CompareAndSet(background, "k", 0, version(1, ""))
			if err != nil {
				t.Error(err)
			}
			wins <- committed
		}()
	}
	// One who gives up while he queues is not served.
	ctx, cancel := context.WithCancel(background)
	gaveUp := make(chan error, 1)
	go func() {
		_, err := s.CompareAndSet(ctx, "given up", 0, version(1, ""))
		gaveUp <- err
	}()
	for len(s.proposals) < callers+1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	require.ErrorIs(t, <-gaveUp, persist.ErrDeterminate)
	close(hold)
	require.NoError(t, <-first)
	won := 0
	for range callers {
		if <-wins {
			won++
		}
	}
	require.Equal(t, 1, won)
	require.Equal(t, 2, commits)
	v, err := s.Head(background, "given up")
	require.NoError(t, err)
	require.Zero(t, v.SeqNo)
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	_, err := Open(filepath.Join(dir, "missing", "db"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(dir, Options{})
	require.Error(t, err)
	require.NotErrorIs(t, err, persist.ErrCorrupt)
	for name, content := range map[string]string{
		"empty": "", "short": "x", "text": strings.Repeat("not a database ", 2000), "zeros": string(make([]byte, 1<<15)),
	} {
		path := file(name, content)
		for range 2 { // the lock is let go of
			_, err = Open(path, Options{Timeout: time.Millisecond})
			require.ErrorIs(t, err, persist.ErrCorrupt, name)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "restore")
		}
	}

	foreign := filepath.Join(dir, "foreign")
	db, err := bolt.Open(foreign, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = Open(foreign, Options{})
	require.ErrorIs(t, err, ErrForeign)
	db, err = bolt.Open(foreign, 0o600, nil)
	require.NoError(t, err)
	require.NoError(t, db.Update(func(tx *bolt.Tx) error {
		return errors.Join(createFormat(tx), tx.Bucket(aboutBucket).Put(formatKey, []byte("simrun consensus 7")))
	}))
	require.NoError(t, db.Close())
	_, err = Open(foreign, Options{})
	require.ErrorIs(t, err, ErrForeign)
	require.ErrorContains(t, err, "consensus 7")
}

// A process that died while it made the store leaves nothing that matters.
func TestLeftovers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a*b?]")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "db")
	for _, name := range []string{"db.new-123", "db.new-4", "other.new-1", "db2"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600))
	}
	names := func() (names []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	s, err := Open(path, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"db", "db2", "other.new-1"}, names())
	require.NoError(t, s.Close())

	// Several that make it at once get the same one, one after the other.
	require.NoError(t, os.Remove(path))
	var group sync.WaitGroup
	const openers = 8
	for i := range openers {
		group.Go(func() {
			s, err := Open(path, Options{Timeout: time.Hour})
			if err != nil {
				t.Error(err)
				return
			}
			_, err = s.CompareAndSet(background, fmt.Sprint(i), 0, version(1, ""))
			if err := errors.Join(err, s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s, err = Open(path, Options{})
	require.NoError(t, err)
	defer s.Close()
	keys, err := s.ListKeys(background)
	require.NoError(t, err)
	require.Len(t, keys, openers)
	require.Equal(t, []string{"db", "db2", "other.new-1"}, names())
}

// Wherever a bit flips or the file ends early: it is reported, or what is read is right. It never is
// another value, and never ends the program.
func TestDamage(t *testing.T) {
	s, path := in(t)
	for i := range 8 {
		set(t, s, fmt.Sprint("key ", i), 1, 5)
	}
	want := everything(t, s)
	require.NoError(t, s.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	damaged := filepath.Join(t.TempDir(), "damaged.db")
	reported := 0
	try := func(what string, content []byte) {
		require.NoError(t, os.WriteFile(damaged, content, 0o600))
		s, err := Open(damaged, Options{Timeout: time.Millisecond})
		if err != nil {
			require.True(t, errors.Is(err, persist.ErrCorrupt) || errors.Is(err, ErrForeign), "%s: %v", what, err)
			reported++
			return
		}
		defer s.Close()
		// The page that begins the file may have been taken for torn: then it is one commit earlier.
		for key, versions := range everything(t, s) {
			require.Subset(t, want[key], versions, what)
			require.GreaterOrEqual(t, len(versions), 4, what)
		}
		_, err = s.CompareAndSet(background, "new", 0, version(1, ""))
		require.True(t, err == nil || errors.Is(err, persist.ErrCorrupt), "%s: %v", what, err)
	}
	step := max(1, len(content)/150)
	if testing.Short() {
		step *= 4
	}
	for at := 0; at < len(content); at += step {
		flipped := append([]byte(nil), content...)
		flipped[at] ^= 1 << (at % 8)
		try(fmt.Sprint("bit flipped at ", at), flipped)
	}
	for at := 0; at < len(content); at += 5 * step {
		try(fmt.Sprint("cut at ", at), content[:at])
	}
	require.Positive(t, reported)
}

// everything is all that is in a store.
func everything(t *testing.T, s *Store) map[string][]persist.Versioned {
	all := map[string][]persist.Versioned{}
	keys, err := s.ListKeys(background)
	require.NoError(t, err)
	for _, key := range keys {
		all[key], err = s.Scan(background, key, 0, 1<<30)
		require.NoError(t, err)
	}
	return all
}

// Damage that comes while the store is open is found where it is read.
func TestDamageWhileOpen(t *testing.T) {
	s, path := in(t)
	defer s.Close()
	set(t, s, "good", 1, 1)
	require.NoError(t, s.db.Update(func(tx *bolt.Tx) error {
		b, err := tx.Bucket(versionsBucket).CreateBucket(bucketName("bad"))
		if err != nil {
			return err
		}
		return b.Put(encodeNumber(1), encodeData("good", version(1, "of another key")))
	}))
	_, err := s.Head(background, "bad")
	require.ErrorIs(t, err, persist.ErrCorrupt)
	require.ErrorContains(t, err, path)
	_, err = s.Scan(background, "bad", 0, 10)
	require.ErrorIs(t, err, persist.ErrCorrupt)
	_, err = s.CompareAndSet(background, "bad", 1, version(2, ""))
	require.ErrorIs(t, err, persist.ErrCorrupt)
	set(t, s, "good", 2, 3)
}
