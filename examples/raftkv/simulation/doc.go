// Package simulation tries package raftkv: servers and clients on simulated machines, under faults.
// What the clients saw must be linearizable key by key, and each server must carry out the same
// commands in the same order.
package simulation
