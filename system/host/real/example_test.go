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
	echo := func(h host.Host, l host.Listener) {
		c, err := l.Accept(ctx)
		for err == nil {
			var msg []byte
			if msg, err = c.Recv(ctx); err == nil {
				err = c.Send(ctx, append(msg, '!'))
			}
		}
		h.Logf("done: %v", err)
	}
	ask := func(h host.Host, answer chan<- string) {
		c, err := h.Net().Dial(ctx, "server:echo")
		if err == nil {
			err = c.Send(ctx, []byte("hello"))
		}
		var msg []byte
		if err == nil {
			msg, err = c.Recv(ctx)
		}
		answer <- fmt.Sprint(string(msg), " ", err)
	}

	l, err := server.Net().Listen("echo")
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := make(chan string)
	server.Go("echo", func() { echo(server, l) })
	client.Go("ask", func() { ask(client, answer) })
	fmt.Println(<-answer)
	// Output: hello! <nil>
}
