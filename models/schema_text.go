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
	for _, f := range jsonFields(t) {
		name := f.name
		if f.optional {
			name += "?"
		}
		fields = append(fields, name)
	}
	return fields
}

// jsonField is a field of a struct as JSON has it.
type jsonField struct {
	name     string
	optional bool
	typ      reflect.Type
}

// jsonFields lists the fields of a struct with those of what is embedded in it, as encoding/json has them.
func jsonFields(t reflect.Type) []jsonField {
	var fields []jsonField
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported(), name == "-":
			continue
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			continue // its fields come by themselves
		case name == "":
			name = f.Name
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		fields = append(fields, jsonField{name, optional, f.Type})
	}
	return fields
}
