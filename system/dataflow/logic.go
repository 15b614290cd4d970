package dataflow

func comparison(holds func(int) bool) func(*call) (typed, error) {
	return func(c *call) (typed, error) {
		if _, err := c.unifyAll(); err != nil {
			return typed{}, err
		}
		return c.strict2(KindBool, func(a, b Datum) (Datum, *RowError) { return Bool(holds(a.Compare(b))), nil })
	}
}

// junction is AND, where one false decides, or OR, where one true does.
func junction(decisive bool) func(*call) (typed, error) {
	return func(c *call) (typed, error) {
		if err := c.want(KindBool); err != nil {
			return typed{}, err
		}
		args := c.args
		return typed{ColumnType{Kind: KindBool, Nullable: c.nullable()}, func(row []Datum) (Datum, *RowError) {
			var failed *RowError
			null := false
			for _, a := range args {
				d, err := a.eval(row)
				switch {
				case err != nil:
					if failed == nil {
						failed = err
					}
				case d.IsNull():
					null = true
				case d.Bool() == decisive:
					return Bool(decisive), nil
				}
			}
			switch {
			case failed != nil:
				return Datum{}, failed
			case null:
				return Datum{}, nil
			}
			return Bool(!decisive), nil
		}}, nil
	}
}

func compileNot(c *call) (typed, error) {
	if err := c.want(KindBool); err != nil {
		return typed{}, err
	}
	return c.strict1(KindBool, func(a Datum) (Datum, *RowError) { return Bool(!a.Bool()), nil })
}

func compileIsNull(c *call) (typed, error) {
	a := c.args[0].eval
	return typed{Type(KindBool), func(row []Datum) (Datum, *RowError) {
		d, err := a(row)
		if err != nil {
			return Datum{}, err
		}
		return Bool(d.IsNull()), nil
	}}, nil
}

func compileCase(c *call) (typed, error) {
	var values []int
	for i := 0; i+1 < len(c.args); i += 2 {
		if c.args[i].Kind != KindBool {
			return c.fail("condition %d is of kind %v, not bool", i/2+1, c.args[i].Kind)
		}
		values = append(values, i+1)
	}
	hasElse := len(c.args)%2 == 1
	if hasElse {
		values = append(values, len(c.args)-1)
	}
	kind, err := c.unify(values)
	if err != nil {
		return typed{}, err
	}
	nullable := !hasElse
	for _, i := range values {
		nullable = nullable || c.args[i].Nullable
	}
	args := c.args
	return typed{ColumnType{Kind: kind, Nullable: nullable}, func(row []Datum) (Datum, *RowError) {
		for i := 0; i+1 < len(args); i += 2 {
			d, err := args[i].eval(row)
			switch {
			case err != nil:
				return Datum{}, err
			case d.Bool():
				return args[i+1].eval(row)
			}
		}
		if hasElse {
			return args[len(args)-1].eval(row)
		}
		return Datum{}, nil
	}}, nil
}

func compileCoalesce(c *call) (typed, error) {
	kind, err := c.unifyAll()
	if err != nil {
		return typed{}, err
	}
	args, nullable := c.args, true
	for _, a := range args {
		nullable = nullable && a.Nullable
	}
	return typed{ColumnType{Kind: kind, Nullable: nullable}, func(row []Datum) (Datum, *RowError) {
		for _, a := range args {
			if d, err := a.eval(row); err != nil || !d.IsNull() {
				return d, err
			}
		}
		return Datum{}, nil
	}}, nil
}

func compileNullIf(c *call) (typed, error) {
	kind, err := c.unifyAll()
	if err != nil {
		return typed{}, err
	}
	a, b := c.args[0].eval, c.args[1].eval
	return typed{Type(kind).OrNull(), func(row []Datum) (Datum, *RowError) {
		x, err := a(row)
		if err != nil {
			return Datum{}, err
		}
		y, err := b(row)
		if err != nil || x == y {
			return Datum{}, err
		}
		return x, nil
	}}, nil
}

// extreme is the greatest argument for sign 1, the least for -1.
func extreme(sign int) func(*call) (typed, error) {
	return func(c *call) (typed, error) {
		kind, err := c.unifyAll()
		if err != nil {
			return typed{}, err
		}
		args, nullable := c.args, true
		for _, a := range args {
			nullable = nullable && a.Nullable
		}
		return typed{ColumnType{Kind: kind, Nullable: nullable}, func(row []Datum) (Datum, *RowError) {
			var best Datum
			for _, a := range args {
				d, err := a.eval(row)
				if err != nil {
					return Datum{}, err
				}
				if !d.IsNull() && (best.IsNull() || d.Compare(best)*sign > 0) {
					best = d
				}
			}
			return best, nil
		}}, nil
	}
}

func compileIn(c *call) (typed, error) {
	if _, err := c.unifyAll(); err != nil {
		return typed{}, err
	}
	value, list := c.args[0].eval, c.args[1:]
	return typed{ColumnType{Kind: KindBool, Nullable: c.nullable()}, func(row []Datum) (Datum, *RowError) {
		x, err := value(row)
		if err != nil {
			return Datum{}, err
		}
		null, found := x.IsNull(), false
		for _, a := range list {
			d, err := a.eval(row)
			switch {
			case err != nil:
				return Datum{}, err
			case d.IsNull():
				null = true
			case d == x:
				found = true
			}
		}
		switch {
		case found:
			return Bool(true), nil
		case null:
			return Datum{}, nil
		}
		return Bool(false), nil
	}}, nil
}
