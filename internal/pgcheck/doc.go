// Package pgcheck compares the parser of system/sql with PostgreSQL's own.
//
// It generates SELECTs, good ones and damaged ones, and parses each with both. Both must accept
// it and build trees of the same shape, or both must reject it; where the two differ on purpose,
// the test says why. PostgreSQL's grammar is libpg_query, compiled to WebAssembly.
//
// It is a module of its own, so that simrun itself does not depend on any of that. Run it here:
//
//	cd internal/pgcheck && go test ./...
//	cd internal/pgcheck && go test ./... -queries 100000
package pgcheck
