package simvet

import (
	"go/types"
	"strings"
)

// What is known of functions whose source does not tell: those of package host and the clock, which
// are interfaces, and those of the standard library.

var (
	nothing    = &summary{}
	countsOnly = &summary{Outside: counts}
)

// tables hold the summaries of particular functions, by import path and name.
var tables = func() map[string]map[string]*summary {
	t := map[string]map[string]*summary{}
	set := func(path string, s *summary, names ...string) {
		if t[path] == nil {
			t[path] = map[string]*summary{}
		}
		for _, name := range names {
			t[path][name] = s
		}
	}
	set(hostPath, nothing,
		"Host.Name", "Host.Incarnation", "Host.Clock", "Host.Rand", "Host.Net", "Host.Disk", "Host.Runtime", "Runtime.Lock",
		"Runtime.Unlock", "Chan.Name", "Chan.Len", "Chan.Closed", "Chan.OnRecv", "Chan.OnSend", "OnDone", "OnTime", "NewChan",
		"NewRuntimeChan", "NewMutex", "NewWaitGroup", "SplitAddr", "JoinAddr", "CheckName", "Conn.LocalAddr", "Conn.RemoteAddr",
		"Listener.Addr", "NetConn", "NetListener", "File.Size")
	// A check that fails ends the run as a failure, whichever entry it was.
	set(hostPath, countsOnly, "Checks.Always", "Checks.Sometimes", "Checks.Reachable", "Checks.Unreachable")
	set(hostPath, onParam(0, counts, ""), "WaitGroup.Add", "WaitGroup.Done")
	set(clockPath, nothing, "Clock.Now", "Clock.Since", "Clock.Until")
	set(clockPath, onParam(0, settles, ""), "Timer.Stop", "Ticker.Stop")

	set("", nothing, "error.Error")
	set("fmt", nothing, "Stringer.String", "GoStringer.GoString")
	set("errors", onParam(1, shows, ""), "As")
	set("context", nothing,
		"Background", "TODO", "WithValue", "WithoutCancel", "Cause", "Context.Deadline", "Context.Done", "Context.Err", "Context.Value")

	set("sync", nothing,
		"Mutex.Lock", "Mutex.Unlock", "Mutex.TryLock", "RWMutex.Lock", "RWMutex.Unlock", "RWMutex.RLock", "RWMutex.RUnlock",
		"Locker.Lock", "Locker.Unlock", "Map.Load", "Map.Range", "Pool.Get", "Pool.Put")
	set("sync", onParam(0, counts, ""), "WaitGroup.Add", "WaitGroup.Done")
	set("sync", onParam(0, fills, ""), "Map.Store", "Map.Delete")
	set("sync", onParam(0, settles, ""), "Once.Do", "Map.Clear")
	for _, typ := range []string{"Int32", "Int64", "Uint32", "Uint64", "Uintptr", "Bool", "Pointer", "Value"} {
		set("sync/atomic", nothing, typ+".Load", "Load"+typ)
		added := onParam(0, counts, "")
		added.Reveals = true
		set("sync/atomic", added, typ+".Add", typ+".And", typ+".Or", "Add"+typ, "And"+typ, "Or"+typ)
	}

	for _, path := range []string{"slices", "sort"} {
		set(path, onParam(0, shows, "changes it"),
			"Sort", "SortFunc", "SortStableFunc", "Stable", "Slice", "SliceStable", "Strings", "Ints", "Float64s", "Reverse",
			"Insert", "Delete", "DeleteFunc", "Compact", "CompactFunc", "Replace")
	}
	set("maps", onParam(0, fills, ""), "Copy", "Insert", "DeleteFunc")
	// What is taken out of a heap comes in the order of its Less, however it was put in.
	set("container/heap", onParam(0, counts, ""), "Push", "Init", "Fix")
	set("encoding/binary", onParam(0, shows, "writes to it"), "Write", "Read")
	set("encoding/json", onParam(1, shows, "writes to it"), "Unmarshal")
	set("encoding/json", nothing, "Marshal", "MarshalIndent", "Valid")
	set("io", onParam(0, shows, "writes to it"), "WriteString", "Copy", "CopyN")
	set("fmt", onParam(0, shows, "writes to it"), "Fprint", "Fprintf", "Fprintln")
	set("fmt", unknownEffects("prints"), "Print", "Printf", "Println")
	set("strings", onParam(0, shows, "writes to it"),
		"Builder.Write", "Builder.WriteByte", "Builder.WriteRune", "Builder.WriteString")
	return t
}()

