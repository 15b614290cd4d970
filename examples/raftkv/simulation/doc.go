// Package simulation tries package raftkv: servers and clients on simulated machines, under faults.
// Porcupine judges whether what the clients saw is linearizable, and each server must carry out the
// same commands in the same order.
package simulation
