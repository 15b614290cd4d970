package cli_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/internal/cli"
	"github.com/simrun-dev/simrun/models"
)

const recordings = "../../models/testdata/recorded/"

// patient judges only once it is told to stop, deaf never.
type patient struct{ done <-chan struct{} }

func (patient) Name() string                        { return "patient/waits" }
func (patient) Bound(b models.Bounds) models.Oracle { return patient{b.Done} }
func (p patient) Judge() models.Judgement {
	<-p.done
	return models.Judgement{Oracle: p.Name(), Verdict: models.VerdictUnknown, Violations: []models.Violation{
		{Oracle: models.Limit, Message: "was stopped"},
	}}
}

type deaf struct{}

func (deaf) Name() string            { return "deaf/waits" }
func (deaf) Judge() models.Judgement { select {} }

type content struct{}

func (content) Name() string { return "content/pleased" }
func (content) Judge() models.Judgement {
	return models.Judgement{Oracle: "content/pleased", Verdict: models.VerdictPass, Judged: 1}
}

func init() {
	schema := models.Schema{Inputs: map[string]reflect.Type{"read": reflect.TypeFor[models.Get]()}}
	for name, oracles := range map[string][]models.Oracle{
		"patient": {patient{}}, "deaf": {content{}, deaf{}},
	} {
		models.Register(models.Model{
			Name: name, Doc: "a model of a test", Schema: schema,
			Oracles: func(*models.History) []models.Oracle { return oracles },
		})
	}
}

const aRead = `{"client":1,"kind":"read","input":{},"outcome":"unknown","call":1}`

func TestCheck(t *testing.T) {
	got := call(t, "check", "--model", "cas-register", recordings+"cas-register-ok.log")
	require.Equal(t, 0, got.status, got.stderr)
	require.Regexp(t, `cas-register-ok\.log: ok: 7 operations, 5 with a known outcome, judged by cas-register in `, got.stdout)

	got = call(t, "check", "--model", "cas-register", recordings+"cas-register-ok.log", recordings+"cas-register-bad.log")
	require.Equal(t, 1, got.status)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, "cas-register-ok.log: ok: ")
	require.Contains(t, got.stdout, "cas-register-bad.log: VIOLATION: ")
	require.Contains(t, got.stdout, "\n    Smallest failing window: @7 to @10, 2 of the object's 6 operations\n")
}

func TestCheckStandardInput(t *testing.T) {
	text, err := os.ReadFile(recordings + "queue-ok.jsonl")
	require.NoError(t, err)
	got := callWith(t, t.Context(), string(text), words("check --model queue -")...)
	require.Equal(t, 0, got.status, got.stderr)
	require.Contains(t, got.stdout, "standard input: ok: 5 operations")
	got = callWith(t, t.Context(), strings.Replace(string(text), `"item":{"value":"a"}`, `"item":{"value":"b"}`, 1), words("check --model queue -")...)
	require.Equal(t, 1, got.status)
	require.Contains(t, got.stdout, `"b" was dequeued 2 times and enqueued 1 times`)
}

func TestCheckPicture(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	got := call(t, "check", "--model", "kv", recordings+"kv-ok.edn", recordings+"kv-bad.edn", "--html", page)
	require.Equal(t, 1, got.status, got.stderr)
	require.Contains(t, got.stdout, "drawn: "+recordings+"kv-bad.edn, in "+page)
	html, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(html), `#5 client 0 get(a) = ok`)

	got = callWith(t, t.Context(), aRead, "check", "--model", "deaf", "-", "--timeout", "1ms", "--html", page)
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, "--html: model deaf draws no pictures")
}

// Whatever is wrong with the call or the input is one line that says what, where and what to do.
func TestCheckMistakes(t *testing.T) {
	bad := write(t, "INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - 0\t:done\t:read\tnil\n")
	empty := write(t, "\n")
	for line, want := range map[string]string{
		"check x":                                                "check: --model says what to judge by: one of cas-register, checkpoint, counter, ",
		"check --model":                                          "check: flag --model needs a value: MODEL",
		"check --model kvv x":                                    `check: there is no model "kvv"; did you mean kv?`,
		"check --model kv":                                       "check: which history? Give files, or - for standard input",
		"check --model kv - -":                                   "check: standard input can be read once only: give - once",
		"check --model kv no-such-file":                          "check: there is no file no-such-file",
		"check --model kv .":                                     "check: . is a directory: give a file with a history",
		"check --model kv " + empty:                              "check: " + empty + ": there is no operation in it: give a history that model kv reads",
		"check --model register " + bad:                          "check: " + bad + `:2: "INFO  jepsen.util - 0\t:done\t:read\tnil" is no operation; want: `,
		"check --model shard " + bad:                             "check: " + bad + ": model shard reads JSON Lines only, no histories of Jepsen",
		"check --model kv --format edm " + bad:                   `check: --format: there is no format "edm"; did you mean edn?`,
		"check --model kv --format jsonl " + bad:                 "check: " + bad + ":1: ",
		"check --model kv --steps 0 " + bad:                      `check: --steps: "0" is not a number of steps: give a whole number from 1 on`,
		"check --model kv --timeout 5 " + bad:                    `check: --timeout: "5" is not a time to search: give something like 30s`,
		"check --model kv " + recordings + "cas-register-ok.log": "check: " + recordings + "cas-register-ok.log:3: the model has no operation :read; it has append, cas, delete, get, put; ",
		"check --model kv --html / " + bad:                       "--html: / is a directory: give a file",
		"check --model kv --html /no/x " + bad:                   "--html: there is no directory /no to write /no/x to",
		"check --model kv --html " + bad + " " + bad:             "--html: " + bad + " is the history that is to be judged: give another file",
		"check --model kv --html - " + bad:                       "check: --html: - is not possible: give a file, which a browser can open",
	} {
		got := call(t, words(line)...)
		require.Equal(t, 2, got.status, line)
		require.True(t, strings.HasPrefix(got.stderr, "simrun: "+want), "%s: %s", line, got.stderr)
		require.Equal(t, 1, strings.Count(got.stderr, "\n"), got.stderr)
		require.Empty(t, got.stdout, line)
	}
	got := call(t, "check", "--model", "cas-register", recordings+"cas-register-bad.log", "--html", t.TempDir())
	require.Equal(t, 2, got.status)
	require.Contains(t, got.stderr, "is a directory: give a file")
}

