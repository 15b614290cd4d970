// Package simulation tries package bank: a coordinator, branches and clients on simulated machines,
// under faults. No audit may find money made or lost, and Porcupine judges whether transfers and
// audits behave as if they had happened one after the other.
package simulation
