package rpc_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/rpc"
)

func Example() {
	// Both sides share the declaration of the method.
	const shout rpc.Method[string, string] = "voice/shout"

	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.NewNode("voice", func(h host.Host) {
		service := rpc.NewService()
		shout.Handle(service, func(_ context.Context, s string) (string, error) {
			return strings.ToUpper(s) + "!", nil
		})
		if _, err := rpc.Serve(h, "rpc", service, rpc.ServerOptions{}); err != nil {
			h.Logf("cannot serve: %v", err)
		}
	})
	w.Go("caller", func() {
		client := rpc.NewClient(w.Host(), "voice:rpc", rpc.ClientOptions{})
		defer client.Close()
		answer, err := shout.Call(context.Background(), client, "hello")
		fmt.Println(answer, err)
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output: HELLO! <nil>
}
