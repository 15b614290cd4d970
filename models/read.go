package models

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Format is a form of recorded histories.
type Format string

const (
	// FormatAuto goes by the content.
	FormatAuto Format = "auto"
	// FormatJSONL is one JSON object a line, an operation each; see [Schema.Read].
	FormatJSONL Format = "jsonl"
	// FormatEDN is Jepsen's history.edn; see [Model.ReadEDN].
	FormatEDN Format = "edn"
	// FormatJepsen is Jepsen's log; see [Model.ReadJepsenLog].
	FormatJepsen Format = "jepsen"
)

// Formats lists the forms.
func Formats() []Format { return []Format{FormatAuto, FormatJepsen, FormatEDN, FormatJSONL} }

// ErrEmpty says that there was not a single operation to read.
var ErrEmpty = errors.New("no operation in it")

// Read reads a history of the model. It goes over the input once, front to back, and keeps the
// operations and nothing else of it. Errors are a [FormatError], which names the line, ErrEmpty,
// or the reader's own.
func (m Model) Read(r io.Reader, f Format) (*History, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark)) // it has been read
	}
	if f == FormatAuto || f == "" {
		var err error
		if f, err = detect(in); err != nil {
			return nil, err
		}
	}
	var h *History
	var err error
	switch f {
	case FormatJSONL:
		h, err = m.Schema.read(in, m.Check)
	case FormatEDN:
		h, err = m.ReadEDN(in)
	case FormatJepsen:
		h, err = m.ReadJepsenLog(in)
	default:
		return nil, fmt.Errorf("there is no format %q; there are: %v", f, Formats())
	}
	if err == nil && h.Len() == 0 {
		err = ErrEmpty
	}
	return h, err
}

// WriteHistory writes a history as JSON Lines, for [Model.Read]. A comment line names the model.
func (m Model) WriteHistory(w io.Writer, h *History) error {
	if _, err := fmt.Fprintf(w, "# model %s\n", m.Name); err != nil {
		return err
	}
	return m.Schema.Write(w, h)
}

// byteOrderMark is what some programs begin files in UTF-8 with.
const byteOrderMark = "\uFEFF"

// detect tells the form by how the input begins, comments aside: JSON objects have a name in
// quotes first, EDN maps a keyword. The error is a [FormatError] if it is none of them.
func detect(in *bufio.Reader) (Format, error) {
	ahead, err := in.Peek(in.Size())
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("read history: %w", err)
	}
	number := 0
	for line := range bytes.Lines(ahead) {
		number++
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0, text[0] == ';', bytes.HasPrefix(text, []byte("# ")), bytes.Equal(text, []byte("#")):
			continue
		case text[0] == '[', text[0] == '(', text[0] == '#':
			return FormatEDN, nil
		case text[0] == '{':
			inner := bytes.TrimSpace(text[1:])
			if len(inner) == 0 || inner[0] == '"' || inner[0] == '}' {
				return FormatJSONL, nil
			}
			return FormatEDN, nil
		}
		if !otherLine.Match(line) && !bytes.Contains(line, []byte("jepsen.util")) {
			return "", &FormatError{Line: number, Err: fmt.Errorf("%q begins neither JSON Lines, EDN nor a log of Jepsen's", clip(string(text)))}
		}
		return FormatJepsen, nil
	}
	return FormatJSONL, nil // nothing but comments, if anything: it is empty in any form
}
