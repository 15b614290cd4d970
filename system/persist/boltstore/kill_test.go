package boltstore_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/host/real"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/persist/boltstore"
)

// childVariable holds, in the process that TestKill starts, the directory of its shard.
const childVariable = "BOLTSTORE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		fmt.Println("failed:", appendForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// keeper has a shard in a directory: its versions in a bbolt file, its batches in files.
type keeper struct {
	h         *real.Host
	consensus *boltstore.Store
	client    *persist.Client
	writer    *persist.WriteHandle
}

const killShard persist.ShardID = "rows"

func openKeeper(dir string) (k *keeper, err error) {
	k = &keeper{}
	if k.h, err = real.New(real.Config{Name: "keeper", Dir: filepath.Join(dir, "host"), Logger: slog.New(slog.DiscardHandler)}); err != nil {
		return nil, err
	}
	blob, err := persist.OpenDiskBlob(k.h, "blob")
	if err != nil {
		return nil, err
	}
	// The process before may have been killed so lately that the system still closes its files.
	if k.consensus, err = boltstore.Open(filepath.Join(dir, "consensus.db"), boltstore.Options{Timeout: time.Minute}); err != nil {
		return nil, err
	}
	k.client = persist.NewClient(k.h, blob, k.consensus, persist.Config{})
	k.writer, err = k.client.OpenWriter(context.Background(), killShard)
	return k, err
}

func (k *keeper) close() error {
	k.client.Close()
	if err := k.h.Close(); err != nil { // before the store that its tasks use
		return err
	}
	return k.consensus.Close()
}

// rowsEach is how many rows an append has, which are there together or not at all.
const rowsEach = 3

// appendForEver appends numbered rows and prints the number of each append that was acknowledged.
func appendForEver(dir string) error {
	k, err := openKeeper(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	for n := 0; ; n++ {
		upper := k.writer.Upper()
		from, _ := upper.Time()
		var rows []persist.Update
		for part := range rowsEach {
			rows = append(rows, persist.Update{Data: fmt.Sprintf("%d.%d/%d", k.h.Incarnation(), n, part), Time: from, Diff: 1})
		}
		if err := k.writer.CompareAndAppend(ctx, rows, upper, persist.At(from+1)); err != nil {
			return err
		}
		fmt.Printf("%d.%d\n", k.h.Incarnation(), n)
	}
}

// A process that appends to a shard is killed, at any moment. What it was told is in the shard once,
// the append it was not told of is there as a whole or not at all, and what the shard held as of a
// time it holds for ever.
func TestKill(t *testing.T) {
	kills := 50
	if testing.Short() {
		kills = 10
	}
	dir, random := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	acknowledged := map[string]bool{}
	seen := map[uint64][]string{} // what the shard held as of a time
	inDoubt, in := 0, 0
	for range kills {
		told := killed(t, dir, random)
		for _, name := range told {
			acknowledged[name] = true
		}

		k, err := openKeeper(dir)
		require.NoError(t, err)
		upper, _ := k.writer.Upper().Time()
		reader, err := k.client.OpenReader(context.Background(), killShard)
		require.NoError(t, err)
		if upper > 0 {
			latest := contents(t, reader, upper-1)
			seen[upper-1] = latest
			// The life before this one was the child's. It may have made one append that it was not
			// told of: the next.
			unknown := fmt.Sprintf("%d.%d", k.h.Incarnation()-1, len(told))
			there := map[string]int{}
			for _, row := range latest {
				name, _, _ := strings.Cut(row, "/")
				there[name]++
			}
			for name := range acknowledged {
				require.Equal(t, rowsEach, there[name], "append %s was acknowledged", name)
				delete(there, name)
			}
			inDoubt++
			if there[unknown] > 0 {
				in++
				require.Equal(t, rowsEach, there[unknown], "append %s is there in part", unknown)
				acknowledged[unknown] = true // now it is known
				delete(there, unknown)
			}
			require.Empty(t, there, "nobody has appended these")
			for _, asOf := range []uint64{upper / 2, random.Uint64N(upper)} {
				got := contents(t, reader, asOf)
				require.Subset(t, latest, got)
				if before, ok := seen[asOf]; ok {
					require.Equal(t, before, got, "as of %d", asOf)
				}
				seen[asOf] = got
			}
			// All times that were ever read, in turn.
			times := make([]uint64, 0, len(seen))
			for asOf := range seen {
				times = append(times, asOf)
			}
			slices.Sort(times)
			asOf := times[random.IntN(len(times))]
			require.Equal(t, seen[asOf], contents(t, reader, asOf), "as of %d", asOf)
		}
		require.NoError(t, k.close())
	}
	require.Greater(t, len(acknowledged), kills)
	t.Logf("%d appends acknowledged or found; of %d kills %d found an append that was in and not acknowledged", len(acknowledged), inDoubt, in)
}

// killed starts a process, kills it at some moment, and returns what it was told.
func killed(t *testing.T, dir string, random *rand.Rand) (told []string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	// Some die while they start, most in the midst of appends.
	after, wait := random.IntN(12), time.Duration(random.Int64N(int64(8*time.Millisecond)))
	kill := func() { require.NoError(t, cmd.Process.Kill()) }
	if after == 0 {
		time.Sleep(5 * wait)
		kill()
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		require.NotContains(t, lines.Text(), "failed")
		if told = append(told, lines.Text()); len(told) == after {
			time.Sleep(wait)
			kill()
		}
	}
	require.NoError(t, lines.Err())
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	return told
}

// contents are the rows as of a time, each of which is there once.
func contents(t *testing.T, reader *persist.ReadHandle, asOf uint64) []string {
	updates, err := reader.SnapshotAndFetch(context.Background(), asOf)
	require.NoError(t, err)
	rows := make([]string, len(updates))
	for i, u := range updates {
		require.Equal(t, int64(1), u.Diff, u.Data)
		rows[i] = u.Data
	}
	return rows
}
