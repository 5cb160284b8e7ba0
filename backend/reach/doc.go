// Package reach owns the way from the hub to a member's API server: what is taken
// from a kubeconfig, which addresses may be dialled on whose behalf, and how a
// connection that failed is worded for people.
//
// # Invariants
//
// A kubeconfig that comes in by REST can name neither a file nor a program, is
// used once, and is never stored, logged or audited; Keeps says what stays of it.
// What REST makes the hub dial goes through AddressPolicy, is resolved once
// (Dialer), and follows no redirect (NewClient). Texts from members are shown as
// plain text.
package reach
