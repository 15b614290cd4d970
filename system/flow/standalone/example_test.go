package standalone_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/standalone"
	"github.com/simrun-dev/simrun/system/persist"
)

func Example() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.Go("main", func() {
		defer w.Stop()
		h := w.Host()
		client := persist.NewClient(h, persist.NewMemBlob(h), persist.NewMemConsensus(h), persist.Config{})
		s, err := standalone.Start(h, client, flow.Config{})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer s.Close()
		results, err := s.Execute(context.Background(), `
			CREATE TABLE t (k STRING, v BIGINT) WITH (append_mode = true);
			CREATE FLOW totals SINK TO out AS SELECT k, sum(v) AS total FROM t GROUP BY k;
			INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3);
			FLUSH FLOW totals;
			SELECT k, total FROM out`)
		fmt.Println(results[len(results)-1], err)
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// k | total
	// a | 4
	// b | 2 <nil>
}

// BenchmarkInsertAndFlush is an insert of one row, followed by a flush, all in one simulated process.
func BenchmarkInsertAndFlush(b *testing.B) {
	b.ReportAllocs()
	inWorld(b, 1, flow.Config{}, func(_ *sim.World, s *standalone.Server) {
		execute(b, s, `CREATE TABLE t (k STRING, v BIGINT) WITH (append_mode = true);
			CREATE FLOW f SINK TO out AS SELECT k, sum(v) AS s FROM t GROUP BY k`)
		for b.Loop() {
			execute(b, s, "INSERT INTO t VALUES ('a', 1); FLUSH FLOW f")
		}
	})
}