func TestCheckListsModels(t *testing.T) {
	list := call(t, words("check --model list")...)
	require.Equal(t, 0, list.status)
	help := call(t, words("check --help")...)
	require.Equal(t, 0, help.status)
	for _, m := range models.All() {
		require.Contains(t, list.stdout, "  "+m.Name+": "+m.Doc+"\n")
	}
	require.Contains(t, list.stdout, "cas {key?, old, new}")
	require.Contains(t, help.stdout, list.stdout)
}

// What cannot be judged is not passed.
func TestCheckUnknown(t *testing.T) {
	got := call(t, words("check --model cas-register --steps 1 "+recordings+"cas-register-ok.log")...)
	require.Equal(t, 3, got.status, got.stdout)
	require.Contains(t, got.stdout, "cas-register-ok.log: UNKNOWN: ")
	require.Contains(t, got.stdout, "  limit: cas-register/linearizable could not judge ")

	got = callWith(t, t.Context(), aRead, words("check --model patient --timeout 1ms -")...)
	require.Equal(t, 3, got.status, got.stderr)
	require.Contains(t, got.stdout, "  limit: was stopped\n")

	got = callWith(t, t.Context(), aRead, words("check --model deaf --timeout 1ms -")...)
	require.Equal(t, 3, got.status, got.stderr)
	require.Contains(t, got.stdout, "standard input: UNKNOWN: 1 operation, 0 with a known outcome")
	require.Contains(t, got.stdout, "  stopped: 1 of the model's 2 oracles had judged\n")

	got = callWith(t, t.Context(), aRead, words("check --model register -")...)
	require.Equal(t, 3, got.status)
	require.Contains(t, got.stdout, "vacuous: register/linearizable had nothing to judge")
}

// Interrupted, what was judged until then has been printed, and counts.
func TestCheckInterrupted(t *testing.T) {
	file := write(t, aRead)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&cli.Interrupted{Signal: syscall.SIGINT})
	got := callWith(t, ctx, "", "check", "--model", "patient", file, file)
	require.Equal(t, 130, got.status, got.stdout+got.stderr)
	require.Contains(t, got.stdout, "interrupted: 0 of 2 files judged\n")
}

// Every command that the document shows does what it shows, and its recording can be read.
func TestModelsDocument(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(root, "docs", "models.md"))
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "simrun")))
	ran, output := 0, ""
	for _, block := range blocks(string(text), "sh") {
		for line := range strings.Lines(block) {
			command, comment, _ := strings.Cut(strings.TrimSpace(line), "#")
			want := 0
			if strings.Contains(comment, "exit status 1") {
				want = 1
			}
			cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "history.html", filepath.Join(bin, "history.html")))
			cmd.Dir = root
			cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			out, _ := cmd.CombinedOutput()
			require.Equal(t, want, cmd.ProcessState.ExitCode(), "%s\n%s", line, out)
			output += string(out)
			ran++
		}
	}
	require.Greater(t, ran, 4)

	took := regexp.MustCompile(` in [\d.µm]+s\n`)
	for _, block := range blocks(string(text), "text") {
		require.Contains(t, took.ReplaceAllString(output, "\n"), took.ReplaceAllString(block, "\n"))
	}
	for _, block := range blocks(string(text), "json") {
		// Of the model that the heading names, or else of kv.
		before, _, _ := strings.Cut(string(text), block)
		model := "kv"
		if _, section, ok := strings.Cut(before[strings.LastIndex(before, "\n## ")+1:], ": `"); ok {
			model, _, _ = strings.Cut(section, "`\n")
		}
		got := callWith(t, t.Context(), block, words("check --model "+model+" -")...)
		if model == "kv" {
			require.Equal(t, 0, got.status, got.stdout+got.stderr)
		} else { // a few lines that show the form, and not all that explains them
			require.Less(t, got.status, 2, got.stdout+got.stderr)
		}
	}
}

// blocks are the code blocks of a document in a language.
func blocks(text, language string) []string {
	var all []string
	for i, part := range strings.Split(text, "```"+language+"\n") {
		if i > 0 {
			block, _, _ := strings.Cut(part, "```")
			all = append(all, block)
		}
	}
	return all
}
