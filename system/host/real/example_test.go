package real_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/simrun-dev/simrun/system/host"
	"github.com/simrun-dev/simrun/system/host/real"
)

// Two machines in one program. Each would be a program of its own, with an address that does not
// change.
func Example() {
	dir, err := os.MkdirTemp("", "hosts")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	book := real.NewBook(nil)
	start := func(name string) *real.Host {
		h, err := real.New(real.Config{
			Name: name, Dir: filepath.Join(dir, name), Listen: "127.0.0.1:0", Peers: book,
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			panic(err)
		}
		book.Set(name, h.Addr())
		return h
	}
	server, client := start("server"), start("client")
	defer server.Close()
	defer client.Close()

	// What runs on a host knows nothing of all that, and runs in the simulator as well.
	ctx := context.Background()
	listening := make(chan struct{})
	server.Go("echo", func() {
		var h host.Host = server
		l, err := h.Net().Listen("echo")
		close(listening)
		for err == nil {
			var c host.Conn
			if c, err = l.Accept(ctx); err != nil {
				break
			}
			h.Go("serve", func() {
				for {
					msg, err := c.Recv(ctx)
					if err != nil || c.Send(ctx, append(msg, "!"...)) != nil {
						return
					}
				}
			})
		}
	})
	<-listening
	done := make(chan struct{})
	client.Go("client", func() {
		defer close(done)
		c, err := client.Net().Dial(ctx, "server:echo")
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = c.Send(ctx, []byte("hello"))
		msg, err := c.Recv(ctx)
		fmt.Printf("%s %v\n", msg, err)
	})
	<-done
	// Output: hello! <nil>
}
