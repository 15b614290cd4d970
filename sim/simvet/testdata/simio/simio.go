package simio

import (
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/simrun-dev/simrun/system/host"
)

type client struct{ http.Client }

func misuses(d net.Dialer, c client, req *http.Request) {
	_, _ = os.ReadFile("x") // want `os.ReadFile touches the machine's own files, which the simulator can't fault, crash or reset: use Host.Disk \(simio\)`
	open := os.Open         // want `os.Open touches the machine's own files`
	_ = open
	_, _ = filepath.Glob("*")   // want `filepath.Glob touches`
	_ = os.Getenv("HOME")       // want `os.Getenv reads or changes the real process's environment`
	_ = os.Args                 // want `os.Args reads or changes`
	_, _ = os.Hostname()        // want `os.Hostname differs from machine to machine: use Host.Name`
	_ = os.Getpid()             // want `os.Getpid differs from run to run`
	os.Exit(1)                  // want `os.Exit ends the whole simulation`
	_ = runtime.NumCPU()        // want `runtime.NumCPU differs from machine to machine, or from run to run \(simio\)`
	fmt.Println("x")            // want `fmt.Println writes to the real process's standard output: use Host.Logf`
	fmt.Fprintln(os.Stderr)     // want `os.Stderr is the real process's`
	println("x")                // want `println writes to the real process's standard error`
	log.Printf("x")             // want `log.Printf writes to the real process's standard error, with the real time`
	log.Fatal("x")              // want `log.Fatal ends the whole simulation`
	slog.Info("x")              // want `slog.Info writes`
	_, _ = net.Dial("tcp", "x") // want `net.Dial uses the machine's own network`
	_, _ = d.Dial("tcp", "x")   // want `net.Dialer.Dial uses the machine's own network`
	_, _ = net.Pipe()           // want `net.Pipe makes a connection whose two ends wait`
	_, _ = http.Get("x")        // want `http.Get uses the machine's own network`
	_, _ = c.Do(req)            // want `http.Client.Do uses the machine's own network`
	_ = http.DefaultClient      // want `http.DefaultClient uses`
	_ = exec.Command("x")       // want `exec.Command starts a real process \(simio\)`
	signal.Notify(nil)          // want `signal.Notify reaches outside of the simulation`
	_ = syscall.Getpid()        // want `syscall.Getpid calls the operating system, past the simulator`
}

func right(h host.Host, w io.Writer, ip net.IP) error {
	h.Logf("x")
	fmt.Fprintln(w, fmt.Sprint("x"))
	if _, err := host.ReadFile(h.Disk(), "x"); errors.Is(err, os.ErrNotExist) {
		return syscall.EAGAIN
	}
	_ = filepath.Join("a", "b")
	_ = log.New(w, "", 0)
	_ = ip.To4().String() + net.JoinHostPort("a", "1")
	_ = http.StatusText(http.StatusOK)
	_ = os.FileMode(0o644).String()
	return nil
}
