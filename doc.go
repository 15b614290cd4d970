// Package simrun is the front door of simrun, a deterministic simulation testing framework: it
// gives a module of one's own the whole command line over scenarios of one's own.
//
//	package main
//
//	import (
//		"github.com/simrun-dev/simrun"
//		"example.com/bank/scenarios"
//	)
//
//	func main() { simrun.Main(scenarios.Transfers, scenarios.Audits) }
//
// That program lists, runs, reproduces and verifies them as simrun does its own:
//
//	go run ./cmd/banksim run transfers --seeds 1-1000
//	go run ./cmd/banksim repro transfers:417
//
// What a scenario is, and how to write one, is in package scenarios; the simulated machines that
// it runs on are in package sim, and what code may ask of them in system/host.
package simrun
