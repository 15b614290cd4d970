// Package protocol is what a compute controller and a replica say to each other.
//
// The controller sends [Command] values, the replica answers with [Response] values, both in order,
// over a [Conn]. A connection goes through three stages:
//
//   - Creation: [CreateTimely], which carries the connection's [Epoch], then [CreateInstance].
//   - Initialisation: commands that describe everything the replica is to have, up to
//     [InitializationComplete]. A replica that has something already keeps what is the same.
//   - Computation: whatever comes after that.
//
// Messages cross: a peek may be cancelled that was answered already, and the other way round. What a
// replica must have after a lost connection is told by the [History] of all commands, which
// forgets what no longer matters.
//
// A message is CBOR (RFC 8949) in its deterministic form behind a number for its kind, cut into
// frames; a connection that breaks in the middle of a message loses all of it. Both ends send
// empty frames when they have nothing to say, and give up a peer from which they hear nothing.
//
// The protocol follows Materialize's compute protocol, from its public documentation.
package protocol
