package cdc_test

import (
	"context"
	"fmt"
	"time"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/persist"
)

// A coordination service, an upstream store, the stores of the sink's shards, and two captures.
func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	w.NewNode("coord", func(h host.Host) { _, _, err := coord.Serve(h, "coord", coord.StoreConfig{}); must(err) })
	w.NewNode("source", func(h host.Host) { _, _, err := source.Serve(h, "source", source.Config{}); must(err) })
	w.NewNode("blob", func(h host.Host) { _, err := persist.ServeBlob(h, "persist"); must(err) })
	w.NewNode("consensus", func(h host.Host) { _, _, err := persist.ServeConsensus(h, "persist"); must(err) })
	shards := func(h host.Host) *persist.Client {
		return persist.NewClient(h, persist.NewBlobClient(h, "blob:persist"), persist.NewConsensusClient(h, "consensus:persist"), persist.Config{})
	}
	for i := range 2 {
		w.NewNode(fmt.Sprint("capture", i), func(h host.Host) {
			client := shards(h)
			_, err := cdc.Start(h, cdc.Config{
				Coord: coord.Dial(h, "coord:coord"), Upstream: source.Dial(h, "source:source"),
				Sinks: func(_ context.Context, _ model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
					return sink.NewShards(h, client, info.SinkURI), nil
				},
			})
			must(err)
		})
	}
	w.Go("main", func() {
		defer w.Stop()
		w.Sleep(time.Second)
		ctx, h := context.Background(), w.Host()
		upstream := source.Dial(h, "source:source")
		admin := cdc.NewAdmin(h, coord.Dial(h, "coord:coord"), upstream)
		_, err := upstream.AddSpan(ctx, 1, "a", "z")
		must(err)
		must(admin.Create(ctx, "fruit", model.ChangeFeedInfo{SinkURI: "fruit"}))
		_, err = upstream.Commit(ctx, "", []source.Mutation{source.Put("apple", "green"), source.Put("pear", "green")})
		must(err)
		ts, err := upstream.Commit(ctx, "", []source.Mutation{source.Put("pear", "yellow")})
		must(err)
		for {
			feed, err := admin.Feed(ctx, "fruit")
			must(err)
			if feed.Status.CheckpointTs >= ts {
				break // all of it is in the sink
			}
			w.Sleep(100 * time.Millisecond)
		}
		reader, err := shards(h).OpenReader(ctx, sink.ShardOf("fruit", 1))
		must(err)
		for _, asOf := range []model.Ts{ts - 1, ts} {
			updates, err := reader.SnapshotAndFetch(ctx, asOf)
			must(err)
			for _, u := range updates {
				key, value, err := sink.Decode(u.Data)
				fmt.Println(asOf == ts, key, value, err)
			}
		}
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// false pear green <nil>
	// false apple green <nil>
	// true pear yellow <nil>
	// true apple green <nil>
}
