// Package journal keeps what a process must not forget: a file of records that only grows, each
// durable before anybody is told of it. It is what the examples raftkv and bank have their state in.
//
// A record is its length, its checksum, and JSON. What a crash left of the last record was never
// acted on, and is cut off.
package journal
