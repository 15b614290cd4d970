package boltstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/simrun-dev/simrun/system/host/real"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/persist/boltstore"
)

// A program that keeps its shards on its own machine: versions in a bbolt file, batches in files of
// the real host's disk. It can be killed at any time.
func Example() {
	dir, err := os.MkdirTemp("", "shards")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	// Twice: the second life finds what the first has left.
	for range 2 {
		if err := live(dir); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// upper [0], contents []
	// upper [1], contents ["row [0]"@0:+1]
}

func live(dir string) error {
	h, err := real.New(real.Config{Name: "app", Dir: filepath.Join(dir, "host"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer h.Close()
	consensus, err := boltstore.Open(filepath.Join(dir, "consensus.db"), boltstore.Options{})
	if err != nil {
		return err
	}
	defer consensus.Close()
	blob, err := persist.OpenDiskBlob(h, "blob")
	if err != nil {
		return err
	}
	client := persist.NewClient(h, blob, consensus, persist.Config{})
	defer client.Close()

	ctx := context.Background()
	writer, err := client.OpenWriter(ctx, "rows")
	if err != nil {
		return err
	}
	reader, err := client.OpenReader(ctx, "rows")
	if err != nil {
		return err
	}
	upper := writer.Upper()
	next, _ := upper.Time()
	var contents []persist.Update
	if next > 0 {
		if contents, err = reader.SnapshotAndFetch(ctx, next-1); err != nil {
			return err
		}
	}
	fmt.Printf("upper %v, contents %v\n", upper, contents)
	row := persist.Update{Data: fmt.Sprint("row ", upper), Time: next, Diff: 1}
	return writer.CompareAndAppend(ctx, []persist.Update{row}, upper, persist.At(next+1))
}
