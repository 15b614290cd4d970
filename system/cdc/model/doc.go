// Package model holds the types that the parts of change data capture tell each other about: who
// captures, what is replicated, and how far it has come.
//
// The names and shapes are those of TiKV-CDC's package model, as far as they are used here.
//
// A [Ts] is a point in time of the upstream store, made of milliseconds and a counter; see
// [ComposeTs]. A checkpoint is a Ts up to which everything is durable in the sink, a resolved ts one
// up to which everything is known: no more changes with that ts or a lower one will appear.
package model
