package models

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Operations lists the kinds of operation of the schema with the fields of their inputs, as the
// help of the command line shows them: "cas {key?, old, new}". A question mark marks a field that
// may be left out.
func (s Schema) Operations() []string { return describeTypes(s.Inputs) }

// Answers lists the outputs of the schema with their fields.
func (s Schema) Answers() []string { return describeTypes(s.Outputs) }

func describeTypes(types map[string]reflect.Type) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(types)) {
		all = append(all, name+" {"+strings.Join(fieldsOf(types[name]), ", ")+"}")
	}
	return all
}

// fieldsOf lists the JSON fields of a struct.
func fieldsOf(t reflect.Type) []string {
	if t.Kind() != reflect.Struct {
		return []string{t.String()}
	}
	var fields []string
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case name == "":
			name = f.Name
		}
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			name += "?"
		}
		fields = append(fields, name)
	}
	return fields
}
