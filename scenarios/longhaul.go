package scenarios

import (
	"slices"
	"time"

	"github.com/simrun-dev/simrun/models"
	"github.com/simrun-dev/simrun/system/compute/protocol"
)

// longhaulSlowness makes minutes of what is seconds in the scenario full: sessions live for two or five of them, watchers
// wait for one at a time, readers that are not heard of are forgotten after half an hour.
const longhaulSlowness = 90

var longhaulSettings = slices.Concat(replaced(pipelineSettings, map[string]string{
	"write-pace": "8m", "peek-pace": "15m", "operator-pace": "20m", "step": "4m",
}), []Setting{
	{Name: "burst-pace", Default: "4h", Doc: "mean time between two bursts of transactions"},
	{Name: "visit-pace", Default: "10m", Doc: "mean time between two visitors, who read something and die"},
	{Name: "duration", Default: "168h", Doc: "virtual time for which the workload runs under faults"},
	{Name: "settle", Default: "90m", Doc: "virtual time after the faults within which everything must have settled"},
})

// replaced are settings with other defaults.
func replaced(settings []Setting, defaults map[string]string) []Setting {
	settings = slices.Clone(settings)
	for i := range settings {
		if d, ok := defaults[settings[i].Name]; ok {
			settings[i].Default = d
		}
	}
	return settings
}

// longhaul is the whole system for a week.
func longhaul() *Scenario {
	return &Scenario{
		Name:     "longhaul",
		Doc:      "the whole system for a week, at the pace of a deployment: what is garbage must go, and what is bounded stay so",
		Settings: longhaulSettings,
		Oracles:  append(models.PipelineOracles(), oracleDurable, oracleBounded),
		Profile:  "haul",
		Slowness: longhaulSlowness,
		Build:    buildLonghaul,
	}
}

func buildLonghaul(r *Run) {
	s := addPipeline(r, longhaulSlowness)
	s.task("bursts", s.burst, r.Duration("burst-pace"))
	s.addVisitors()
	s.drift()
	s.addBounded()
}

// What the stores of a long haul keep is little, so that they come to compact and rewrite it often.
const (
	longhaulRetain = 500
	longhaulLog    = 128 << 10
)

// configureSlow sets what of the processes is not set for runs of seconds.
func (s *pipelineCluster) configureSlow() {
	s.forgets = true
	s.cfg.Persist.ReaderLease, s.cfg.Persist.WriterLease = s.slow(forgottenAfter), s.slow(forgottenAfter)
	s.cfg.Persist.HeartbeatInterval = s.cfg.Persist.ReaderLease / 4
	s.stores.coord.MaxWatchWait = s.cfg.CallTimeout
	s.stores.source.ResolvedInterval, s.stores.source.Reserve = s.slow(750*time.Millisecond), s.slow(3*time.Second)
	s.stores.coord.Retain, s.stores.coord.RewriteAt, s.stores.source.RewriteAt = longhaulRetain, longhaulLog, longhaulLog
	s.cfg.Compute.MaintainInterval = s.slow(time.Second)
	s.cfg.Parameters = protocol.Parameters{ReportInterval: s.slow(100 * time.Millisecond)}
	s.cfg.Replica.Conn = protocol.ConnConfig{KeepAlive: s.slow(500 * time.Millisecond)}
}
