package dataflowtest_test

import "testing"

func BenchmarkPlan(b *testing.B) {
	seed := 0
	for b.Loop() {
		examples.Example(seed)
		seed++
	}
}
