// Package rpc is request and response over a host.Conn.
//
// A [Service] is a table of methods. [Serve] listens on a port and answers from it: one task
// for each connection, and for each connection a bounded number of requests at a time. A
// [Client] calls the methods of one address over one connection, dialled when it is first
// needed and dialled again after it broke; any number of calls share it.
//
// A [Method] fixes the name and the types of a call, for both sides:
//
//	const head rpc.Method[headRequest, headReply] = "consensus/head"
//
//	head.Handle(service, func(ctx context.Context, req headRequest) (headReply, error) { ... })
//	reply, err := head.Call(ctx, client, headRequest{Key: "s1"})
//
// Messages are CBOR (RFC 8949) in its core deterministic form: equal values have equal bytes.
//
// # What an error says about the request
//
// A caller that means to retry has to know whether its request may have been executed. Each
// error a call returns is one of three kinds:
//
//   - [ErrNotSent]: it was surely not executed, since it never left this machine.
//   - [ErrUnknown]: it was sent and no answer came: it was executed, or will be, or never is.
//   - [*Error]: the other side answered with an error, which has a stable Code.
//
// The package never repeats a request by itself.
package rpc
