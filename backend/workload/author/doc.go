// Package author writes templates for people: it makes an object of the hub from
// YAML, changes one, and takes one away, under the rights of whoever asks.
//
//   - A change carries the text that it began with. What is written is the
//     difference of the two texts and nothing else, so that what the hub or
//     another writer did meanwhile stays; a field that both changed is refused
//     as a conflict that names it.
//   - Objects that steer propagation, and those of the hub's own namespaces, are
//     not made here: nothing would carry them.
//   - Every write is recorded; the values of Secrets are not.
package author
