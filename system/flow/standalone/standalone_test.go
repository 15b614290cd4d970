package standalone_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/flow"
	"github.com/simrun-dev/simrun/system/flow/standalone"
)

func TestAFlowKeepsItsSink(t *testing.T) {
	inWorld(t, 1, flow.Config{}, func(_ *sim.World, s *standalone.Server) {
		execute(t, s, `
			CREATE TABLE t (k STRING, v BIGINT, ts TIMESTAMP TIME INDEX, PRIMARY KEY (k));
			INSERT INTO t VALUES ('a', 1, 0), ('b', 2, 0);
			CREATE FLOW totals SINK TO out AS SELECT k, sum(v) AS total, count(*) AS n FROM t GROUP BY k;
			INSERT INTO t VALUES ('a', 10, 1000);
			FLUSH FLOW totals;`)
		require.Equal(t, "k | total | n\na | 11    | 2\nb | 2     | 1", execute(t, s, "SELECT k, total, n FROM out"))
		execute(t, s, "DELETE FROM t WHERE v = 10; DELETE FROM t WHERE k = 'b'; FLUSH FLOW totals")
		require.Equal(t, "k | total | n\na | 1     | 1", execute(t, s, "SELECT k, total, n FROM out"))
	})
}
