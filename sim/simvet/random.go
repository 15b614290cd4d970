package simvet

// foreignRandomness does not come from the seed.
var foreignRandomness = func() banned {
	b := banned{}
	const global = "draws from the process's global source, which the seed does not decide"
	// The global functions that *rand.Rand of math/rand/v2, which Host.Rand returns, has as methods.
	for _, name := range []string{
		"ExpFloat64", "Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "NormFloat64", "Perm",
		"Shuffle", "Uint", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN",
	} {
		b.ban("math/rand/v2", advice{global, "Host.Rand()." + name, replaceWith("%s.Rand()." + name)}, name)
	}
	b.ban("math/rand/v2", advice{global, "Host.Rand().Int64N", nil}, "N")
	b.ban("math/rand", advice{global, "Host.Rand", nil},
		"ExpFloat64", "Float32", "Float64", "Int", "Int31", "Int31n", "Int63", "Int63n", "Intn", "NormFloat64", "Perm", "Read",
		"Seed", "Shuffle", "Uint32", "Uint64")

	const entropy = "takes randomness from the operating system, which the seed does not decide"
	b.ban("crypto/rand", advice{entropy, "Host.Rand", nil}, "Int", "Prime", "Read", "Reader", "Text")
	// Since Go 1.26 these pay no heed to the reader that they are given.
	const key = "makes a key of the operating system's randomness, whatever reader it is given"
	const fixed = "keys that the configuration names, or that are derived from Host.Rand"
	b.ban("crypto/rsa", advice{key, fixed, nil}, "GenerateKey", "GenerateMultiPrimeKey")
	b.ban("crypto/ecdsa", advice{key, fixed, nil}, "GenerateKey")
	b.ban("crypto/ed25519", advice{key, fixed, nil}, "GenerateKey")
	b.ban("crypto/ecdh", advice{key, fixed, nil}, "Curve.GenerateKey")
	b.ban("hash/maphash", advice{"hashes with a seed of its own in each process", "a hash without one, such as hash/fnv", nil}, "MakeSeed", "Hash")

	const id = "makes an identifier of the operating system's randomness or of the clock"
	const counted = "Host.Rand, or a counter beside Host.Name and Host.Incarnation"
	b.ban("github.com/google/uuid", advice{id, counted, nil},
		"New", "NewString", "NewRandom", "NewUUID", "NewV6", "NewV7", "NewDCEGroup", "NewDCEPerson", "NewDCESecurity")
	b.ban("github.com/gofrs/uuid", advice{id, counted, nil}, "NewV1", "NewV4", "NewV6", "NewV7")
	b.ban("github.com/gofrs/uuid/v5", advice{id, counted, nil}, "NewV1", "NewV4", "NewV6", "NewV7")
	b.ban("github.com/hashicorp/go-uuid", advice{id, counted, nil}, "GenerateUUID", "GenerateRandomBytes")
	b.ban("github.com/oklog/ulid/v2", advice{id, counted, nil}, "Make", "Now", "DefaultEntropy")
	b.ban("github.com/rs/xid", advice{id, counted, nil}, "New", "NewWithTime")
	b.ban("github.com/segmentio/ksuid", advice{id, counted, nil}, "New", "NewRandom", "NewRandomWithTime")
	return b
}()
