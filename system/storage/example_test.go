package storage_test

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		ctx, h := context.Background(), w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		defer client.Close()
		writer, _ := client.OpenWriter(ctx, "sources")
		open := func(ctx context.Context) (*persist.ReadHandle, error) { return client.OpenReader(ctx, "sources") }

		task := storage.Spawn(h, storage.TaskConfig{ID: "s17", Writer: writer, OpenReader: open})
		fmt.Println(task.Write(ctx, storage.Append{Updates: []storage.RowDiff{{Row: "mysql", Diff: 1}, {Row: "kafka", Diff: 1}}}))
		fmt.Println(task.Write(ctx, storage.Delete{Filter: func(r storage.Row) bool { return r == "mysql" }}))

		// The task moves the upper on, so that the collection can be read as of now.
		now := uint64(h.Clock().Now().UnixMilli())
		h.Clock().Sleep(3 * time.Second)
		reader, _ := open(ctx)
		contents, err := reader.SnapshotAndFetch(ctx, now)
		for _, u := range contents {
			fmt.Println(u.Data, u.Diff, err)
		}

		task.Shutdown()
		fmt.Println(task.Wait(ctx))
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// kafka 1 <nil>
	// storage: graceful shutdown
}