// harmlessPackages are those of which all functions and methods that have no table entry compute
// something from their arguments and change nothing.
var harmlessPackages = map[string]bool{
	"cmp": true, "encoding/base64": true, "encoding/hex": true, "errors": true, "fmt": true, "hash/crc32": true,
	"hash/crc64": true, "html": true, "iter": true, "maps": true, "math": true, "math/bits": true, "math/cmplx": true,
	"net/netip": true, "net/url": true, "path": true, "path/filepath": true, "reflect": true, "regexp": true, "slices": true,
	"sort": true, "strconv": true, "strings": true, "testing": true, "time": true, "unicode": true, "unicode/utf16": true,
	"unicode/utf8": true, "unsafe": true,
	// Assertions, which are about tests and not about simulated code.
	"github.com/stretchr/testify/assert": true, "github.com/stretchr/testify/require": true,
}

// worldlyPackages are those whose functions reach outside of the process where they are banned, and
// whose methods do unless they are readers.
var worldlyPackages = map[string]banned{
	"crypto/rand": foreignRandomness, "database/sql": realWorld, "io/fs": realWorld, "io/ioutil": realWorld, "log": realWorld,
	"log/slog": realWorld, "net": realWorld, "net/http": realWorld, "net/rpc": realWorld, "net/smtp": realWorld, "os": realWorld,
	"os/exec": realWorld, "os/signal": realWorld, "runtime": realWorld, "syscall": realWorld,
}

// readers are methods that leave what they are called on as it is, whatever type has them.
var readers = map[string]bool{
	"Back": true, "BitLen": true, "BlockSize": true, "Bytes": true, "Cap": true, "Cmp": true, "CmpAbs": true, "Equal": true,
	"Front": true, "Int64": true, "IsInt64": true, "IsNil": true, "IsZero": true, "Kind": true, "Len": true, "Less": true,
	"Name": true, "Next": true, "Prev": true, "Sign": true, "Size": true, "String": true, "Sum": true,
	"Sum32": true, "Sum64": true, "Uint16": true, "Uint32": true, "Uint64": true,
}

// tabled is the summary of a function that has one of its own, or nil.
func tabled(fn *types.Func) *summary {
	path, name := qualified(fn)
	if path == "" && fn.Pkg() == nil && fn.Name() == "Error" {
		name = "error.Error"
	}
	if s := tables[path][name]; s != nil {
		return s
	}
	switch {
	case path == hostPath || path == clockPath:
		return unknownEffects("")
	case path == "time" && (strings.HasPrefix(name, "Timer.") || strings.HasPrefix(name, "Ticker.")):
		return onParam(0, shows, "")
	case path == "math/rand" || path == "math/rand/v2":
		return randomSummary(fn, path, name)
	case worldlyPackages[path] != nil:
		_, bad := worldlyPackages[path][path][name]
		if bad || fn.Signature().Recv() != nil && !readers[fn.Name()] {
			return unknownEffects("")
		}
		return nothing
	case harmlessPackages[path], strings.HasPrefix(path, "go/"):
		return nothing
	}
	return nil
}

// randomSummary is what a function that has to do with randomness does.
func randomSummary(fn *types.Func, path, name string) *summary {
	if _, global := foreignRandomness[path][name]; global {
		return unknownEffects("")
	}
	if fn.Signature().Recv() != nil {
		return onParam(0, shows, "draws from it")
	}
	return nothing
}

// standardSummary is what can be said of a function of the standard library from its type, and of any
// other of which there is no summary.
func standardSummary(fn *types.Func) *summary {
	if fn.Pkg() == nil {
		return nothing
	}
	first, _, _ := strings.Cut(fn.Pkg().Path(), "/")
	sig := fn.Signature()
	switch {
	case strings.Contains(first, "."):
		return unknownEffects("may do anything")
	case isAbstract(fn) && (first == "io" || first == "net"):
		return unknownEffects("")
	case sig.Recv() != nil && readers[fn.Name()]:
		return nothing
	case sig.Recv() != nil:
		return onParam(0, shows, "changes it")
	}
	// A function of a package of data structures or codecs: it may write to what it is given.
	s := &summary{}
	for i := range sig.Params().Len() {
		if hasPointers(sig.Params().At(i).Type()) {
			s.add(effect{on: owner(i), outcome: shows, why: "may change it"})
		}
	}
	return s
}
