package shrink

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/simrun-dev/simrun/scenarios"
)

// setting is a setting's value in the smallest run so far.
func (h *hunt) setting(s *scenarios.Setting) string {
	if v, ok := h.found.Options.Settings[s.Name]; ok {
		return v
	}
	return s.Default
}

// with are the smallest run so far with other values of a setting, of those that it can have.
func (h *hunt) with(name string, values []string) []scenarios.Options {
	var candidates []scenarios.Options
	for _, value := range values {
		opt := h.found.Options
		opt.Settings = maps.Clone(opt.Settings)
		if opt.Settings == nil {
			opt.Settings = map[string]string{}
		}
		opt.Settings[name] = value
		// The plan may name machines that are no longer there.
		if h.Scenario.Check(opt) == nil {
			candidates = append(candidates, opt)
		}
	}
	return candidates
}

// duration is the setting that says how long the workload runs.
const duration = "duration"

// shorten makes the workload run for a shorter time, first of all: it makes all that follows faster.
func (h *hunt) shorten(ctx context.Context) (changed bool) {
	for _, s := range h.Scenario.AllSettings() {
		if s.Name != duration {
			continue
		}
		for ctx.Err() == nil {
			d, err := time.ParseDuration(h.setting(&s))
			if err != nil {
				break
			}
			var values []string
			for _, eighths := range []time.Duration{1, 2, 4, 6} {
				if shorter := (d * eighths / 8).Round(100 * time.Millisecond); shorter > 0 && shorter < d {
					values = append(values, shorter.String())
				}
			}
			if h.try(ctx, h.with(s.Name, values)) < 0 {
				break
			}
			changed = true
		}
	}
	return changed
}

// reduceSettings makes the settings that are whole numbers smaller: most say how much there is of
// something. Those that are durations stay: shorter ones mean more work, or, where they bound what
// must come true, a failure of another kind.
func (h *hunt) reduceSettings(ctx context.Context) (changed bool) {
	for _, s := range h.Scenario.AllSettings() {
		for ctx.Err() == nil {
			n, err := strconv.Atoi(h.setting(&s))
			if err != nil || n <= 0 {
				break
			}
			smaller := []int{0, 1, n / 4, n / 2, n - 1}
			slices.Sort(smaller)
			var values []string
			for _, v := range slices.Compact(smaller) {
				if v < n {
					values = append(values, strconv.Itoa(v))
				}
			}
			if h.try(ctx, h.with(s.Name, values)) < 0 {
				break
			}
			changed = true
		}
	}
	return changed
}
