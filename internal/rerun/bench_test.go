package rerun

import (
	"context"
	"testing"

	"github.com/simrun-dev/simrun/scenarios"
)

// BenchmarkExamine is what it costs to look into one failing run of the whole system.
func BenchmarkExamine(b *testing.B) {
	var full *scenarios.Scenario
	for _, s := range scenarios.Builtin() {
		if s.Name == "full" {
			full = s
		}
	}
	opt := scenarios.Options{Seed: 1}
	before := Once(context.Background(), full, opt)
	for b.Loop() {
		if Examine(context.Background(), full, opt, before, Watcher{}) == nil {
			b.Fatal("not examined")
		}
	}
}
