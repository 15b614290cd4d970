// Package peer carries messages between processes that are known by names which are never used again,
// such as the ids of captures: to each named peer in order, and each once, as long as both live.
//
// A [Node] is one named process's end. TrySend queues a message, or tells that it can't be now;
// Acked tells up to which message a peer has handled what it was sent. One task for each peer sends what
// is queued, a batch at a time, and again until the peer has acknowledged it: messages are lost with
// connections, and the protocol makes up for it. A peer whose address turns out to be another's by now
// is dead, and what is queued for it is given up.
//
// A [Server] receives for the Node that the process has at present: a process may take another name in
// the course of its life.
package peer
