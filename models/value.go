package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Value is a value of a history, as compact JSON: 4, "text", [1,2]. The zero Value is null, which
// stands for nothing being there. Values are the same if their texts are.
type Value string

// Text is the value of a string. It must be valid UTF-8.
func Text(s string) Value {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // of a string it cannot fail
	return Value(strings.TrimSuffix(b.String(), "\n"))
}

// Int is the value of an integer.
func Int(n int64) Value { return Value(fmt.Sprint(n)) }

// ParseValue reads JSON and makes it compact, with keys in order, so that equal values are the
// same.
func ParseValue(text []byte) (Value, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var parsed any
	if err := dec.Decode(&parsed); err != nil {
		return "", fmt.Errorf("%q is not JSON: %w", text, err)
	}
	if dec.More() {
		return "", fmt.Errorf("%q is more than one JSON value", text)
	}
	if parsed == nil {
		return "", nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(parsed); err != nil {
		return "", err
	}
	return Value(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// String is the JSON text.
func (v Value) String() string {
	if v == "" {
		return "null"
	}
	if len(v) > valueShown {
		return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(string(v[:valueShown]), ""), len(v))
	}
	return string(v)
}

// valueShown bounds how much of a value a message shows.
const valueShown = 200

// Text is the string that the value is, if it is one.
func (v Value) Text() (text string, ok bool) {
	if !strings.HasPrefix(string(v), `"`) {
		return "", false
	}
	if err := json.Unmarshal([]byte(v), &text); err != nil {
		return "", false
	}
	return text, true
}

// MarshalJSON writes the value as it is.
func (v Value) MarshalJSON() ([]byte, error) {
	if v == "" {
		return []byte("null"), nil
	}
	return []byte(v), nil
}

// UnmarshalJSON reads any JSON.
func (v *Value) UnmarshalJSON(text []byte) (err error) {
	*v, err = ParseValue(text)
	return err
}
