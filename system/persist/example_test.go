package persist_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/persist"
)

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		ctx, h := context.Background(), w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		defer client.Close()

		writer, _ := client.OpenWriter(ctx, "fruit")
		err := writer.CompareAndAppend(ctx, []persist.Update{
			{Data: "apple", Time: 3, Diff: 2},
			{Data: "pear", Time: 5, Diff: 1},
		}, persist.At(0), persist.At(10))
		fmt.Println("append:", err)

		// The upper is 10 now, so this is refused.
		err = writer.CompareAndAppend(ctx, nil, persist.At(0), persist.At(20))
		var mismatch *persist.UpperMismatch
		fmt.Println("mismatch:", errors.As(err, &mismatch), mismatch.Current)

		err = writer.CompareAndAppend(ctx, []persist.Update{
			{Data: "apple", Time: 10, Diff: -1},
		}, mismatch.Current, persist.At(20))
		fmt.Println("append:", err)

		reader, _ := client.OpenReader(ctx, "fruit")
		for _, asOf := range []uint64{4, 9, 19} {
			contents, err := reader.SnapshotAndFetch(ctx, asOf)
			fmt.Println(contents, err)
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// append: <nil>
	// mismatch: true [10]
	// append: <nil>
	// ["apple"@4:+2] <nil>
	// ["apple"@9:+2 "pear"@9:+1] <nil>
	// ["apple"@19:+1 "pear"@19:+1] <nil>
}
