package simvet

import (
	"fmt"
	"go/ast"
	"go/types"
)

var realWorld = func() banned {
	b := banned{}
	const disk = "Host.Disk"
	files := advice{"touches the machine's own files, which the simulator can't fault, crash or reset", disk, nil}
	b.ban("os", files,
		"Chdir", "Chmod", "Chown", "Chtimes", "CopyFS", "Create", "CreateTemp", "DirFS", "Getwd", "Lchown", "Link", "Lstat",
		"Mkdir", "MkdirAll", "MkdirTemp", "NewFile", "Open", "OpenFile", "OpenInRoot", "OpenRoot", "Pipe", "ReadDir", "ReadFile",
		"Readlink", "Remove", "RemoveAll", "Rename", "Stat", "Symlink", "TempDir", "Truncate", "UserCacheDir", "UserConfigDir",
		"UserHomeDir", "WriteFile")
	b.ban("io/ioutil", files, "ReadDir", "ReadFile", "TempDir", "TempFile", "WriteFile")
	b.ban("path/filepath", files, "Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir")

	const config = "a setting that whoever starts the process passes in"
	env := advice{"reads or changes the real process's environment, which the seed does not decide", config, nil}
	b.ban("os", env, "Args", "Clearenv", "Environ", "Executable", "ExpandEnv", "Getenv", "LookupEnv", "Setenv", "Unsetenv")
	b.ban("os", advice{"differs from machine to machine", "Host.Name", nil}, "Hostname")
	b.ban("os", advice{"differs from run to run", "Host.Name and Host.Incarnation", nil},
		"FindProcess", "Getegid", "Geteuid", "Getgid", "Getgroups", "Getpid", "Getppid", "Getuid")
	b.ban("os", advice{"ends the whole simulation", "an error, or Host.Unreachable", nil}, "Exit")
	machine := advice{"differs from machine to machine, or from run to run", "", nil}
	b.ban("runtime", machine, "GOMAXPROCS", "NumCPU", "NumGoroutine", "ReadMemStats")
	b.ban("runtime", advice{"calls its function when the garbage collector gets there", "an explicit Close", nil}, "AddCleanup", "SetFinalizer")

	const logf = "Host.Logf"
	stdio := advice{"is the real process's, where the output of all simulated processes is mixed", logf, nil}
	b.ban("os", stdio, "Stderr", "Stdout")
	b.ban("os", advice{"reads the real process's standard input", config, nil}, "Stdin")
	print := advice{"writes to the real process's standard output", logf, nil}
	b.ban("fmt", print, "Print", "Printf", "Println")
	b.ban("fmt", advice{"reads the real process's standard input", config, nil}, "Scan", "Scanf", "Scanln")
	logger := advice{"writes to the real process's standard error, with the real time", logf, nil}
	b.ban("log", logger,
		"Default", "Output", "Panic", "Panicf", "Panicln", "Print", "Printf", "Println", "SetFlags", "SetOutput", "SetPrefix", "Writer")
	b.ban("log", advice{"ends the whole simulation", "Host.Logf and an error", nil}, "Fatal", "Fatalf", "Fatalln")
	b.ban("log/slog", logger,
		"Debug", "DebugContext", "Default", "Error", "ErrorContext", "Info", "InfoContext", "Log", "LogAttrs", "SetDefault", "Warn",
		"WarnContext", "With")

	const net = "Host.Net"
	sockets := advice{"uses the machine's own network, and blocks the simulation's only thread", net, nil}
	b.ban("net", sockets,
		"Dial", "DialIP", "DialTCP", "DialTimeout", "DialUDP", "DialUnix", "FileConn", "FileListener", "FilePacketConn",
		"InterfaceAddrs", "InterfaceByIndex", "InterfaceByName", "Interfaces", "Listen", "ListenIP", "ListenMulticastUDP",
		"ListenPacket", "ListenTCP", "ListenUDP", "ListenUnix", "ListenUnixgram", "LookupAddr", "LookupCNAME", "LookupHost",
		"LookupIP", "LookupMX", "LookupNS", "LookupPort", "LookupSRV", "LookupTXT", "ResolveIPAddr", "ResolveTCPAddr",
		"ResolveUDPAddr", "Dialer.Dial", "Dialer.DialContext", "ListenConfig.Listen", "ListenConfig.ListenPacket",
		"DefaultResolver", "Resolver.LookupHost", "Resolver.LookupIP", "Resolver.LookupIPAddr", "Resolver.LookupNetIP")
	b.ban("net", advice{"makes a connection whose two ends wait for each other with bare channels", net, nil}, "Pipe")
	b.ban("crypto/tls", sockets, "Dial", "DialWithDialer", "Listen", "Dialer.Dial", "Dialer.DialContext")
	b.ban("net/http", sockets,
		"Get", "Head", "Post", "PostForm", "ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS", "DefaultClient",
		"DefaultTransport", "Client.Do", "Client.Get", "Client.Head", "Client.Post", "Client.PostForm", "Server.ListenAndServe",
		"Server.ListenAndServeTLS", "Server.Serve", "Server.ServeTLS", "Transport.RoundTrip")
	b.ban("net/rpc", sockets, "Accept", "Dial", "DialHTTP", "DialHTTPPath")
	b.ban("net/smtp", sockets, "Dial", "SendMail")
	b.ban("database/sql", sockets, "Open", "OpenDB")

	const outside = "reaches outside of the simulation"
	b.ban("os/exec", advice{"starts a real process", "", nil}, "Command", "CommandContext", "LookPath")
	b.ban("os", advice{"starts a real process", "", nil}, "StartProcess")
	b.ban("os/signal", advice{outside, "", nil}, "Ignore", "Notify", "NotifyContext", "Reset", "Stop")
	b.ban("os/user", advice{outside, config, nil}, "Current", "Lookup", "LookupGroup", "LookupGroupId", "LookupId")
	b.ban("plugin", advice{outside, "", nil}, "Open")
	return b
}()

// systemCalls are packages of nothing but system calls, of which only types and constants are harmless.
var systemCalls = map[string]bool{
	"syscall": true, "golang.org/x/sys/unix": true, "golang.org/x/sys/windows": true, "golang.org/x/sys/plan9": true,
}

// runIO finds what touches the real world: files, sockets, processes, signals, the environment,
// standard output, and what the machine is like.
func runIO(c *checker) error {
	for cur := range c.nodes((*ast.CallExpr)(nil)) {
		call := cur.Node().(*ast.CallExpr)
		id := calledIdent(call)
		if id == nil {
			continue
		}
		switch obj := c.TypesInfo.Uses[id].(type) {
		case *types.Builtin:
			if obj.Name() == "print" || obj.Name() == "println" {
				c.report(finding{at: call.Fun, message: obj.Name() + " writes to the real process's standard error: use Host.Logf"})
			}
		case *types.Func:
			if obj.Pkg() != nil && systemCalls[obj.Pkg().Path()] && obj.Signature().Recv() == nil {
				c.report(finding{at: call.Fun, message: fmt.Sprintf("%s.%s calls the operating system, past the simulator: use Host.Net or Host.Disk",
					obj.Pkg().Name(), obj.Name())})
			}
		}
	}
	return realWorld.check(c)
}

// calledIdent is the identifier of the function that a call names, or nil.
func calledIdent(call *ast.CallExpr) *ast.Ident {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return fun
	case *ast.SelectorExpr:
		return fun.Sel
	}
	return nil
}
