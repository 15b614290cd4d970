// Package simulation tries package bank: a coordinator, branches and clients on simulated machines,
// under faults. No audit may find money made or lost, and transfers and audits must behave as if
// they had happened one after the other.
package simulation
