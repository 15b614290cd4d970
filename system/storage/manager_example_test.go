package storage_test

import (
	"context"
	"fmt"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
	"github.com/simrun-dev/simrun/system/storage"
)

func ExampleCollectionManager() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		ctx, h := context.Background(), w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		defer client.Close()
		manager := storage.NewCollectionManager(h, storage.ManagerConfig{})

		// What connectors there are, and what became of them.
		writer, _ := client.OpenWriter(ctx, "connectors")
		connectors, _ := manager.RegisterDifferential("s1", storage.DifferentialCollection{
			Writer:     writer,
			OpenReader: func(ctx context.Context) (*persist.ReadHandle, error) { return client.OpenReader(ctx, "connectors") },
		})
		writer, _ = client.OpenWriter(ctx, "history")
		history, _ := manager.RegisterAppendOnly("s2", storage.AppendOnlyCollection{Writer: writer})

		fmt.Println(connectors.Write(ctx, storage.Append{Updates: []storage.RowDiff{{Row: "kafka", Diff: 1}}}))
		fmt.Println(history.Append(ctx, storage.RowDiff{Row: "kafka started", Diff: 1}))
		fmt.Println(history.Append(ctx, storage.RowDiff{Row: "kafka started", Diff: -1}))

		fmt.Println(manager.Unregister(ctx, "s2"))
		fmt.Println(history.Append(ctx, storage.RowDiff{Row: "kafka stopped", Diff: 1}))
		fmt.Println(manager.Registered(), manager.Shutdown(ctx))
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// <nil>
	// <nil>
	// storage: collection s2 is append-only: it takes no diff of -1, as that of "kafka started"
	// <nil>
	// storage: collection s2 is not known any more: its task was shut down
	// [s1] <nil>
}
