package host_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/simrun-dev/simrun/sim"
	"github.com/simrun-dev/simrun/system/host"
)

// HTTP by hand, between two simulated machines.
func ExampleNetConn() {
	w := sim.New(sim.Config{Seed: 1})
	defer w.Close()
	w.NewNode("web", func(h host.Host) {
		l, err := h.Net().Listen("http")
		if err != nil {
			h.Logf("cannot listen: %v", err)
			return
		}
		conn, err := host.NetListener(h, l).Accept()
		if err != nil {
			return
		}
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		resp := http.Response{
			StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: req,
			ContentLength: -1, Close: true,
			Body: io.NopCloser(strings.NewReader("you asked for " + req.URL.Path)),
		}
		_ = resp.Write(conn)
		_ = conn.Close()
	})
	w.Go("client", func() {
		w.Sleep(1e6)
		c, err := w.Host().Net().Dial(context.Background(), "web:http")
		if err != nil {
			fmt.Println(err)
			return
		}
		conn := host.NetConn(w.Host(), c)
		defer conn.Close()
		fmt.Fprint(conn, "GET /index.html HTTP/1.1\r\nHost: web\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, err := io.ReadAll(resp.Body)
		fmt.Println(resp.Status, string(body), err)
	})
	if err := w.Run(); err != nil {
		fmt.Println(err)
	}
	// Output: 200 OK you asked for /index.html <nil>
}
