package cdc_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/cdc"
	"github.com/simrun-dev/simrun/system/cdc/model"
	"github.com/simrun-dev/simrun/system/cdc/sink"
	"github.com/simrun-dev/simrun/system/cdc/source"
	"github.com/simrun-dev/simrun/system/coord"
	"github.com/simrun-dev/simrun/system/host/real"
	"github.com/simrun-dev/simrun/system/persist"
)

// The same code over TCP, files and the real clock: rows arrive, also those that the next captures have
// to replicate after the first were killed.
func TestOnRealHosts(t *testing.T) {
	book := real.NewBook(nil)
	boot := func(name string) *real.Host {
		h, err := real.New(real.Config{
			Name: name, Dir: t.TempDir(), Listen: "127.0.0.1:0", Peers: book,
			Logger: slog.New(slog.DiscardHandler), Timeout: time.Hour,
			OnViolation: func(v real.Violation) { panic(fmt.Sprintf("%+v", v)) },
		})
		require.NoError(t, err)
		book.Set(name, h.Addr())
		return h
	}
	// do runs fn as a task of a host, and waits for it.
	do := func(h *real.Host, fn func() error) {
		t.Helper()
		ended := make(chan error)
		h.Go("test", func() { ended <- fn() })
		require.NoError(t, <-ended)
	}
	server, client := boot("server"), boot("client")
	defer server.Close()
	defer client.Close()
	do(server, func() error {
		if _, _, err := coord.Serve(server, "coord", coord.StoreConfig{}); err != nil {
			return err
		}
		_, _, err := source.Serve(server, "source", source.Config{})
		return err
	})
	stores := boot("stores")
	defer stores.Close()
	do(stores, func() error {
		if _, err := persist.ServeBlob(stores, "blob"); err != nil {
			return err
		}
		_, _, err := persist.ServeConsensus(stores, "consensus")
		return err
	})
	shards := func(h *real.Host) *persist.Client {
		return persist.NewClient(h, persist.NewBlobClient(h, "stores:blob"), persist.NewConsensusClient(h, "stores:consensus"), persist.Config{RetryMax: 50 * time.Millisecond})
	}
	capture := func(name string) *real.Host {
		h := boot(name)
		do(h, func() error {
			client := shards(h)
			_, err := cdc.Start(h, cdc.Config{
				Coord: coord.Dial(h, "server:coord"), Upstream: source.Dial(h, "server:source"), SessionTTL: time.Second,
				Sinks: func(_ context.Context, _ model.ChangeFeedID, info model.ChangeFeedInfo) (sink.Sink, error) {
					return sink.NewShards(h, client, info.SinkURI), nil
				},
			})
			return err
		})
		return h
	}
	first := []*real.Host{capture("first"), capture("second")}
	do(client, func() error {
		upstream := source.Dial(client, "server:source")
		admin := cdc.NewAdmin(client, coord.Dial(client, "server:coord"), upstream)
		for id := range model.KeySpanID(3) {
			start, end := spanRange(id)
			if _, err := upstream.AddSpan(background, id, start, end); err != nil {
				return err
			}
		}
		if err := admin.Create(background, feed, model.ChangeFeedInfo{SinkURI: feed}); err != nil {
			return err
		}
		for round := range 3 {
			var ts model.Ts
			for i := range 20 {
				var err error
				if ts, err = upstream.Commit(background, "", []source.Mutation{source.Put(fmt.Sprintf("%03d/%d", i%3, i), fmt.Sprint(round))}); err != nil {
					return err
				}
			}
			if round == 1 {
				for _, h := range first {
					h.Close()
				}
				defer capture("third").Close()
			}
			for {
				f, err := admin.Feed(background, feed)
				if err != nil {
					return err
				}
				if f.Status.CheckpointTs >= ts {
					break
				}
				client.Clock().Sleep(50 * time.Millisecond)
			}
			rows := 0
			for id := range model.KeySpanID(3) {
				reader, err := shards(client).OpenReader(background, sink.ShardOf(feed, id))
				if err != nil {
					return err
				}
				updates, err := reader.SnapshotAndFetch(background, ts)
				if err != nil {
					return err
				}
				for _, u := range updates {
					if _, value, err := sink.Decode(u.Data); err != nil || value != fmt.Sprint(round) || u.Diff != 1 {
						return fmt.Errorf("%v in round %d: %w", u, round, err)
					}
					rows++
				}
			}
			if rows != 20 {
				return fmt.Errorf("%d rows in round %d", rows, round)
			}
		}
		return nil
	})
}
