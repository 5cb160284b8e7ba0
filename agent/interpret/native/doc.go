// Package native knows the kinds that come with Kubernetes: pure rules, one table
// a question (contract 8.2, 8.3, 11.1 and 11.4 to 11.6). No function changes its
// arguments, except where its description says so.
package native
