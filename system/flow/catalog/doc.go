// Package catalog holds the definitions of tables and flows.
//
// A [Store] keeps them in a persist shard that all frontends share. Each of its methods is one
// transaction: it sees all that was acknowledged before, and what it does happens as a whole or not at
// all. The sequence number of the shard's latest change is the catalog's revision; a definition's number
// is that of the revision that made it, so that none is ever used twice.
package catalog
